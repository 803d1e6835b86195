"""Traces of other programs as runs.

The files in data/ are real. aioquic 1.7.2 sent 300,000 bytes over the loopback through a bottleneck
of 2 Mb/s, 2 x 20 ms and 10 packets, which counted its drops. Reno of Linux 6.18 sent for 6 s over
2 Mb/s, 2 x 20 ms and 8 packets between two namespaces: tcpdump at both ends, `ss -tin`, and
getsockopt(TCP_INFO) every 20 ms on the same connection. record.py records such files.
"""

import gzip
import struct
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import qlog_file
from capture_file import pcap, pcapng, tcp
from qlog_file import event, write, write_sequence

import tcpcc as tc
from tcpcc.results.recording import EVENTS

DATA = Path(__file__).parent / "data"
DROPS = {"reno": 25, "cubic": 47}  # of the bottleneck
BYTES = 300_000
RETRANSMITTED, DELIVERED = 12, 966  # tcpi_total_retrans, tcpi_delivered at 5.98 s
SERIES = (
    "cwnd", "ssthresh", "rtt", "sent", "retransmitted", "delivered", "dropped", "timeouts",
    "loss_events", "start", "finished", "packet_size", "payload", "base_rtt",
)  # fmt: skip

NET = tc.dumbbell(rate="1.6 Mbps", delay="50 ms", buffer=8)
FLOWS = [
    tc.Flow("reno", recovery="sack", size=400, name="sack", transport={"rwnd": 64}),
    tc.Flow("reno", recovery="reno", size=300, start=0.3, name="plain"),
    tc.Flow("vegas", size=300, name="held", header=40, transport={"delayed_ack": 0.2}),
    tc.CBR("100 kbps", name="udp"),
]
WEB = tc.workloads.web("newreno", rate=1, name="web", size=8000)


@pytest.fixture(scope="module")
def ours(tmp_path_factory):
    """A run, its qlog and its capture."""
    folder = tmp_path_factory.mktemp("ours")
    run = tc.simulate(tc.Scenario(NET, FLOWS, duration=12, workloads=WEB), trace=True)
    run.to_qlog(folder / "run.qlog")
    run.to_pcap(folder / "run.pcapng")
    return run, folder


def values(run, variable, flow=0):
    return run.data[variable].isel(flow=flow).values


def count(run, event):
    return int((run.events["event"] == EVENTS.index(event)).sum())


# ------------------------------------------------------------------------------ qlog


def test_our_qlog_gives_the_numbers_of_its_run(ours):
    run, folder = ours
    read = tc.traces.read_qlog(folder / "run.qlog")
    assert np.array_equal(read.data["time"], run.data["time"])
    for flow in ("sack", "plain", "held", "udp"):
        for variable in SERIES:
            here, there = (one.data[variable].sel(flow=flow).values for one in (read, run))
            assert here == pytest.approx(there, rel=1e-9, nan_ok=True), (flow, variable)
    assert read.throughput().sel(flow="sack") == pytest.approx(run.throughput().sel(flow="sack"))
    assert (read.flows[0], set(read.flows)) == ("sack", set(run.trace()["flow"]))


def test_our_qlog_gives_the_events_of_its_run(ours):
    run, folder = ours
    read = tc.traces.read_qlog(folder / "run.qlog").trace("held")
    told = run.trace("held")
    assert read["event"].astype(str).tolist() == told["event"].astype(str).tolist()
    assert read["seq"].tolist() == told["seq"].tolist()
    for column in ("time", "cwnd", "ssthresh", "in_transit", "expected", "base_rtt"):
        assert read[column].to_numpy() == pytest.approx(told[column].to_numpy(), nan_ok=True)


@pytest.mark.parametrize("name", ["reno", "cubic"])
def test_a_quic_sender_tells_bytes_and_losses(name):
    run = tc.traces.read_qlog(DATA / f"aioquic_{name}.qlog.gz", rate="2 Mbps", controller=name)
    assert count(run, "drop") == DROPS[name]
    bytes_acknowledged = float(run.goodput()[0]) * float(run.data["time"][-1]) / 8
    assert BYTES - 2400 < bytes_acknowledged <= BYTES  # the last ACKs came after the close
    assert float(run.retransmissions()[0]) > 15
    assert 0.85 < run.utilization() < 1
    assert 0.04 < float(run.data["base_rtt"][0]) < 0.05
    assert 2 <= int(run.data["loss_events"][0]) <= 6
    assert np.nanmax(values(run, "rtt")) < 0.2
    assert values(run, "cwnd")[300] > 10


