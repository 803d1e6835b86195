"""The conformance kit: its references, the kernel and broken senders are judged as they must be."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tcpcc as tc
from experiments.kernel import conformance as kernel
from tcpcc.apps.conformance import FlowTrace, cases, find, judge, publish
from tcpcc.apps.conformance.case import Check
from tcpcc.apps.conformance.judging import LEAVES, UNKNOWN, WITHIN, flow_traces
from tcpcc.apps.conformance.known_path import KnownPath
from tcpcc.apps.conformance.observables import OBSERVABLES, falls
from tcpcc.cli import main

DATA = Path(__file__).parent / "data"


GUIDE = Path(__file__).parents[3] / "docs/guides/conformance.md"


def exceptions(case):
    return {check.name for check in case.checks if check.exception}


def test_the_kit_has_22_cases_of_the_bbr_draft_and_12_of_rfcs():
    sources = pd.Series([case.source for case in cases().values()])
    assert sources.str.startswith("draft-ietf-ccwg-bbr").sum() == 22
    assert sources.value_counts().to_dict().items() >= {
        "RFC 9438": 5, "RFC 9406": 3, "RFC 9937": 2, "RFC 8985": 2,
    }.items()  # fmt: skip
    asked = {url for case in cases().values() for url in case.answers}
    assert {url.rsplit("/", 1)[1] for url in asked} == {"88", "92", "71"}
    rows = [line for line in GUIDE.read_text().splitlines() if "/issues/" in line]
    for url in asked:
        (row,) = (row for row in rows if f"{url})" in row)
        named = {name for name in cases() if f"`{name}`" in row}
        assert named == {case.name for case in cases().values() if url in case.answers}
    used = {check.observable for case in cases().values() for check in case.checks}
    assert used == set(OBSERVABLES)


@pytest.fixture(scope="module")
def references():
    """Runs by the scenario's name; several cases share one."""
    known = {}

    def run(case):
        if case.scenario_name not in known:
            known[case.scenario_name] = case.simulate()
        return known[case.scenario_name]

    return run


@pytest.mark.parametrize("name", cases())
def test_our_own_senders_pass_but_for_the_exceptions(name, references):
    case = find(name)
    judgement = judge(references(case), name)
    assert set(judgement.failed) == exceptions(case), judgement.table().to_string()
    assert not {f.check.name for f in judgement.findings if f.verdict == UNKNOWN}


def test_the_reference_has_one_exception_because_of_the_handshake():
    told = {case.name: exceptions(case) for case in cases().values() if exceptions(case)}
    assert told == {"bbr-14": {"estimate", "pacing"}}
    run = find("bbr-14").simulate(transport={"handshake": False})
    assert judge(run, "bbr-14").passed


@pytest.mark.parametrize("name", [*kernel.KNOWN, *kernel.NEW])
def test_cubic_and_reno_of_linux_pass(name):
    """As far as its traces tell: times of timeouts are not recorded."""
    for traces in kernel.traces(name):
        judgement = judge(traces, name)
        assert judgement.passed, judgement.table().to_string()
        unknown = [f.check.name for f in judgement.findings if f.verdict == UNKNOWN]
        assert unknown in ([], ["timeouts"])


@pytest.mark.parametrize(("path", "name"), [("short", "cubic-03"), ("long", "cubic-01")])
def test_cubic_of_aioquic_falls_too_far(path, name):
    """It takes 0.7 of the bytes in flight after the lost packets have been taken off.

    aioquic 1.7.2 on the loopback, through a bottleneck of 10 Mb/s in Python: 40 ms and 20 packets,
    200 ms and 167 packets.
    """
    trace = FlowTrace.of_csv(DATA / f"aioquic_cubic_{path}.csv.gz")
    findings = {f.check.name: f for f in judge(trace, name).findings}
    assert findings["decrease"].verdict == LEAVES
    assert findings["decrease"].value < findings["decrease"].check.low
    if path == "short":
        assert findings["increase"].verdict == WITHIN


# Senders that are broken on purpose.


def on_loss(s, p, a):
    s.ssthresh = max(0.7 * a.window, 2.0)
    s.cwnd = s.ssthresh


def on_timeout(s, p, a):
    on_loss(s, p, a)
    s.cwnd = 1.0


