"""Queue disciplines, one file each, written like controllers."""

from tcpcc.definition import callable_module
from tcpcc.queues.adaptive_red import AdaptiveRED
from tcpcc.queues.connection_red import ConnectionRED
from tcpcc.queues.discipline import QUEUES, Discipline, QueueSpec
from tcpcc.queues.droptail import DropTail
from tcpcc.queues.pi import PI
from tcpcc.queues.pie import PIE
from tcpcc.queues.red import RED
from tcpcc.queues.rem import REM
from tcpcc.queues.sred import SRED
from tcpcc.queues.step_mark import StepMark

__all__ = [
    "PI",
    "PIE",
    "QUEUES",
    "RED",
    "REM",
    "SRED",
    "AdaptiveRED",
    "ConnectionRED",
    "Discipline",
    "DropTail",
    "QueueSpec",
    "StepMark",
]

callable_module(__name__, QUEUES.table)
