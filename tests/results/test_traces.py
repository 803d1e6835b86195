"""Traces: what is kept of which connections, and the files made of it."""

import json
import shutil
import struct
import subprocess

import numpy as np
import pytest

import tcpcc as tc
from tcpcc.results.recording import EVENTS, TRACED

NET = tc.dumbbell(rate="1.6 Mbps", delay="50 ms", buffer=8)
FLOWS = [
    tc.Flow("reno", recovery="sack", size=400, name="sack", transport={"rwnd": 64}),
    tc.Flow("reno", recovery="reno", size=300, start=0.3, name="plain"),
    tc.Flow("vegas", size=300, name="held", header=40, transport={"delayed_ack": 0.2}),
    tc.CBR("100 kbps", name="udp"),
]
SCENARIO = tc.Scenario(
    NET, FLOWS, duration=12, workloads=tc.workloads.web("newreno", rate=1, name="web", size=8000)
)


@pytest.fixture(scope="module")
def run():
    return tc.simulate(SCENARIO, trace=True)


# ------------------------------------------------------------------------- the table


def test_a_trace_is_a_table_of_named_events(run):
    table = run.trace()
    assert len(table) == len(run.events)
    assert list(table.columns[:5]) == ["time", "flow", "event", "seq", "value"]
    assert set(TRACED) < set(table.columns)
    assert table["time"].is_monotonic_increasing
    assert set(table["event"]) <= set(EVENTS)
    assert {"sack", "plain", "held", "udp", "web#0"} <= set(table["flow"])


def test_the_windows_are_those_of_the_record(run):
    """The last event of a bin has the window that the record gives for the bin's end."""
    before_it_finished = slice(20, 340, 10)
    table = run.trace("sack").dropna(subset="cwnd")
    ends = run.data["time"].values[before_it_finished]
    place = np.searchsorted(table["time"], ends, side="right") - 1
    recorded = run.data["cwnd"].sel(flow="sack").values[before_it_finished]
    assert table["cwnd"].to_numpy()[place] == pytest.approx(recorded)


def test_what_is_in_transit_was_sent_and_not_acknowledged(run):
    table = run.trace("sack")
    sent, wanted = -1, 0
    for row in table.itertuples():
        if row.event == "send":
            sent = row.seq
            assert row.in_transit == sent - wanted + 1
        elif row.event == "ack":
            wanted = row.seq
    assert wanted == 401


def test_a_block_holds_the_packet_that_caused_the_ack(run):
    table = run.trace("sack").query("event == 'dupack' and sack_high > sack_low")
    assert len(table) > 50
    assert ((table["sack_low"] <= table["trigger"]) & (table["trigger"] < table["sack_high"])).all()
    assert (table["sack_low"] > table["seq"]).all()


def test_a_controllers_columns_are_its_own(run):
    table = run.trace()
    vegas = table.query("flow == 'held'").dropna(subset="decided")
    rounds = vegas[vegas["decided"].diff() > 0]
    assert len(rounds) > 10
    assert (rounds["decided"] == rounds["time"]).all()
    in_flight = rounds["expected"] * rounds["base_rtt"]
    assert in_flight.to_numpy() == pytest.approx(in_flight.round().to_numpy())
    assert table.query("flow == 'sack'")["expected"].isna().all()


@pytest.mark.parametrize(
    ("chosen", "names"),
    [
        ("plain", {"plain"}),
        (["vegas", "udp"], {"held", "udp"}),
        ("web", {f"web#{k}" for k in range(30)}),
    ],
)
def test_chosen_flows_only_are_traced(run, chosen, names):
    some = tc.simulate(SCENARIO, trace=chosen)
    assert set(some.trace()["flow"]) <= names
    assert some.data.drop_attrs().equals(run.data.drop_attrs())
    kept = run.events[np.isin(run.events["flow"], np.unique(some.events["flow"]))]
    for name in some.events.dtype.names:
        assert np.array_equal(some.events[name], kept[name], equal_nan=True)


def test_questions_about_what_was_not_traced_get_one_line(run, tmp_path):
    with pytest.raises(tc.ScenarioError, match="unknown flow in trace 'plaine': did you mean 'pl"):
        tc.simulate(SCENARIO, trace="plaine")
    bare, some = tc.simulate(SCENARIO), tc.simulate(SCENARIO, trace="plain")
    for ask in (bare.trace, lambda: bare.to_pcap(tmp_path / "x")):
        with pytest.raises(tc.ScenarioError, match="simulate with trace=True"):
            ask()
    with pytest.raises(tc.ScenarioError, match="no trace of them"):
        some.trace("sack")
    with pytest.raises(tc.ScenarioError, match="simulate with trace='sack'"):
        some.plot_trace("sack")
    assert list(tmp_path.iterdir()) == []


def test_a_controller_records_numbers_of_its_state_only():
    rules = {name: tc.controllers.get("reno").rules[name] for name in ("on_ack", "on_loss")}
    with pytest.raises(ValueError, match="record 'pace' is not a real number of its state: none"):
        tc.Controller("mine", "x", **rules, on_timeout=rules["on_loss"], record=("pace",))