LINEAR = tc.controllers["reno"].variant(
    name="kit_linear", summary="CUBIC without its cubic", slow_start="standard",
    on_loss=on_loss, on_timeout=on_timeout,
)  # fmt: skip

# What is broken: settings, the case that sees it and its checks that fail, a case that does not.
BROKEN = {
    "STARTUP is slow": (
        {"params": {"startup_gain": 1.5}}, "bbr-01", {"rounds", "time to the rate"}, "bbr-10",
    ),
    "DRAIN hardly drains": (
        {"params": {"drain_gain": 0.9}}, "bbr-03", {"pacing", "inflight at the end", "rate"},
        "bbr-10",
    ),
    "UP sends too much": ({"params": {"up_gain": 1.6}}, "bbr-05", {"pacing"}, "bbr-10"),
    "DOWN does not yield": (
        {"params": {"down_gain": 1.0}}, "bbr-08",
        {"pacing", "inflight at the end", "next state", "rate"}, "bbr-03",
    ),
    "PROBE_RTT every 10 s": (
        {"params": {"probe_rtt_interval": 10}}, "bbr-20", {"next state", "duration"}, "bbr-07",
    ),
    "PROBE_RTT at a tenth": (
        {"params": {"probe_rtt_gain": 0.1}}, "bbr-10", {"window", "inflight", "least inflight"},
        "bbr-01",
    ),
    "losses do not end a probe": (
        {"params": {"loss_threshold": 0.3}}, "bbr-06", {"end", "next state", "long-term bound"},
        "bbr-01",
    ),
    "a loss leaves 0.3 of a bound": (
        {"params": {"beta": 0.3}}, "bbr-16", {"least short-term bound"}, "bbr-01",
    ),
    "no headroom": ({"params": {"headroom": 0.0}}, "bbr-21", {"window"}, "bbr-01"),
    "least window of 1": ({"params": {"least_window": 1}}, "bbr-14", {"window"}, "bbr-13"),
    "version 1": (
        {"controller": "bbr"}, "bbr-20", {"next state", "duration"}, "bbr-01",
    ),
    "CUBIC halves": ({"params": {"beta": 0.5}}, "cubic-03", {"decrease"}, "rack-01"),
    "CUBIC grows linearly": (
        {"controller": LINEAR}, "cubic-02", {"half of K", "plateau"}, "cubic-03",
    ),
    "CUBIC is four times as steep": (
        {"params": {"c": 4.0}}, "cubic-01", {"interval"}, "cubic-03",
    ),
    "no HyStart++": (
        {"slow_start": "standard"}, "hystart-01", {"losses", "window"}, "prr-01",
    ),
    "HyStart does not go back": (
        {"slow_start": "hystart"}, "hystart-03", {"time to the rate"}, "hystart-01",
    ),
    "no proportional reduction": ({"recovery": "sack"}, "prr-01", {"pace"}, "hystart-01"),
    "duplicate ACKs are counted": (
        {"recovery": "sack-prr"}, "rack-01", {"retransmissions", "throughput"}, "prr-01",
    ),
    "no tail loss probe": (
        {"recovery": "sack-prr"}, "rack-02", {"probe", "timeouts"}, "prr-02",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", BROKEN)
def test_what_is_broken_is_seen_in_its_place(what):
    settings, seen_by, checks, elsewhere = BROKEN[what]
    found = set(judge(find(seen_by).simulate(**settings), seen_by).failed)
    assert found - exceptions(find(seen_by)) == checks
    found = set(judge(find(elsewhere).simulate(**settings), elsewhere).failed)
    assert found <= exceptions(find(elsewhere))


def test_a_judgement_tells_where_a_trace_leaves_its_envelope():
    judgement = judge(find("cubic-03").simulate(params={"beta": 0.5}), "cubic-03")
    finding = next(f for f in judgement.findings if f.check.name == "decrease")
    assert (finding.verdict, finding.value) == (LEAVES, pytest.approx(0.5))
    assert 5 < finding.time < 8
    row = judgement.table().set_index("check").loc["decrease"]
    assert (row["time"], row["envelope"]) == (finding.time, "0.65 to 0.75")
    assert "fails" in repr(judgement)
    assert "decrease" in judgement._repr_html_()


# Files.


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The kit of one case, and its reference as NetCDF."""
    folder = tmp_path_factory.mktemp("kit")
    judgements = publish(folder, ["bbr-04", "rack-02"])
    assert [each.passed for each in judgements] == [True, True]
    find("bbr-04").simulate().save(folder / "run.nc")
    return folder


def test_the_kit_is_complete_and_its_scenario_runs(files, capsys):
    names = {file.name for file in (files / "bbr-04").iterdir()}
    assert names == {
        "README.md", "scenario.toml", "envelope.toml", "reference.qlog.gz", "reference.csv"
    }  # fmt: skip
    assert "bbr-04/README.md" in (files / "README.md").read_text()
    page = (files / "bbr-04" / "README.md").read_text()
    assert all(check.reason.replace("\n", " ") in page for check in find("bbr-04").checks)
    assert main(["run", str(files / "bbr-04" / "scenario.toml")]) == 0
    assert "bbr3" in capsys.readouterr().out


@pytest.mark.parametrize("file", ["bbr-04/reference.qlog.gz", "bbr-04/reference.csv", "run.nc"])
def test_files_are_judged_as_the_run_is(file, files):
    whole, judged = judge(find("bbr-04").simulate(), "bbr-04"), judge(files / file, "bbr-04")
    assert [f.verdict for f in judged.findings] == [f.verdict for f in whole.findings]
    if not file.endswith("csv"):
        assert [f.found for f in judged.findings] == [f.found for f in whole.findings]


def test_a_capture_is_judged_by_what_it_tells(tmp_path):
    """It has no windows and no timers."""
    run = find("prr-01").simulate()
    run.to_pcap(tmp_path / "x.pcapng")
    verdicts = {f.check.name: f.verdict for f in judge(tmp_path / "x.pcapng", "prr-01").findings}
    assert verdicts == {"pace": WITHIN, "decrease": UNKNOWN, "timeouts": UNKNOWN}


def test_the_command_returns_1_for_a_trace_that_leaves_an_envelope(files, capsys, tmp_path):
    good = str(files / "bbr-04" / "reference.csv")
    assert main(["judge", good, "--case", "bbr-04"]) == 0
    assert "bbr-04 passes: 3 within" in capsys.readouterr().out
    assert main(["judge", good, "--case", "bbr-01,bbr-04", "--json"]) == 1
    rows = json.loads(capsys.readouterr().out)
    assert {row["case"] for row in rows} == {"bbr-01", "bbr-04"}
    assert any(row["verdict"] == LEAVES for row in rows)
    assert main(["judge", "--controller", "cubic", "--case", "cubic-03"]) == 0
    words = ["--controller", "cubic", "--set", "beta=0.5", "--case", "cubic-03"]
    assert main(["judge", *words]) == 1
    assert "cubic-03 fails" in capsys.readouterr().out
    one = tmp_path / "one.csv"
    one.write_text("time,cwnd\n" + "\n".join(f"{t},{50 + 4 * (t % 6)}" for t in range(60)))
    assert main(["judge", str(one), "--case", "cubic-01"]) == 0
    assert "cubic-01 passes in part" in capsys.readouterr().out
    assert main(["judge", str(one), "--case", "cubic-01", "--complete"]) == 1
    assert main(["judge", "--list"]) == 0
    assert "rack-02" in capsys.readouterr().out
    assert main(["judge", "--write", str(tmp_path / "kit"), "--case", "rack-02"]) == 0
    assert "rack-02 passes" in capsys.readouterr().out


DAMAGED = {
    "empty.txt": "",
    "empty.csv": "",
    "times.csv": "time,cwnd\n2,1\n1,1\n",
    "words.csv": "time,cwnd\n1,many\n",
    "falls.csv": "time,sent\n1,10\n2,9\n",
    "zero.csv": "time,rtt\n1,0.1\n2,0\n",
    "inf.csv": "time,cwnd\n1,10\n2,inf\n",
    "one.csv": "time,cwnd\n1,10\n2,20\n",
}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["x.csv", "--case", "bbr-04"], "trace x.csv: no such file"),
        (["x.csv"], "give --case and either a trace or --controller"),
        (["x.csv", "--controller", "reno", "--case", "prr-01"], "either a trace or --controller"),
        (["x.csv", "--case", "bbr-4"], "unknown case 'bbr-4': did you mean 'bbr-"),
        (["empty.txt", "--case", "bbr-04"], "empty.txt: must end in .nc, .csv, .qlog"),
        (["empty.csv", "--case", "bbr-04"], "empty.csv: not a CSV"),
        (["times.csv", "--case", "bbr-04"], "times.csv: needs a column time, s, in rising order"),
        (["words.csv", "--case", "bbr-04"], "words.csv: column cwnd: must have numbers"),
        (["falls.csv", "--case", "bbr-04"], "column sent: must have numbers >= 0 that never fall"),
        (["zero.csv", "--case", "bbr-04"], "column rtt: must have numbers > 0, or nothing"),
        (["inf.csv", "--case", "bbr-04"], "column cwnd: must have finite numbers"),
        (["one.csv", "--case", "cubic-04"], "trace: has 1 flow: case cubic-04 needs 2"),
        (["--write", "one.csv"], "folder = one.csv: is a file"),
    ],
)
def test_bad_input_is_refused_in_one_line(words, told, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, text in DAMAGED.items():
        (tmp_path / name).write_text(text)
    assert main(["judge", *words]) == 2
    assert told in capsys.readouterr().err


def test_what_a_trace_lacks_is_not_judged_and_nothing_alone_does_not_pass(tmp_path):
    file = tmp_path / "x.csv"
    file.write_text("time,cwnd\n1,10\n2,20\n")
    judgement = judge(file, "rack-01")
    assert {f.verdict for f in judgement.findings} == {UNKNOWN}
    assert not judgement.passed


# Observables, on a trace made by hand: 10 Mbit/s and 100 ms, packets of 1250 bytes, 1000 a second.


def by_hand():
    """A sawtooth: 100 packets at 0 s, one more every 0.1 s, 70 at 5 s; 0.1 s of RTT."""
    time = np.arange(1, 1000) / 100
    cwnd = np.where(time < 5, 100 + 10 * time, 105 + 10 * (time - 5))
    return FlowTrace(
        time,
        {"cwnd": cwnd, "rtt": np.full(len(time), 0.1), "mode": np.where(time < 4, 0.0, 1.0)},
        time,
        1000 * time,
        np.arange(0, 10, 0.001),
        np.zeros(10000, bool),
        np.array([7.0]),
        packet_size=1250,
    )


NET = tc.dumbbell("10 Mbps", "50 ms", 100, access_delay=0)
PATH = KnownPath(
    tc.Scenario(
        NET, [tc.Flow("reno")], duration=10, changes=[tc.Change(8, "bottleneck", rate=5e6)]
    ),
    [1250.0],
)


@pytest.mark.parametrize(
    ("name", "settings", "times", "values"),
    [
        ("sample", {"of": "cwnd", "take": "most"}, [9.99], [154.9]),
        ("sample", {"of": "cwnd", "take": "last", "mode": "STARTUP"}, [3.99], [139.9]),
        ("sample", {"of": "cwnd", "take": "first", "mode": "DRAIN", "skip": 0.5}, [4.5], [145]),
        ("sample", {"of": "cwnd", "take": "first", "after": 9, "per": "rate"}, [9], [145 / 500]),
        ("next_mode", {"mode": "STARTUP"}, [4.0], ["DRAIN"]),
        ("visits", {"mode": "DRAIN"}, [4.0], [1]),
        ("visits", {"mode": "UP", "before": 9.0}, [9.0], [0]),
        ("time_in_mode", {"mode": "STARTUP"}, [4.0], [3.99]),
        ("mode_ends", {"mode": "STARTUP"}, [4.0], [4.0]),
        ("send_rate", {"mode": "STARTUP"}, [4.0], [1.0]),
        ("throughput", {"after": 1, "before": 7}, [7], [1.0]),
        ("throughput", {"after": 7, "before": 9}, [9], [2000 / 1500]),
        ("time_to_throughput", {"after": 1, "level": 0.9, "width": 0.5}, [1.5], [0.5]),
        ("timeouts", {}, [7.0], [1]),
        ("retransmitted", {"after": 1, "before": 9}, [9], [0]),
        ("silence", {"after": 9.5, "before": 12}, [9.999], [2.001]),
        ("burst", {"after": 1, "before": 2, "width": 0.0105}, [1.0], [11]),
        ("cut", {"after": 0}, [4.99], [105 / 149.9]),
        ("regrowth", {"after": 0, "part": 0.5, "c": 0.4, "beta": 0.7},
         [4.99 + 0.5 * (149.9 * 0.3 / 0.4) ** (1 / 3)], [0.8610]),
        ("growth", {"after": 6.0, "before": 6.1}, [6.01], [115.1 / 114.1]),
    ],
)  # fmt: skip
def test_observables_have_the_values_of_a_calculation_by_hand(name, settings, times, values):
    reading = OBSERVABLES[name]([by_hand()], PATH, 0, **settings)
    assert reading.times == pytest.approx(times, abs=0.011)
    numbers = not isinstance(values[0], str)
    assert reading.values == (pytest.approx(values, rel=2e-3, abs=1e-9) if numbers else values)


def saws():
    """Two flows, the first with three teeth: 50 to 100 packets in 50 RTTs of 0.1 s, then 50; it
    sends again at 2 s and at 3 s, nothing for 0.3 s before, and 5 packets in the 50 ms after."""
    time = np.arange(1, 1600) / 100
    sent = np.concatenate([np.arange(0, 1.7, 0.001), 2 + 0.01 * np.arange(6), [2.9, 3.0, 4.0]])
    again = np.isin(np.arange(len(sent)), [1700, len(sent) - 2])
    columns = {"cwnd": 50 + 10 * (time % 5), "rtt": np.full(len(time), 0.1)}
    columns["mode"] = np.where((time % 5) < 0.2, 6.0, 3.0)
    one = FlowTrace(time, columns, time, 100 * time, sent, again)
    return [one, FlowTrace(time, {}, time, 300 * time)]


@pytest.mark.parametrize(
    ("name", "settings", "values"),
    [
        ("share", {"after": 1, "before": 5}, [0.25]),
        ("increase", {"after": 1.0}, [1.0, 1.0]),
        ("cut", {"after": 1.0}, [0.5] * 3),
        ("cut_interval", {"after": 1.0, "c": 0.4, "beta": 0.7}, [5 / 75 ** (1 / 3)] * 2),
        ("time_between", {"mode": "PROBE_RTT"}, [4.8] * 3),
        ("time_in_mode", {"mode": "CRUISE", "per": "rounds", "before": 4.0}, [48]),
        ("first_retransmission", {"after": 1.0, "per": "rtt"}, [0.301 / PATH.base_rtt[0]]),
        ("first_retransmission", {"after": 2.5}, [0.1]),
        ("recovery_pace", {"part": 0.5, "after": 1.0, "before": 2.5}, [5 / 5]),
        ("recovery_pace", {"part": 1.0, "after": 1.0, "take": "first"}, [6 / 10]),
        ("doubling_ends", {"of": "cwnd", "least": 1.5}, [51.1]),
    ],
)
def test_observables_of_teeth_and_recoveries(name, settings, values):
    reading = OBSERVABLES[name](saws(), PATH, 0, **settings)
    assert reading.values == pytest.approx(values, rel=5e-3)


def test_reductions_of_the_window_are_found_after_plateaus_and_in_steps():
    time = np.arange(0, 12.0)
    cwnd = np.array([10, 20, 20, 14, 12, 10, 11, 15, 15, 14.5, 15, 16.0])
    found = falls(FlowTrace(time, {"cwnd": cwnd}), 0, 20, 0.1)
    assert found == [(2.0, 20.0, 10.0)]


def test_a_round_ends_with_the_ack_of_a_packet_sent_after_it_began():
    trace = by_hand()
    assert np.diff(trace.rounds()) == pytest.approx(0.1)
    slow = FlowTrace(trace.time, {"rtt": np.full(len(trace.time), 0.25)})
    assert np.diff(slow.rounds()) == pytest.approx(0.25)


def test_packets_of_another_size_count_by_their_bytes():
    """Packets half as large, twice as many: the same verdicts."""
    whole = by_hand()
    half = FlowTrace(whole.time, {}, whole.time, 2 * whole.delivered, packet_size=625)
    shares = [
        OBSERVABLES["throughput"](
            [trace], KnownPath(find("cubic-01").scenario, [size]), 0, after=1.0, before=9.0
        ).values[0]
        for trace, size in ((whole, 1500.0), (half, 750.0))
    ]
    assert shares[0] == pytest.approx(shares[1])


def test_a_check_that_is_written_wrongly_is_refused():
    good = {"name": "x", "observable": "visits", "high": 1.0, "reason": "r"}
    assert Check.of_table("c", 1, good | {"mode": "UP"}).envelope == "<= 1"
    for change, told in (
        ({"observable": "visit"}, "did you mean 'visits'"),
        ({"mode": "UP", "mod": "UP"}, "unknown setting of visits"),
        ({"mode": "UP", "high": float("inf")}, "give low <= high, or allowed"),
        ({"mode": "UP", "low": 2.0}, "give low <= high, or allowed"),
        ({"mode": "UP", "reason": 3}, "reason: must be a text"),
        ({}, "visits needs mode"),
    ):
        with pytest.raises(tc.ScenarioError, match=told):
            Check.of_table("c", 1, good | change)


def test_a_sender_without_states_passes_no_bbr_case_completely():
    judgement = judge(find("bbr-12").simulate("cubic"), "bbr-12")
    assert judgement.passed
    assert not judgement.complete
    assert "passes in part" in repr(judgement)


# Traces that are short, or of another path.


def bulk(until, rate=800.0, rtt=0.25, **more):
    """A window that oscillates as CUBIC's on the path of cubic-01, packets delivered at a rate."""
    time = np.arange(0, until, 0.1)
    columns = {"cwnd": 250 + 20 * (time % 5), "rtt": np.full(len(time), rtt)}
    return FlowTrace(time, columns, delivered_at=time, delivered=time * rate, **more)


@pytest.mark.parametrize("until", [5, 14, 16, 30, 39])
def test_a_trace_that_ends_before_a_check_does_is_not_judged_by_it(until):
    findings = {f.check.name: f for f in judge(bulk(until), "cubic-01").findings}
    assert findings["throughput"].verdict == UNKNOWN
    assert findings["throughput"].found.startswith("needs the trace up to 40 s; it ends at")
    if until <= 10:
        assert {f.verdict for f in findings.values()} == {UNKNOWN}


def test_a_trace_that_ends_a_sample_early_is_judged():
    (finding,) = (f for f in judge(bulk(40, 825.0), "cubic-01").findings if f.count == 1)
    assert (finding.check.name, finding.verdict) == ("throughput", WITHIN)


def shortened(traces, end):
    """The traces up to `end`, s."""
    made = []
    for one in traces:
        kept = one.time <= end
        at, sent = one.delivered_at <= end, one.sent_at <= end
        timeouts = None if one.timeouts is None else one.timeouts[one.timeouts <= end]
        columns = {name: values[kept] for name, values in one.columns.items()}
        made.append(
            FlowTrace(
                one.time[kept], columns, one.delivered_at[at], one.delivered[at], one.sent_at[sent],
                one.again[sent], timeouts, one.modes, one.packet_size, one.name,
            )
        )  # fmt: skip
    return made


@pytest.mark.parametrize(
    "name", ["bbr-01", "bbr-05", "bbr-10", "cubic-01", "cubic-04", "hystart-01", "prr-01"]
)
def test_the_beginning_of_a_good_trace_fails_nothing(name, references):
    """However early it ends: whatever it does not show is not in the trace."""
    whole = flow_traces(references(find(name)))
    for share in (0.05, 0.3, 0.6, 0.9):
        judgement = judge(shortened(whole, share * find(name).scenario.duration), name)
        assert not judgement.failed, (share, judgement.table().to_string())


@pytest.mark.parametrize(
    ("trace", "why"),
    [
        (bulk(40, rate=1000.0), "delivers 120% of the rate of 10 Mb/s"),
        (bulk(40, rtt=0.05), "smallest RTT is 50 ms, the path's 201 ms"),
        (bulk(40, rtt=0.9), "smallest RTT is 900 ms, the path's 201 ms"),
    ],
)
def test_a_trace_of_another_path_is_not_judged(trace, why):
    judgement = judge(trace, "cubic-01")
    assert why in judgement.other_path
    assert not judgement.passed
    assert not judgement.failed
    assert {f.verdict for f in judgement.findings} == {UNKNOWN}
    assert "not judged: the trace is of another path" in repr(judgement)