def test_both_ends_of_a_quic_connection_agree():
    sender = tc.traces.read_qlog(DATA / "aioquic_reno.qlog.gz")
    receiver = tc.traces.read_qlog(DATA / "aioquic_reno_client.qlog.gz")
    got = float(receiver.goodput()[0]) * float(receiver.data["time"][-1]) / 8
    assert got == pytest.approx(BYTES, abs=1)
    assert float(receiver.throughput()[0]) == pytest.approx(float(sender.throughput()[0]), rel=0.02)
    assert sender.flows == receiver.flows


sent = partial(qlog_file.sent, category="transport", raw={"length": 1000})
acked = partial(qlog_file.acked, category="transport")
METRICS = "recovery:metrics_updated"


def test_metrics_that_are_logged_when_they_change_are_held(tmp_path):
    """As quic-go writes: a sequence, relative times, only what changed."""
    events = [
        event(0, METRICS, congestion_window=10_000, latest_rtt=20.0),
        sent(0, 5),
        sent(1, 6),
        acked(0, 0, 25),
        event(25, METRICS, latest_rtt=30.0),
        acked(0, 1, 45),
    ]
    path = write_sequence(tmp_path / "a.sqlog", events, common_fields={"time_format": "relative"})
    run = tc.traces.read_qlog(path, interval=0.01)
    assert values(run, "cwnd") == pytest.approx([10] * 5)
    assert values(run, "rtt") == pytest.approx([0.02, 0.02, 0.03, 0.03, 0.03])
    assert values(run, "delivered").tolist() == [0, 0, 1, 0, 1]
    assert values(run, "sent").tolist() == [2, 0, 0, 0, 0]


def test_names_and_times_of_later_drafts_are_known(tmp_path):
    events = [sent(0, 5, category="quic"), acked(0, 0, 20, category="quic")]
    events.append(event(0, "quic:recovery_metrics_updated", cwnd=5000))
    form = {"time_format": "relative_to_previous_event", "reference_time": {"clock_type": "system"}}
    run = tc.traces.read_qlog(write_sequence(tmp_path / "a.sqlog", events, common_fields=form))
    assert run.events["time"] == pytest.approx([0.005, 0.025])
    assert values(run, "cwnd")[-1] == 5


@pytest.mark.parametrize("states", [False, True])
def test_losses_of_one_window_are_one_loss_event(tmp_path, states):
    def lost(number, at):
        return event(at, "recovery:packet_lost", header=qlog_file.header(number))

    events = [sent(n, n) for n in range(10)]
    events += [lost(2, 20), lost(5, 21), sent(10, 22), lost(10, 40)]
    if states:
        steps = ((21, "slow_start", "recovery"), (30, "recovery", "congestion_avoidance"))
        steps += ((40, "congestion_avoidance", "recovery"), (50, "slow_start", "recovery_start"))
        steps += ((51, "recovery_start", "recovery"),)  # neqo's names
        for at, old, new in steps:
            events.append(event(at, "recovery:congestion_state_updated", old=old, new=new))
    events.sort(key=lambda event: event["time"])
    run = tc.traces.read_qlog(write(tmp_path / "a.qlog", {"events": events}))
    assert values(run, "dropped").sum() == 3
    assert int(run.data["loss_events"][0]) == (3 if states else 2)


def test_data_sent_again_is_a_retransmission(tmp_path):
    def stream(first):
        return [{"frame_type": "stream", "stream_id": 0, "offset": first, "length": 900}]

    events = [
        sent(0, 1, frames=stream(0)),
        sent(1, 2, frames=stream(900)),
        sent(2, 30, frames=stream(0)),
        acked(1, 2, 50),
    ]
    run = tc.traces.read_qlog(write(tmp_path / "a.qlog", {"events": events}))
    assert float(run.retransmissions()[0]) == 1
    assert float(run.goodput()[0]) == pytest.approx(1800 * 8 / float(run.data["time"][-1]))