# ---------------------------------------------------------------------------- pcapng


def blocks(path):
    """Kind and body of each block; both lengths of a block must agree."""
    data = path.read_bytes()
    while data:
        kind, length = struct.unpack_from("<II", data)
        assert length % 4 == 0
        assert struct.unpack_from("<I", data, length - 4)[0] == length
        yield kind, data[8 : length - 4]
        data = data[length:]


def checksum(data):
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def packets(path):
    """Time (s), the interface's number, and the fields of each packet's headers."""
    for kind, body in blocks(path):
        if kind != 6:
            continue
        interface, high, low, kept, length = struct.unpack_from("<IIIII", body)
        head = body[20 : 20 + kept]
        assert checksum(head[:20]) == 0xFFFF
        assert struct.unpack_from(">H", head, 2)[0] == length
        found = {"to": head[16:20], "protocol": head[9], "length": length}
        if head[9] == 6:
            seq, ack, size, flags, window = struct.unpack_from(">IIBBH", head, 24)
            size = size >> 4 << 2
            pseudo = head[12:20] + struct.pack(">HH", 6, length - 20)
            assert checksum(pseudo + head[20:]) == 0xFFFF  # the payload is zeros
            found |= {"seq": seq, "ack": ack, "flags": flags, "window": window}
            found |= {"payload": length - 20 - size, "options": options(head[40 : 20 + size])}
        yield ((high << 32) + low) / 1e9, interface, found


def options(data):
    found = {}
    while data:
        kind = data[0]
        if kind == 1:
            data = data[1:]
            continue
        found[kind] = data[2 : data[1]]
        data = data[data[1] :]
    return found


@pytest.fixture(scope="module")
def capture(run, tmp_path_factory):
    path = tmp_path_factory.mktemp("capture") / "run.pcapng"
    count = run.to_pcap(path)
    assert count == len(list(packets(path)))
    return path


def of(capture, run, name):
    number = sorted(np.unique(run.events["flow"])).index(run.flows.index(name))
    return [(time, fields) for time, interface, fields in packets(capture) if interface == number]


def test_a_capture_has_every_packet_sent_and_every_ack_that_came(run, capture):
    table = run.trace()
    kinds = ("send", "retransmit", "ack", "dupack")
    wanted = table[table["event"].isin(kinds)]
    times = [time for time, _, _ in packets(capture)]
    assert times == pytest.approx(wanted["time"].tolist(), abs=1e-9)


@pytest.mark.parametrize(("name", "payload"), [("sack", 1000), ("plain", 1000), ("held", 960)])
def test_sequence_numbers_count_bytes(run, capture, name, payload):
    table = run.trace(name)
    found = of(capture, run, name)
    data = [f for _, f in found if f["payload"]]
    first = found[0][1]
    assert (first["flags"], first["payload"]) == (0x02, 0)
    assert first["options"][2] == struct.pack(">H", payload)
    assert (4 in first["options"]) == (name == "sack")
    sent = table[table["event"].isin(["send", "retransmit"])]["seq"].tolist()
    assert [f["payload"] for f in data] == [payload] * (len(sent) - 1)
    assert [f["seq"] - first["seq"] - 1 for f in data] == [(s - 1) * payload for s in sent[1:]]
    acks = [f for _, f in found if f["to"] == found[0][1]["to"][:1] + b"\0" + f["to"][2:]]
    wanted = table[table["event"].isin(["ack", "dupack"])]["seq"].tolist()
    assert [f["ack"] - first["seq"] - 1 for f in acks] == [(s - 1) * payload for s in wanted]
    assert acks[0]["flags"] == 0x12


def test_sack_blocks_are_in_bytes_for_senders_that_read_them(run, capture):
    table = run.trace("sack").query("event in ('ack', 'dupack') and sack_high > sack_low")
    found = [f for _, f in of(capture, run, "sack") if 5 in f.get("options", {})]
    assert len(found) == len(table[table["sack_low"] >= table["seq"]]) > 50
    for fields in found:
        low, high = struct.unpack(">II", fields["options"][5])
        assert fields["ack"] < low < high
        assert (high - low) % 1000 == 0
    assert not any(5 in f["options"] for _, f in of(capture, run, "plain"))


def test_the_echoed_timestamp_gives_the_round_trip_time(run, capture):
    """RFC 7323: now - TSecr is a round-trip time, of the packet that moved the window's edge."""
    table = run.trace("plain").query("event == 'ack'")
    table = table[table["seq"].diff() == 1].dropna(subset="value")
    assert len(table) > 100
    acks = {round(time, 6): f for time, f in of(capture, run, "plain") if not f["payload"]}
    for time, rtt in zip(table["time"], table["value"], strict=True):
        echo = struct.unpack(">II", acks[round(time, 6)]["options"][8])[1]
        assert time - (echo - 1) / 1000 == pytest.approx(rtt, abs=0.0011)


def test_constant_bit_rate_is_udp(run, capture):
    found = of(capture, run, "udp")
    assert len(found) == len(run.trace("udp").query("event == 'send'"))
    assert {(f["protocol"], f["length"]) for _, f in found} == {(17, 1000)}


