"""Drop-tail: an arrival at a full buffer is dropped, nothing else is.

The buffer itself belongs to the link, in packets or bytes; it counts the packet being sent, as the
`limit_` of ns-2's DropTail does.
"""

from tcpcc.definition import register
from tcpcc.queues.discipline import Discipline

DropTail = register(
    Discipline(
        name="droptail",
        summary="drop arrivals at a full buffer",
        source="",
    )
)
