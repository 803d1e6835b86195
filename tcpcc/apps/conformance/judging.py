"""Judge a trace by a case: what lies within the envelope, and where it leaves it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcpcc.apps.conformance.case import Case, Check, find
from tcpcc.apps.conformance.flow_trace import FlowTrace
from tcpcc.apps.conformance.known_path import KnownPath
from tcpcc.apps.conformance.observables import SLACK, NotInTraceError
from tcpcc.errors import ScenarioError, refuse

if TYPE_CHECKING:
    import pandas as pd

    from tcpcc.results import Run

WITHIN, LEAVES, ABSENT, UNKNOWN = "within", "leaves", "never happens", "not in trace"
AMOUNTS = ("throughput", "share", "retransmitted", "silence", "timeouts", "visits")
"""Observables that add up what happens between two times: half of it is no smaller value of it."""

READERS = {
    **dict.fromkeys((".qlog", ".sqlog", ".json"), "read_qlog"),  # .json may be of iperf3, too
    **dict.fromkeys((".pcap", ".pcapng", ".cap"), "read_pcap"),
    ".ss": "read_tcp_info",
}
"""Suffixes of files, and the functions of `tcpcc.apps.traces` that read them."""


@dataclass(frozen=True)
class Finding:
    """The verdict on one check.

    Attributes:
        check: the check.
        verdict: "within", "leaves", "never happens" (fails too) or "not in trace".
        found: the value, or the range of values, in words.
        time: s, of the first value outside the envelope; None: there is none.
        value: that value.
        count: number of values.
    """

    check: Check
    verdict: str
    found: str = ""
    time: float | None = None
    value: float | str | None = None
    count: int = 0


@dataclass(frozen=True)
class Judgement:
    """The verdicts on a trace.

    Attributes:
        case: the case.
        findings: one for each of its checks.
        other_path: why the trace is not one of the case's path; "": it can be.
    """

    case: Case
    findings: tuple[Finding, ...]
    other_path: str = ""

    @property
    def passed(self) -> bool:
        """Whether something was judged and nothing left its envelope."""
        return not self.failed and any(finding.verdict == WITHIN for finding in self.findings)

    @property
    def failed(self) -> list[str]:
        """Names of the checks that fail."""
        return [f.check.name for f in self.findings if f.verdict in (LEAVES, ABSENT)]

    @property
    def complete(self) -> bool:
        """Whether the trace has the data for all checks of the case."""
        return all(finding.verdict != UNKNOWN for finding in self.findings)

    def rows(self) -> list[dict[str, Any]]:
        """One record for each check, with what `table` has."""
        return [
            {
                "check": finding.check.name,
                "verdict": finding.verdict,
                "envelope": finding.check.envelope,
                "found": finding.found,
                "time": finding.time,
                "value": finding.value,
                "measured": finding.check.measured,
                "source": finding.check.source,
                "reason": finding.check.reason,
            }
            for finding in self.findings
        ]

    def table(self) -> pd.DataFrame:
        """One row for each check.

        Columns: `check`; `verdict`; `envelope`; `found`, the range of values, with their number in
        parentheses; `time` (s) and `value`, where the trace first leaves the envelope; `measured`,
        the observable; `source`; `reason`.
        """
        import pandas as pd

        return pd.DataFrame(self.rows())

    def __repr__(self) -> str:
        counts = [sum(f.verdict == v for f in self.findings) for v in (WITHIN, UNKNOWN)]
        outside = self.failed
        verdict = ("passes" if self.complete else "passes in part") if self.passed else "fails"
        if self.other_path:
            return f"<{self.case.name} not judged: {self.other_path}>"
        text = f"{counts[0]} within, {len(outside)} outside, {counts[1]} not in the trace"
        return f"<{self.case.name} {verdict}: {text}{': ' + ', '.join(outside) if outside else ''}>"

    def _repr_html_(self) -> str:
        body = self.table().drop(columns=["measured"]).to_html(index=False, border=0)
        return f"<div><b>{self.case.name}: {self.case.title}</b>{body}</div>"


def judge(trace: Run | FlowTrace | Sequence[FlowTrace] | str | Path, case: str | Case) -> Judgement:
    """Judge a trace by a case of the conformance kit.

    Args:
        trace: a `Run`, best with a trace, also of `read_qlog`, `read_pcap` or `read_tcp_info`; the
            path of a file that these read (.qlog, .pcap, .ss and others), of one of `Run.save`
            (.nc), or of a CSV as `FlowTrace.of_csv` reads it; or one `FlowTrace` for each flow.
        case: name of a case, such as "bbr-03".

    A check is "not in trace" if the trace ends before the check's time does. All are if the trace
    cannot be of the case's path.

    Returns:
        a `Judgement`; its `passed` and `table()` give the verdicts.

    Raises:
        ScenarioError: an unknown case or suffix, or fewer flows than the case has.

    >>> judge(find("cubic-01").simulate(), "cubic-01").passed  # doctest: +SKIP
    True
    """
    chosen = find(case)
    traces = flow_traces(trace)
    needed = max(check.flow for check in chosen.checks)
    if len(traces) < needed:
        raise ScenarioError(
            f"trace: has {len(traces)} flow{'s' * (len(traces) > 1)}: case {chosen.name} needs"
            f" {needed}"
        )
    path = chosen.path([flow.packet_size for flow in traces])
    other = path.differs(traces)
    if other:
        return Judgement(chosen, tuple(Finding(c, UNKNOWN, other) for c in chosen.checks), other)
    return Judgement(chosen, tuple(_judge(check, traces, path) for check in chosen.checks))


def flow_traces(trace: Any) -> list[FlowTrace]:
    """The traces of all flows of a run or a file, in the run's order; CBR is left out."""
    from tcpcc.results import Run

    if isinstance(trace, FlowTrace):
        return [trace]
    if isinstance(trace, str | Path):
        path = Path(trace)
        if not path.is_file():
            raise ScenarioError(f"trace {path}: no such file")
        if path.suffix == ".csv":
            return [FlowTrace.of_csv(path)]
        trace = _read(path)
    if isinstance(trace, Run):
        controllers = trace.data["controller"].values
        return [
            FlowTrace.of_run(trace, name)
            for name, controller in zip(trace.flows, controllers, strict=True)
            if str(controller) != "cbr"
        ]
    if isinstance(trace, Sequence) and trace and all(isinstance(x, FlowTrace) for x in trace):
        return list(trace)
    raise refuse("trace", trace, "a Run, FlowTraces, or the path of a file")


