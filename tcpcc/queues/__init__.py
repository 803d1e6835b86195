"""The queue disciplines by name, one file each; ``tc.queues()`` is a table of them.

A link takes one with its parameters: ``tc.dumbbell(..., queue=tc.queues.RED(min_thresh=5))``.
"""

from tcpcc.definition import module_of
from tcpcc.engine.subset import trusted
from tcpcc.queues.discipline import QUEUES as QUEUES
from tcpcc.queues.discipline import Discipline as Discipline
from tcpcc.queues.discipline import QueueSpec as QueueSpec

with trusted():
    from tcpcc.queues.adaptive_red import AdaptiveRED as AdaptiveRED
    from tcpcc.queues.codel import CoDel as CoDel
    from tcpcc.queues.connection_red import ConnectionRED as ConnectionRED
    from tcpcc.queues.droptail import DropTail as DropTail
    from tcpcc.queues.drr import DRR as DRR
    from tcpcc.queues.dualpi2 import DualPI2 as DualPI2
    from tcpcc.queues.fq import FQ as FQ
    from tcpcc.queues.fq_codel import FQCoDel as FQCoDel
    from tcpcc.queues.fq_pie import FQPIE as FQPIE
    from tcpcc.queues.gilbert_elliott import GilbertElliott as GilbertElliott
    from tcpcc.queues.pi import PI as PI
    from tcpcc.queues.pie import PIE as PIE
    from tcpcc.queues.policer import Policer as Policer
    from tcpcc.queues.quick_start_router import QuickStartRouter as QuickStartRouter
    from tcpcc.queues.red import RED as RED
    from tcpcc.queues.rem import REM as REM
    from tcpcc.queues.sfq import SFQ as SFQ
    from tcpcc.queues.sred import SRED as SRED
    from tcpcc.queues.step_mark import StepMark as StepMark
    from tcpcc.queues.strict_priority import StrictPriority as StrictPriority
    from tcpcc.queues.token_bucket import TokenBucket as TokenBucket
    from tcpcc.queues.xcp_router import XCPRouter as XCPRouter

module_of(QUEUES, __name__)
