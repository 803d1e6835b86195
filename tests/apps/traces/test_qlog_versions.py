"""Versions of qlog, and what stacks write.

The files in data/stacks are one synthetic connection of 0.82 s: 202 packets of 1200 bytes sent, two
of them again, 198 acknowledged, two declared lost, one probe timeout. It is written as v03, with
the times of the later drafts' own first example, with `timer_updated`, as mvfst writes, and as
picoquic writes (draft-00, without lost packets and timers).
"""

import gzip
import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from qlog_file import acked, event, header, sent, write

import tcpcc as tc
from tcpcc.errors import TraceWarning

STACKS = Path(__file__).parent / "data" / "stacks"
ALL = {"sent": 202, "retransmitted": 2, "dropped": 2, "timeouts": 1, "loss_events": 1}
PICOQUIC = {"sent": 202, "retransmitted": 2, "dropped": None, "timeouts": None, "loss_events": None}


def total(run, variable):
    return float(np.sum(run.data[variable].values))


@pytest.mark.parametrize(
    "name",
    ["v03.sqlog", "draft_epoch_1970", "draft_timer_updated", "mvfst_like", "picoquic_like"],
)
def test_one_connection_is_the_same_in_every_version(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = tc.traces.read_qlog(STACKS / f"{name}.qlog.gz")
    assert run.duration == pytest.approx(0.819, abs=0.001)
    assert total(run, "delivered") == 198  # the union of its ACK ranges
    assert float(run.data["base_rtt"][0]) == pytest.approx(0.040)
    assert run.data["payload"].values == pytest.approx([1150], rel=0.01)
    assert run.data["cwnd"].values[-1] == pytest.approx(11.6, abs=0.2)
    for variable, value in (PICOQUIC if name == "picoquic_like" else ALL).items():
        if value is None:
            assert "missing" in run.data[variable].attrs, variable
        else:
            assert total(run, variable) == value, variable


def pair(begin=0.0):
    return [sent(0, begin + 5, raw={"length": 1000}), acked(0, 0, begin + 25)]


def trace(name, events, **common):
    return {"common_fields": {"ODCID": name, **common}, "events": events}


SINCE_1970 = 1553986553572.0


MONOTONIC = {"clock_type": "monotonic", "epoch": "unknown"}


@pytest.mark.parametrize(
    ("begin", "common"),
    [
        (SINCE_1970, {"time_format": "absolute"}),
        (
            SINCE_1970,
            {
                "time_format": "relative_to_epoch",
                "reference_time": {"epoch": "1970-01-01T00:00:00Z"},
            },
        ),
        (SINCE_1970, {"time_format": "relative_to_epoch", "reference_time": {"epoch": "unknown"}}),
        (9e8, {"time_format": "relative_to_epoch", "reference_time": MONOTONIC}),
        (SINCE_1970, {"time_format": "relative"}),  # no: but a run of 50 years is never meant
        (SINCE_1970, {"time_format": "relative_to_previous_event"}),
        (SINCE_1970, {}),
    ],
)
def test_times_of_a_far_epoch_begin_at_the_first_event(tmp_path, begin, common):
    events = pair(begin)
    if common.get("time_format") == "relative_to_previous_event":
        events[1]["time"] = 20.0
    run = tc.traces.read_qlog(write(tmp_path / "a.qlog", trace("a", events, **common)))
    assert run.duration == pytest.approx(0.02, abs=1e-6)
    assert run.data["start"].values == pytest.approx([0.0])


def test_traces_with_times_since_1970_are_on_one_clock(tmp_path):
    """Absolute times, times relative to a date, and times without a date, in one file."""
    date = "2019-03-30T22:55:54.072Z"  # 0.5 s later
    relative = {"time_format": "relative", "reference_time": {"wall_clock_time": date}}
    traces = [
        trace("a", pair(SINCE_1970), time_format="absolute"),
        trace("b", pair(), **relative),
        trace("c", pair(), time_format="relative"),
    ]
    run = tc.traces.read_qlog(write(tmp_path / "three.qlog", *traces))
    assert run.data["start"].values == pytest.approx([0.0, 0.5, 0.005], abs=0.006)
    assert run.duration < 1


@pytest.mark.parametrize("case", [str.upper, str.lower])
@pytest.mark.parametrize("columns", ["relative_time", "time", "delta_time"])
def test_events_as_lists_are_read(tmp_path, case, columns):
    """Draft-00 and draft-01: names in upper or lower case, times in us, numbers as text."""
    times = {"relative_time": (0, 400, 25000), "delta_time": (0, 400, 24600)}
    at = times.get(columns, (SINCE_1970 * 1e3, SINCE_1970 * 1e3 + 400, SINCE_1970 * 1e3 + 25000))
    header = {"packet_number": "7", "packet_size": 1200}
    ack = {"frame_type": case("ack"), "acked_ranges": [["7", "7"]]}
    rows = [
        ("metric_update", {"cwnd": 12000, "latest_rtt": 24000, "min_rtt": 20000}),
        ("packet_sent", {"type": case("1rtt"), "header": header}),
        ("packet_received", {"type": case("1rtt"), "header": {}, "frames": [ack]}),
    ]
    events = [
        [str(t), case("transport"), case(name), "DEFAULT", data]
        for t, (name, data) in zip(at, rows, strict=True)
    ]
    events.append([])  # draft-00 ends so where a trailing comma would be wrong
    old = {
        "configuration": {"time_units": "us"},
        "event_fields": [case(n) for n in (columns, "category", "event_type", "trigger", "data")],
        "events": events,
    }
    run = tc.traces.read_qlog(write(tmp_path / "a.qlog", old))
    assert run.duration == pytest.approx(0.025, abs=1e-5)
    assert total(run, "delivered") == 1
    assert run.data["cwnd"].values[-1] == 10
    assert run.data["rtt"].values[-1] == pytest.approx(0.024)
    assert run.data["base_rtt"].values == pytest.approx([0.020])


LENGTHS = [
    {"raw": {"length": 1000}},
    {"raw": {"payload_length": 1000}},
    {"packet_size": 1000},
    {"header": header(0) | {"packet_size": 1000}},
    {"header": header(0) | {"payload_length": "1000"}},
]
DATA = [
    {"stream_id": 0, "length": 900},
    {"stream_id": "0", "raw": {"length": 900}},
    {"stream_id": 0, "raw": {"length": 905, "payload_length": 900}},
    {"id": "0", "payload_length": 900},
]


@pytest.mark.parametrize("packet", LENGTHS)
@pytest.mark.parametrize("data", DATA)
def test_lengths_are_found_where_stacks_put_them(tmp_path, packet, data):
    frames = [{"frame_type": "stream", "offset": 0, **data}]
    events = [sent(0, 5), acked(0, 0, 25)]
    events[0]["data"] |= packet | {"frames": frames}
    run = tc.traces.read_qlog(write(tmp_path / "a.qlog", trace("a", events)))
    assert total(run, "delivered") == 1
    assert run.data["packet_size"].values == [1000]
    assert run.data["payload"].values == [900]


@pytest.mark.parametrize(
    ("name", "data", "count"),
    [
        ("recovery:loss_timer_updated", {"event_type": "expired", "timer_type": "pto"}, 1),
        ("quic:timer_updated", {"event_type": "expired", "timer_type": "pto"}, 1),
        ("quic:timer_updated", {"event_type": "set", "timer_type": "pto"}, 0),
        ("quic:timer_updated", {"event_type": "expired", "timer_type": "ack"}, 0),
        ("recovery:loss_timer_expired", {"timer_type": "pto"}, 1),
        ("RECOVERY:LOSS_ALARM_FIRED", {}, 1),
        ("loss:loss_alarm", {"largest_sent": 1, "alarm_count": 1, "type": "pto alarm"}, 1),
        ("recovery:loss_timer_set", {"timer_type": "pto"}, None),
    ],
)
def test_expired_timers_are_timeouts_in_every_draft(tmp_path, name, data, count):
    events = [*pair(), event(30, name, **data)]
    run = tc.traces.read_qlog(write(tmp_path / "a.qlog", trace("a", events)))
    if count is None:
        assert run.data["timeouts"].attrs["missing"] == "the qlog has no events of the loss timer"
    else:
        assert run.data["timeouts"].values.tolist() == [count]


def test_several_lost_packets_in_one_event_count_by_their_bytes(tmp_path):
    lost = {"largest_lost_packet_num": 3, "lost_bytes": 2500, "lost_packets": 3}
    events = [sent(n, n, raw={"length": 1000}) for n in range(5)]
    events.append(event(30, "quic:packets_lost", **lost))
    run = tc.traces.read_qlog(write(tmp_path / "a.qlog", trace("a", events)))
    assert total(run, "dropped") == 2.5
    assert run.data["loss_events"].values.tolist() == [1]
    assert run.data["delivered"].attrs["missing"] == "the qlog has no ACK frames"


BAD = [
    {"time": 6, "name": "quic:packet_sent", "data": {"header": {"packet_type": "1RTT"}}},
    {"time": 6, "name": "quic:packet_sent", "data": {"header": {"packet_number": "x"}}},
    {"time": 6, "name": "quic:packet_received", "data": {"frames": [{"frame_type": "ack"}]}},
    {"time": 6, "name": "quic:recovery_metrics_updated", "data": {"cwnd": {}}},
    {"time": 6, "name": "quic:packet_sent", "data": [1]},
    {"time": "soon", "name": "quic:packet_sent", "data": {}},
    {"name": "quic:packet_sent", "data": {}},
    [6, "transport", "packet_sent", {}],
]


@pytest.mark.parametrize("bad", BAD)
def test_an_event_that_cannot_be_read_is_skipped_counted_and_named(tmp_path, bad):
    first, second = pair()
    path = write(tmp_path / "a.qlog", trace("a", [first, bad, bad, second]))
    with pytest.warns(TraceWarning, match=r"2 events left out, the first: trace 0, event 1: "):
        run = tc.traces.read_qlog(path)
    assert "2 events left out" in run.data.attrs["unread"]
    assert total(run, "sent") == total(run, "delivered") == 1


def test_a_skipped_event_keeps_the_times_after_it(tmp_path):
    events = [sent(0, 5, raw={"length": 9}), {"time": 10}, acked(0, 0, 10)]
    form = {"time_format": "relative_to_previous_event"}
    with pytest.warns(TraceWarning, match="1 event left out"):
        run = tc.traces.read_qlog(write(tmp_path / "a.qlog", trace("a", events, **form)))
    assert run.duration == pytest.approx(0.025)


@pytest.mark.parametrize("bytes_lost", [1, 37, 200])
@pytest.mark.parametrize("name", ["v03.sqlog", "mvfst_like", "picoquic_like"])
@pytest.mark.parametrize("packed", [False, True])
def test_a_file_that_is_cut_off_is_read_up_to_there(tmp_path, bytes_lost, name, packed):
    text = (STACKS / f"{name}.qlog.gz").read_bytes()
    plain = gzip.decompress(text).rstrip()
    text = text[: -4 * bytes_lost] if packed else plain[:-bytes_lost]
    path = tmp_path / "cut.qlog"
    path.write_bytes(text)
    with pytest.warns(TraceWarning, match=r"cut.qlog: .*cut off; read up to there") as told:
        run = tc.traces.read_qlog(path)
    assert len(told) == 1
    assert total(run, "sent") > (80 if packed else 195)


def test_a_damaged_record_in_the_middle_is_skipped(tmp_path):
    head = {"qlog_version": "0.3", "qlog_format": "JSON-SEQ", "trace": {}}
    first, second = pair()
    pieces = [json.dumps(head), json.dumps(first), '{"time": 6, "na', json.dumps(second)]
    path = tmp_path / "a.sqlog"
    text = "".join(f"\x1e{piece}\n" for piece in pieces)
    path.write_text(text, encoding="utf-8-sig")  # with the mark that some editors put first
    with pytest.warns(TraceWarning, match="1 event left out, the first: line 3: not JSON: [^;]*$"):
        run = tc.traces.read_qlog(path)
    assert total(run, "delivered") == 1
