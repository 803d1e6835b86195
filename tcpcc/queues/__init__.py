"""Queue disciplines, one file each, written like controllers."""

from tcpcc.queues.connection_red import ConnectionRED
from tcpcc.queues.contract import Discipline, QueueSpec, get_queue, queue_names, register
from tcpcc.queues.droptail import DropTail
from tcpcc.queues.red import RED
from tcpcc.queues.sred import SRED

__all__ = [
    "RED",
    "SRED",
    "ConnectionRED",
    "Discipline",
    "DropTail",
    "QueueSpec",
    "get_queue",
    "queue_names",
    "register",
]