def test_traces_of_one_file_are_flows_on_one_clock(tmp_path):
    traces = [
        {
            "common_fields": {"ODCID": name, "time_format": "relative", "reference_time": begin},
            "events": [sent(0, 5), acked(0, 0, 25)],
        }
        for name, begin in (("a", 1000.0), ("b", 1500.0))
    ]
    run = tc.traces.read_qlog(write(tmp_path / "two.qlog", *traces, {"error_description": "x"}))
    assert run.flows == ["a", "b"]
    assert run.data["start"].values == pytest.approx([0.005, 0.505])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: not a qlog"),
        ("time,cwnd\n", "line 1: not a qlog"),
        ('{"a": 1}', "not a qlog: has no list of traces"),
        ('{"traces": [\n{"events": [{"ti', "line 2: not JSON: .*; the file is cut off"),
        ('{"traces": [{"events": [{"name": "x"}]}]}', "trace 0, event 0: .*: lacks 'time'"),
        ('{"traces": [{"events": [[1, "x"]]}]}', "trace 0, event 0: .* has no event_fields"),
        ('{"traces": [{"error_description": "no"}]}', "has no trace but an error: no"),
        ('{"traces": [{"events": []}]}', "has no connection with data"),
        ('\x1e{"qlog_version": "0.3", "trace": {}}\n\x1e{"time": 1, "na', "line 2: not JSON"),
        ('\x1e{"time": 1, "name": "x"}\n', "line 1: the first object is not a qlog header"),
        (
            '\x1e{"qlog_version": "0.3", "trace": {}}\n\x1e{"time": 1, "name": "a:packet_sent", '
            '"data": {"header": {"packet_type": "1RTT"}}}',
            "line 2: packet_sent: lacks 'packet_number'",
        ),
    ],
)
def test_a_bad_qlog_is_one_line_with_the_place(tmp_path, text, message):
    path = tmp_path / "bad.qlog"
    path.write_text(text)
    with pytest.raises(tc.TcpccError, match=f"bad.qlog: {message}") as caught:
        tc.traces.read_qlog(path)
    assert "\n" not in str(caught.value)


# ---------------------------------------------------------------------------- pcap


def test_our_capture_gives_the_numbers_of_its_run(ours):
    run, folder = ours
    read = tc.traces.read_pcap(folder / "run.pcapng")
    trace = run.trace()
    for flow in ("sack", "plain", "held"):
        told, here = run.data.sel(flow=flow), read.data.sel(flow=flow)
        assert float(here["sent"].sum()) == float(told["sent"].sum()) - 1  # the SYN
        assert float(here["retransmitted"].sum()) == float(told["retransmitted"].sum())
        assert float(here["delivered"].sum()) == float(told["delivered"].sum())
        timeouts = float(told["timeouts"])  # they look like losses
        assert 0 <= float(here["loss_events"]) - float(told["loss_events"]) <= timeouts
        assert float(here["base_rtt"]) == pytest.approx(float(told["base_rtt"]), rel=0.01)
        samples = trace[(trace["flow"] == flow) & trace["event"].isin(["ack"])]["value"].dropna()
        found = read.trace(flow)["value"].dropna()
        assert len(found) > 0.8 * len(samples)
        assert found.median() == pytest.approx(samples.median(), rel=0.02)
        assert found.max() <= samples.max() + 1e-6


@pytest.fixture(scope="module")
def kernel():
    """One connection as tcpdump saw it at both ends, as ss saw it, and as getsockopt did."""
    return {
        "sender": tc.traces.read_pcap(DATA / "kernel_sender.pcap.gz", rate="2 Mbps"),
        "receiver": tc.traces.read_pcap(DATA / "kernel_receiver.pcap.gz", rate="2 Mbps"),
        "ss": tc.traces.read_tcp_info(DATA / "kernel_ss.txt.gz", rate="2 Mbps"),
        "info": tc.traces.read_tcp_info(DATA / "kernel_tcp_info.csv.gz", packet_size=1500),
    }


