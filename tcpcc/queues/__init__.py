"""The queue disciplines by name, one file each; ``tc.queues()`` is a table of them.

A link takes one with its parameters: ``tc.dumbbell(..., queue=tc.queues.RED(min_thresh=5))``.
"""

from tcpcc.definition import module_of
from tcpcc.engine.subset import trusted
from tcpcc.queues.discipline import QUEUES, Discipline, QueueSpec

with trusted():
    from tcpcc.queues.adaptive_red import AdaptiveRED
    from tcpcc.queues.codel import CoDel
    from tcpcc.queues.connection_red import ConnectionRED
    from tcpcc.queues.droptail import DropTail
    from tcpcc.queues.drr import DRR
    from tcpcc.queues.dualpi2 import DualPI2
    from tcpcc.queues.fq import FQ
    from tcpcc.queues.fq_codel import FQCoDel
    from tcpcc.queues.fq_pie import FQPIE
    from tcpcc.queues.gilbert_elliott import GilbertElliott
    from tcpcc.queues.pi import PI
    from tcpcc.queues.pie import PIE
    from tcpcc.queues.policer import Policer
    from tcpcc.queues.quick_start_router import QuickStartRouter
    from tcpcc.queues.red import RED
    from tcpcc.queues.rem import REM
    from tcpcc.queues.sfq import SFQ
    from tcpcc.queues.sred import SRED
    from tcpcc.queues.step_mark import StepMark
    from tcpcc.queues.strict_priority import StrictPriority
    from tcpcc.queues.token_bucket import TokenBucket
    from tcpcc.queues.xcp_router import XCPRouter

__all__ = [
    "DRR",
    "FQ",
    "FQPIE",
    "PI",
    "PIE",
    "QUEUES",
    "RED",
    "REM",
    "SFQ",
    "SRED",
    "AdaptiveRED",
    "CoDel",
    "ConnectionRED",
    "Discipline",
    "DropTail",
    "DualPI2",
    "FQCoDel",
    "GilbertElliott",
    "Policer",
    "QueueSpec",
    "QuickStartRouter",
    "StepMark",
    "StrictPriority",
    "TokenBucket",
    "XCPRouter",
]

module_of(QUEUES, __name__)
