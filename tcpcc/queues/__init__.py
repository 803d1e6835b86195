"""Queue disciplines, one file each, written like controllers."""

from tcpcc.queues.contract import Discipline, QueueSpec, get_queue, queue_names, register
from tcpcc.queues.droptail import DropTail
from tcpcc.queues.red import RED

__all__ = ["RED", "Discipline", "DropTail", "QueueSpec", "get_queue", "queue_names", "register"]
