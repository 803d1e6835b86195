"""Drop-tail: only arrivals at a full buffer are dropped.

The buffer belongs to the link, in packets or bytes, and the link drops: `refuses` in
``models/packet/links/fifo.py``, `overflow` in ``models/fluid/fluid_overflow.py``. It counts the
packet being sent, as `limit_` of ns-2's DropTail does.
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