def _read(path: Path) -> Run:
    from tcpcc.apps import traces
    from tcpcc.apps.traces.from_tcp_info import is_iperf3
    from tcpcc.results import Run

    kind = Path(path.stem).suffix if path.suffix == ".gz" else path.suffix
    if kind == ".nc":
        return Run.load(path)
    if kind not in READERS:
        raise ScenarioError(f"trace {path}: must end in {', '.join(('.nc', '.csv', *READERS))}")
    reader = "read_tcp_info" if kind == ".json" and is_iperf3(path) else READERS[kind]
    run: Run = getattr(traces, reader)(path)
    return run


def _judge(check: Check, traces: list[FlowTrace], path: KnownPath) -> Finding:
    try:
        measurement = check.read(traces, path)
    except NotInTraceError as lack:
        return Finding(check, UNKNOWN, f"needs {lack}")
    values = list(measurement.values)
    missing = _missing(check, traces, path)
    if missing and _depends_on_the_rest(check, values):
        return Finding(check, UNKNOWN, missing)
    if not values:
        return Finding(check, WITHIN if check.optional else ABSENT)
    span = _range(values)
    for time, value in zip(measurement.times, values, strict=True):
        inside = (
            value in check.allowed
            if isinstance(value, str)
            else check.low - 1e-9 <= value <= check.high + 1e-9
        )
        if not inside:
            return Finding(check, LEAVES, span, time, value, len(values))
    if missing and "before" in check.settings:
        return Finding(check, UNKNOWN, missing)
    return Finding(check, WITHIN, span, count=len(values))


def _missing(check: Check, traces: list[FlowTrace], path: KnownPath) -> str:
    """What the trace lacks of the check's time; "": nothing."""
    flow = check.flow - 1
    if flow < len(path.finite) and path.finite[flow]:
        return ""  # a flow that has ended has no more to show
    after = float(check.settings.get("after", 0.0))
    before = min(float(check.settings.get("before", math.inf)), path.duration)
    concerned = traces if check.observable == "share" else [traces[flow]]
    end = min(trace.end for trace in concerned)
    if end >= before - SLACK * max(before - after, 0.0):
        return ""
    return f"needs the trace up to {before:g} s; it ends at {end:.4g} s"


def _depends_on_the_rest(check: Check, values: list[float | str]) -> bool:
    """Whether the rest of a check's time may change these values."""
    if not values:
        return True
    kind, first = check.observable, values[0]
    if kind in ("timeouts", "visits"):  # these only grow
        return not (isinstance(first, float) and first > check.high)
    if kind == "time_to_throughput":
        return first == math.inf
    whole = kind == "sample" and not check.settings.get("mode")
    return kind in AMOUNTS or (whole and check.settings["take"] != "first")


def _range(values: Sequence[float | str]) -> str:
    """ "0.7", "0.68 to 0.71 (6)", "DOWN (3)"."""
    if isinstance(values[0], str):
        text = " or ".join(sorted({str(value) for value in values}))
    else:
        numbers = [float(value) for value in values]
        low, high = min(numbers), max(numbers)
        text = f"{low:.4g}" if f"{low:.4g}" == f"{high:.4g}" else f"{low:.4g} to {high:.4g}"
    return text if len(values) == 1 else f"{text} ({len(values)})"