def test_a_capture_at_the_sender_agrees_with_tcp_info(kernel):
    sender, info = kernel["sender"], kernel["info"]
    assert float(sender.retransmissions()[0]) == RETRANSMITTED
    assert float(info.retransmissions()[0]) == RETRANSMITTED
    assert float(info.data["delivered"].sum()) == pytest.approx(DELIVERED)
    until = info.duration
    seen = values(sender, "delivered")[sender.data["time"].values <= until].sum()
    assert seen == pytest.approx(DELIVERED, abs=6)  # 20 ms of 2 Mb/s are 3 packets
    rates = [float(kernel[k].throughput(2, 5.8)[0]) for k in ("sender", "receiver", "ss", "info")]
    assert rates == pytest.approx([rates[0]] * 4, rel=0.01)
    rtts = [float(kernel[k].summary(2, 5.8)["rtt_mean_ms"].iloc[0]) for k in kernel]
    assert rtts == pytest.approx([rtts[0]] * 4, rel=0.03)
    assert sender.data["base_rtt"].values == pytest.approx(0.046, abs=0.0005)  # 40 + 6 of a packet
    assert [str(kernel[k].data["controller"][0].values) for k in ("ss", "sender")] == [
        "reno",
        "unknown",
    ]


def test_the_flight_of_a_capture_is_the_kernels_window(kernel):
    flight, window = (
        kernel[one].data[name].sel(time=slice(2, 5.8)).mean().item()
        for one, name in (("sender", "in_transit"), ("info", "cwnd"))
    )
    assert flight == pytest.approx(window, abs=1.5)  # the capture counts lost packets too


def test_the_end_of_a_capture_is_found(kernel):
    assert "missing" not in kernel["sender"].data["sent"].attrs
    assert "receiver" in kernel["receiver"].data["sent"].attrs["missing"]
    path = DATA / "kernel_sender.pcap.gz"
    assert "missing" in tc.traces.read_pcap(path, at="receiver").data["sent"].attrs


@pytest.mark.parametrize("which", ["sender", "receiver", "ss"])
def test_a_path_is_calibrated_from_a_trace(kernel, which):
    path = tc.calibrate(kernel[which])
    assert path.rate == pytest.approx(2e6, rel=0.05)
    assert path.base_rtt == pytest.approx(0.043, abs=0.004)
    assert path.buffer == pytest.approx(7, abs=1.2)  # and one in transmission
    assert not path.policer


BEGIN = 2**32 - 1500  # the numbers wrap
SACK = struct.pack(">BBII", 5, 10, (BEGIN + 2001) % 2**32, (BEGIN + 3001) % 2**32)


def conversation(six=False):
    """1000 bytes are lost, a block is told, and they are sent again."""
    steps = [
        (0.00, {"seq": BEGIN, "flags": 2, "options": struct.pack(">BBH", 2, 4, 1000)}),
        (0.10, {"seq": 7, "flags": 18, "ack": BEGIN + 1, "back": True}),
        (0.10, {"seq": BEGIN + 1, "ack": 8, "payload": 1000}),
        (0.11, {"seq": BEGIN + 1001, "ack": 8, "payload": 1000}),
        (0.12, {"seq": BEGIN + 2001, "ack": 8, "payload": 1000}),
        (0.20, {"ack": BEGIN + 1001, "seq": 8, "back": True}),
        (0.23, {"ack": BEGIN + 1001, "seq": 8, "back": True, "options": SACK}),
        (0.30, {"seq": BEGIN + 1001, "ack": 8, "payload": 1000}),
        (0.41, {"ack": BEGIN + 3001, "seq": 8, "back": True}),
    ]
    return [(time, tcp(**f, six=six, hop_by_hop=six)) for time, f in steps]


FRAMES = {  # link type, and what comes before the IP header
    "raw": (101, b""),
    "ethernet": (1, bytes(12)),
    "vlan": (1, bytes(12) + b"\x81\x00\x00\x05"),
    "cooked": (113, bytes(14)),
    "cooked2": (276, None),
    "null": (0, b"\x02\0\0\0"),
}


