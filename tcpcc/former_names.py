"""Former public names, so that the error for an unknown one says what to write instead."""

from __future__ import annotations

_ROOMS = {  # room -> names that were attributes of the package
    "queues": (
        "AdaptiveRED CoDel ConnectionRED DRR DropTail DualPI2 FQ FQCoDel FQPIE GilbertElliott"
        " PI PIE Policer QuickStartRouter RED REM SFQ SRED StepMark StrictPriority TokenBucket"
        " XCPRouter"
    ),
    "analysis": "Stability equilibrium right_hand_side stability stability_map",
    "traces": "read_pcap read_qlog read_tcp_info",
    "workloads": "Conversation Distribution Empirical on_off poisson tcplib web",
    "changes": "cellular mahimahi outage rate_series",
    "metrics": "convergence_time",
    "errors": (
        "LongRun NoEquilibriumError NotSmoothError ResourceError RuleError SweepError"
        " SweepInterrupted"
    ),
}

FORMER_NAMES = {
    **{name: f"{room}.{name}" for room, names in _ROOMS.items() for name in names.split()},
    "simulate_many": "sweep",
    "batch": "sweep",
    "grid": "sweep",
}
"""Former name -> its name now, below ``tc.``"""
