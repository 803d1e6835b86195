"""Trace files made to harm: one line, in seconds, within the memory."""

import gzip
import struct
import time
from functools import partial

import pytest
import qlog_file
from capture_file import pcapng
from qlog_file import acked_ranges, event

import tcpcc as tc
from tcpcc.apps.traces import guard

sent = partial(qlog_file.sent, raw={"length": 1200})


def qlog(*events, **trace):
    return qlog_file.text_of({"events": events} | trace)


DEEP = 200_000
LONG = "9" * 5000
HOSTILE = [
    "[" * DEEP,
    '{"traces": ' + "[" * DEEP,
    '{"traces": [{"events": ' + '{"a":' * DEEP,
    '\x1e{"qlog_version": "0.3", "trace": {}}\n\x1e{"time": 1, "x": ' + "[" * DEEP,
    '{"traces": [{"events": [{"time": ' + LONG + ', "name": "a:packet_sent", "data": {}}]}]}',
    '{"traces": [{"events": [{"time": 1e999, "name": "a:packet_sent", "data": {}}]}]}',
    '{"traces": [1, 2]}',
    '{"traces": [[]]}',
    '{"traces": [{"events": [1]}]}',
    '{"traces": [{"events": [null], "common_fields": []}]}',
    '{"traces": [{"events": [], "common_fields": 3}]}',
    '{"traces": [{"events": [], "common_fields": {"reference_time": [1]}}]}',
    '{"traces": [{"events": [], "common_fields": {"reference_time": %s}}]}' % ("9" * 400),
    '{"qlog_version": "0.3", "trace": 5}\n{"time": 1, "name": "x", "data": {}}',
    qlog(sent(10**400, 1), sent(2, 2)),
    qlog(sent(2**70, 1), sent(2**71, 2)),
    qlog(sent(1, 1, frames=5), sent(2, 2, frames=[7])),
    qlog(sent(1, 1), acked_ranges(2, 5)),
    qlog(sent(1, 1), acked_ranges(2, [])),
    qlog(sent(1, 1), acked_ranges(2, ["a", {}])),
    qlog(sent(1, 1, raw=[]), sent(2, 2, raw="x")),
    qlog(sent(1, 1, header=[1])),
    qlog(sent(1, 1), sent(2, 10**308)),
    qlog(sent(1, 1), sent(2, 2), tcpcc={"duration": 1e9, "interval": 1e-9, "flows": {}}),
    qlog(sent(1, 1), sent(2, 2), tcpcc=[]),
    qlog(event(1, "t:metrics_updated", cwnd=[1]), sent(2, 2)),
]


def check(read, path, text, **options):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    begin = time.process_time()
    message = f"{path}: read"
    try:
        read(path, **options)
    except tc.TcpccError as error:
        message = str(error)
    assert "\n" not in message
    assert len(message) < 400 + len(str(path))
    assert str(path) in message
    assert time.process_time() - begin < 10


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_qlog_is_read_or_refused_in_one_line(text, tmp_path):
    check(tc.traces.read_qlog, tmp_path / "hostile.qlog", text)


def test_an_ack_of_all_possible_numbers_takes_no_time(tmp_path):
    path = tmp_path / "hostile.qlog"
    path.write_text(qlog(sent(1, 1), sent(2**50, 2), acked_ranges(3, [0, 2**62])))
    begin = time.process_time()
    run = tc.traces.read_qlog(path)
    assert time.process_time() - begin < 10
    assert float(run.data.delivered.sum()) == 2


CLOCK = struct.pack("<HHI", 101, 0, 0) + struct.pack("<HHqHH", 14, 8, 2**62, 0, 0)
PACKET = struct.pack("<IIIII", 0, 2**32 - 1, 2**32 - 1, 40, 40) + bytes(40)


@pytest.mark.parametrize("data", [pcapng((1, CLOCK), (6, PACKET)), pcapng((1, b"\0\0\0\0"))])
def test_a_hostile_capture_is_refused_in_one_line(data, tmp_path):
    check(tc.traces.read_pcap, tmp_path / "hostile.pcapng", data)


@pytest.mark.parametrize(
    "text",
    [
        "time,snd_cwnd\n1," + "9" * 400_000 + "\n2,3\n",
        'time,snd_cwnd\n1,"' + "x" * 400_000,
        "time,snd_cwnd,snd_mss\n1,1e400,5\n2,3,nan\n",
        "time,snd_cwnd\n1,10\n1e308,10\n",
        "1 ESTAB 0 0 1.2.3.4:5 1.2.3.4:6\n cwnd:" + "9" * 5000 + " rtt:1/1\n",
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_hostile_samples_are_read_or_refused_in_one_line(text, tmp_path):
    check(tc.traces.read_tcp_info, tmp_path / "hostile.csv", text)


@pytest.mark.parametrize(
    "read", [tc.traces.read_qlog, tc.traces.read_pcap, tc.traces.read_tcp_info]
)
def test_a_gzip_file_that_unpacks_to_too_much_is_refused(read, tmp_path, monkeypatch):
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(bytes(64 * 2**20)) * 2)
    monkeypatch.setattr(guard, "memory_left", lambda: 2.0**29)
    with pytest.raises(tc.TcpccError, match=r"bomb\.gz: has more than 0\.0625 GiB unpacked"):
        read(path)


def test_a_bomb_within_a_bomb_of_members_is_counted(tmp_path):
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(bytes(1000)) * 1000)
    with pytest.raises(tc.TcpccError, match="has more than"):
        guard.check_size(path, 999_999)
    guard.check_size(path, 1_000_000)


def test_an_interval_that_makes_too_many_bins_is_refused(tmp_path):
    path = tmp_path / "run.csv"
    path.write_text("time,snd_cwnd\n0,10\n1000,10\n")
    with pytest.raises(tc.TcpccError, match=r"interval = 1e-09: gives 1e\+12 bins in 1000 s"):
        tc.traces.read_tcp_info(path, interval=1e-9)