@pytest.mark.parametrize("six", [False, True])
@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize(("order", "magic"), [("<", 0xA1B2C3D4), (">", 0xA1B23C4D)])
def test_what_a_capture_tells_is_right_for_all_framings(tmp_path, frame, six, order, magic):
    link, before = FRAMES[frame]
    kind = b"\x86\xdd" if six else b"\x08\x00"
    if frame == "cooked2":
        before = kind + bytes(18)
    elif frame not in ("raw", "null"):
        before += kind
    packets = [(time, before + body) for time, body in conversation(six)]
    path = pcap(tmp_path / "a.pcap", packets, link, order, magic)
    run = tc.traces.read_pcap(path, interval=0.01)
    table = run.trace()
    assert run.flows == ["[::a00:1]:99>[::a00:2]:80" if six else "10.0.0.1:99>10.0.0.2:80"]
    assert table["event"].astype(str).tolist() == [
        "send", "send", "send", "ack", "dupack", "retransmit", "loss", "ack",
    ]  # fmt: skip
    assert table["value"].dropna().tolist() == pytest.approx([0.10, 0.11])  # Karn
    assert values(run, "delivered").nonzero()[0].tolist() == [19, 22, 40]
    assert values(run, "delivered").sum() == 3
    assert float(run.retransmissions()[0]) == 1
    assert table["in_transit"].tolist() == [1, 2, 3, 2, 2, 2, 2, 0]
    assert run.data["payload"].values.tolist() == [1000]
    assert run.data["packet_size"].values.tolist() == [1068 if six else 1040]


def test_arrivals_count_once_at_the_receiver(tmp_path):
    packets = conversation()
    order = [0, 1, 2, 4, 3, 4, 5, 8]  # the second arrives late, the third twice
    shuffled = [(0.01 * k, packets[row][1]) for k, row in enumerate(order)]
    run = tc.traces.read_pcap(pcap(tmp_path / "a.pcap", shuffled), at="receiver", interval=0.01)
    assert count(run, "deliver") == 4
    assert values(run, "delivered").sum() == 3


def test_a_hole_that_is_filled_in_parts_counts_each_byte_once(tmp_path):
    starts = [0, 3000, 1000, 1000, 0, 2000]  # 1000 bytes each; the fourth and fifth came before
    packets = [(0.01 * k, tcp(seq=1 + at, payload=1000)) for k, at in enumerate(starts)]
    run = tc.traces.read_pcap(pcap(tmp_path / "a.pcap", packets), at="receiver", interval=0.01)
    assert values(run, "delivered").sum() == 4


def test_a_second_connection_of_the_same_ends_is_a_flow(tmp_path):
    first = conversation()
    syn = tcp(seq=5, flags=2)
    again = [(1.0, syn), (1.1, tcp(seq=6, ack=1, payload=10)), (1.2, tcp(ack=16, back=True))]
    run = tc.traces.read_pcap(pcap(tmp_path / "a.pcap", first + again))
    assert len(run.flows) == len(set(run.flows)) == 2
    assert run.data["start"].values == pytest.approx([0.0, 1.0])


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda b: b"", "not a pcap or pcapng file: begins with nothing"),
        (lambda b: b"GET / HTTP", "not a pcap or pcapng file: begins with 47455420"),
        (lambda b: b[:20], "the header of the file is cut off"),
        (lambda b: b[:70], "packet 1: the file is cut off, 14 bytes are missing"),
        (lambda b: b[:24], "has no TCP header in its 0 packets"),
        (lambda b: b[:20] + b"\xff\0\0\0" + b[24:], "link type 255: must be one of 0"),
        (lambda b: b[:32] + b"\xff" * 8 + b[40:], "packet 1: (damaged|the file is cut off)"),
        (lambda b: gzip.compress(b)[:20] + b"x" * 40, "damaged gzip file"),
    ],
)
def test_a_bad_capture_is_one_line_with_the_packet(tmp_path, damage, message):
    path = pcap(tmp_path / "bad.pcap", conversation())
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(tc.TcpccError, match=f"bad.pcap: {message}") as caught:
        tc.traces.read_pcap(path)
    assert "\n" not in str(caught.value)


def test_a_pcapng_of_several_interfaces_and_clocks_is_read(tmp_path):
    """Big-endian, ticks of 2^-10 s and an offset on the second, an unknown block between."""

    def option(code, value):
        return struct.pack(">HH", code, len(value)) + value + bytes(-len(value) % 4)

    interface = struct.pack(">HHI", 101, 0, 0)
    clock = option(9, b"\x8a") + option(14, struct.pack(">q", -5)) + option(0, b"")
    blocks = [(1, interface), (1, interface + clock), (5, bytes(8))]
    for k, (time, body) in enumerate(conversation()):
        ticks = round((time + 5) * 1024) if k % 2 else round(time * 1e6)
        head = struct.pack(">IIIII", k % 2, 0, ticks, len(body), len(body))
        blocks.append((6, head + body + bytes(-len(body) % 4)))
    path = tmp_path / "two.pcapng"
    path.write_bytes(pcapng(*blocks, order=">"))
    run = tc.traces.read_pcap(path)
    assert run.duration == pytest.approx(0.41, abs=0.001)
    assert values(run, "delivered").sum() == 3
    assert run.trace()["value"].dropna().tolist() == pytest.approx([0.10, 0.11], abs=0.001)