@pytest.mark.skipif(shutil.which("tshark") is None, reason="needs tshark")
@pytest.mark.parametrize("name", ["sack", "plain", "held"])
def test_tshark_sees_what_happened(run, tmp_path, name):
    """Its own analysis: retransmissions, duplicate ACKs, nothing missing, numbers as sent."""
    path = tmp_path / "one.pcapng"
    run.to_pcap(path, name)
    fields = (
        "tcp.seq", "tcp.ack", "tcp.len", "tcp.srcport", "tcp.analysis.retransmission",
        "tcp.analysis.duplicate_ack", "tcp.analysis.lost_segment", "tcp.analysis.ack_lost_segment",
        "tcp.options.sack_le", "_ws.malformed",
    )  # fmt: skip
    command = ["tshark", "-r", str(path), "-T", "fields", "-E", "separator=|"]
    for field in fields:
        command += ["-e", field]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = [line.split("|") for line in done.stdout.splitlines()]
    rows = [dict(zip(fields, line, strict=True)) for line in lines]
    table = run.trace(name)
    count = table["event"].value_counts()
    assert sum(bool(row["tcp.analysis.retransmission"]) for row in rows) == count["retransmit"] > 0
    assert sum(bool(row["tcp.analysis.duplicate_ack"]) for row in rows) == count["dupack"] > 0
    for trouble in ("tcp.analysis.lost_segment", "tcp.analysis.ack_lost_segment", "_ws.malformed"):
        assert not any(row[trouble] for row in rows)
    payload = 1000 - (40 if name == "held" else 0)
    kinds = ("send", "retransmit", "ack", "dupack")
    events = table[table["event"].isin(kinds)]
    for row, event in zip(rows, events.itertuples(), strict=True):
        number = 0 if event.seq == 0 else 1 + (event.seq - 1) * payload
        sends = event.event in ("send", "retransmit")
        assert int(row["tcp.seq" if sends else "tcp.ack"]) == number
    told = sum(bool(row["tcp.options.sack_le"]) for row in rows)
    assert (told > 50) if name == "sack" else (told == 0)


# ------------------------------------------------------------------------------ qlog


def test_qlog_tells_every_event(run, tmp_path):
    path = tmp_path / "run.qlog"
    count = run.to_qlog(path, ["sack", "held"])
    head, *lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert head["qlog_version"] == "0.3"  # the last one of which qvis reads lines
    assert head["trace"]["vantage_point"]["flow"] == "server"
    assert len(lines) == count
    table = run.trace(["sack", "held"])
    names = {
        "transport:packet_sent": ("send", "retransmit"),
        "transport:packet_received": ("ack", "dupack"),
        "recovery:packet_lost": ("loss",),
        "tcpcc:packet_dropped": ("drop",),
    }
    for name, kinds in names.items():
        assert sum(x["name"] == name for x in lines) == table["event"].isin(kinds).sum() > 0
    again = sum(x["data"].get("is_retransmission", False) for x in lines)
    assert again == (table["event"] == "retransmit").sum()
    metrics = [x for x in lines if x["name"] == "recovery:metrics_updated"]
    assert len(metrics) == table["cwnd"].notna().sum()
    windows = (table["cwnd"].dropna() * 1000).tolist()
    assert [x["data"]["congestion_window"] for x in metrics] == pytest.approx(windows)
    assert all(("expected" in x["data"]) == (x["group_id"] == "held") for x in metrics)
    dropped = {x["data"]["link"] for x in lines if x["name"] == "tcpcc:packet_dropped"}
    assert dropped == {"bottleneck"}


# ------------------------------------------------------------------------- the graph


def test_the_graph_has_a_panel_for_all_that_was_asked(run):
    labels = [ax.get_ylabel().split("\n")[0] for ax in run.plot_trace("held", traffic="web").axes]
    assert labels == [
        "Windows (packets)", "Sending rate", "Avoidance", "Other traffic", "Queue (packets)",
    ]  # fmt: skip
    assert len(run.plot_trace("sack").axes) == 3


def test_the_output_is_what_the_link_has_sent(run):
    ax = run.plot_trace("sack", output=True, window=run.duration / 4).axes[-1]
    capacity = float(run.data["rate"][0])
    scale = capacity / float(ax.get_lines()[-1].get_ydata()[0])  # the dotted line
    mean = float(np.mean(ax.get_lines()[0].get_ydata())) * scale
    assert mean == pytest.approx(capacity * run.utilization(), rel=1e-6)
    assert ax.get_ylabel().startswith("Output")


def test_the_graph_marks_the_ticks_of_a_coarse_clock():
    flow = tc.Flow("reno", name="bsd", transport={"tick": 0.5, "clock_phase": 0.2})
    traced = tc.simulate(tc.Scenario(NET, [flow], duration=4), trace=True)
    ax = traced.plot_trace("bsd").axes[0]
    ticks = next(line for line in ax.get_lines() if line.get_label() == "clock ticks")
    assert ticks.get_xdata() == pytest.approx(np.arange(0.3, 4, 0.5))
