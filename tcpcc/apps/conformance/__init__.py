"""A conformance kit: scenarios, reference traces and envelopes with which stacks can be compared.

case.py reads the cases (cases/ and scenarios/, TOML), observables.py has the quantities that an
envelope can bound, flow_trace.py the trace of a flow, known_path.py the path; judging.py compares,
kit.py writes the kit as files.
"""

from tcpcc.apps.conformance.case import Case, Check, cases, find
from tcpcc.apps.conformance.flow_trace import FlowTrace
from tcpcc.apps.conformance.judging import Finding, Judgement, judge
from tcpcc.apps.conformance.kit import publish

__all__ = [
    "Case",
    "Check",
    "Finding",
    "FlowTrace",
    "Judgement",
    "cases",
    "find",
    "judge",
    "publish",
]