def test_joined_segments_need_a_size(tmp_path):
    packets = [(0.0, tcp(seq=1, payload=20_000)), (0.1, tcp(ack=20_001, back=True))]
    path = pcap(tmp_path / "a.pcap", packets)
    with pytest.raises(tc.TcpccError, match="give packet_size="):
        tc.traces.read_pcap(path)
    run = tc.traces.read_pcap(path, packet_size=1040)
    assert values(run, "delivered").sum() == 20


# ------------------------------------------------------------------------ TCP_INFO


def test_ss_gives_the_kernels_window(kernel):
    ss, info = kernel["ss"], kernel["info"]
    seconds = slice(2, 5.8)
    means = [one.data["cwnd"].sel(time=seconds).mean().item() for one in (ss, info)]
    assert means == pytest.approx([means[0]] * 2, rel=0.03)
    assert ss.data["packet_size"].values.tolist() == [1500]
    assert ss.data["payload"].values.tolist() == [1448]
    assert info.data["base_rtt"].item() > 0.04  # 0 in the struct: no sample yet


def test_a_connection_that_is_not_yet_open_is_the_same_one(tmp_path):
    """`ss` tells no smoothed RTT before the handshake, and "rto:1000 mss:524" are no addresses."""
    path = tmp_path / "ss.txt"
    path.write_text(
        "1.0\nSYN-SENT 0 1 [fe80::1%eth0]:5 [::1]:10\n\t reno rto:1000 mss:524 cwnd:10\n"
        "2.0\nESTAB 0 0 [fe80::1%eth0]:5 [::1]:10\n\t reno rto:204 rtt:40/1 mss:1448 cwnd:12\n"
        "3.0\nESTAB 0 0 [fe80::1%eth0]:5 [::1]:10\n\t reno rto:204 rtt:50/1 mss:1448 cwnd:13\n"
    )
    run = tc.traces.read_tcp_info(path)
    assert run.data["flow"].values.tolist() == ["[fe80::1%eth0]:5>[::1]:10"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hello world\n", "line 1: neither a time nor output of ss -tin"),
        ("ESTAB 0 0 1.2.3.4:5 6.7.8.9:10\n\t reno cwnd:10 rtt:1/1\n", "line 2: no time before it"),
        ("1.0\n\t reno cwnd:10\n", "line 2: values before the addresses"),
        ("1.0 ESTAB 0 0 1.2.3.4:5 6.7.8.9:10 reno cwnd:1\n" * 2, "line 2: time = 1: not later"),
        ("1.0\n", "no connection has two samples"),
        ("time,rtt\n1,2\n", "line 1: needs the columns time and snd_cwnd"),
        ("time,snd_cwnd\n1,2\n2,x\n", "line 3: snd_cwnd = 'x': must be a number"),
        ("time,snd_cwnd\n1,2\n2\n", "line 3: has another number of columns"),
    ],
)
def test_bad_samples_are_one_line_with_the_place(tmp_path, text, message):
    path = tmp_path / "bad.txt"
    path.write_text(text)
    with pytest.raises(tc.TcpccError, match=f"bad.txt: {message}"):
        tc.traces.read_tcp_info(path)


# ------------------------------------------------------------------- what is not told


def test_what_a_trace_does_not_tell_is_said_in_one_line(kernel, tmp_path):
    run = kernel["receiver"]
    asked = run.retransmissions, run.loss_rate, run.timeouts, run.queue, run.drop_rate
    for ask in (*asked, run.averaging_time, run.queue_max, lambda: tc.plots.queue(run)):
        with pytest.raises(tc.ScenarioError, match=r"not in kernel_receiver.pcap.gz: .*") as caught:
            ask()
        assert "\n" not in str(caught.value)
    with pytest.raises(tc.ScenarioError, match="is a trace and has none"):
        run.scenario.digest  # noqa: B018
    with pytest.raises(tc.ScenarioError, match="cwnd: not in"):
        tc.plots.cwnd(run)
    with pytest.raises(tc.ScenarioError, match="read it with rate= of the bottleneck"):
        kernel["info"].utilization()
    with pytest.raises(tc.ScenarioError, match=r"payload: not in .*: TCP_INFO has no snd_mss"):
        kernel["info"].goodput()
    with pytest.raises(tc.ScenarioError, match="has samples only"):
        kernel["ss"].trace()
    link = run.link_summary().iloc[0]
    assert link[["queue_mean", "queue_max", "loss_percent"]].isna().all()
    assert 0.9 < link["utilization"] < 1
    assert kernel["sender"].averaging_time(1) > 0.5
    row = run.summary().iloc[0]
    assert row[["sent", "retransmitted", "loss_percent", "timeouts", "cwnd_mean"]].isna().all()
    assert row["throughput_mbps"] > 1.8
    assert "receiver.pcap.gz" in repr(run)
    run.save(tmp_path / "run.nc")
    assert tc.Run.load(tmp_path / "run.nc").identical(run)


def test_the_overview_draws_what_the_trace_tells(kernel):
    panels = {name: [ax.get_ylabel() for ax in run.plot().axes] for name, run in kernel.items()}
    assert panels["sender"] == ["In flight (packets)", "RTT (ms)", "Throughput (Mb/s)"]
    assert panels["receiver"] == ["RTT (ms)", "Throughput (Mb/s)"]
    assert panels["ss"] == ["Window (packets)", "RTT (ms)", "Throughput (Mb/s)"]


def test_a_run_and_its_capture_stand_in_one_figure(ours):
    run, folder = ours
    capture = tc.traces.read_pcap(folder / "run.pcapng")
    figure = run.compare(capture, flows="sack")
    windows, _, rtts = figure.axes
    assert rtts.get_ylabel() == "RTT (ms)"
    assert "packets" in windows.get_lines()[0].get_label()
    assert "pcap" in windows.get_lines()[1].get_label()
    one, other = (line.get_ydata() for line in rtts.get_lines())
    assert np.nanmean(other) == pytest.approx(np.nanmean(one), rel=0.05)
    with pytest.raises(tc.ScenarioError, match="only traces of other programs have it"):
        tc.plots.in_flight(run)


@pytest.mark.parametrize(
    "read", [tc.traces.read_qlog, tc.traces.read_pcap, tc.traces.read_tcp_info]
)
def test_a_missing_file_is_named(read, tmp_path):
    with pytest.raises(FileNotFoundError, match="nothing: no such file"):
        read(tmp_path / "nothing")


@pytest.mark.filterwarnings("ignore::tcpcc.errors.TraceWarning")
def test_damaged_files_are_read_or_refused_in_one_line(ours, tmp_path):
    """Bytes changed, inserted or cut out, at random: never another error."""
    rng = np.random.default_rng(1)
    files = [
        (tc.traces.read_pcap, (ours[1] / "run.pcapng").read_bytes()),
        (tc.traces.read_pcap, gzip.decompress((DATA / "kernel_sender.pcap.gz").read_bytes())),
        (tc.traces.read_qlog, (ours[1] / "run.qlog").read_bytes()[:40_000].rpartition(b"\n")[0]),
        (tc.traces.read_tcp_info, gzip.decompress((DATA / "kernel_ss.txt.gz").read_bytes())),
        (tc.traces.read_tcp_info, gzip.decompress((DATA / "kernel_tcp_info.csv.gz").read_bytes())),
    ]
    refused = []
    for k in range(150):
        read, text = files[k % len(files)]
        damaged = bytearray(text)
        for place in rng.integers(min(len(text), [300, 10**9][k % 2]), size=1 + k % 3):
            damaged[place : place + k % 4] = rng.bytes(1)
        path = tmp_path / "damaged"
        path.write_bytes(damaged)
        try:
            read(path).summary()
        except tc.TcpccError as error:
            refused.append(str(error))
    assert 30 < len(refused) < 150
    assert not any("\n" in message for message in refused)
    assert all(str(tmp_path / "damaged") in message for message in refused)
