"""The records of conversations and of the items of connections, the same in all models."""

from tcpcc.engine.jit import accessor, compiled, index_at, record_dtype
from tcpcc.engine.streams import STREAM_FIELDS

#: `kind`: number of its kind among those of all workloads. `first`: its first item; the items of
#: a conversation are contiguous. `place`: where its connection is while it is open, else -1.
CONVERSATION = record_dtype(
    {
        "start": float, "kind": int, "first": int, "items": int,
        "place": int, "timeouts": int, "loss_events": int,
    }
)  # fmt: skip
ENDLESS = 2**62  # packets of a flow or an item without a size
#: `limit`: packets that the connection sends up to the end of the item. `gap`: time before the item
#: is handed over; what it counts from is in the flow's `waits`. `begun`, `done`: when it was handed
#: over and when all of it was acknowledged, s; NaN before.
ITEM = record_dtype({"limit": int, "gap": float, "begun": float, "done": float})

#: A flow's `waits`: the next item follows the item before, or the ACK of its last packet, or has an
#: event of its own.
AFTER_ITEM, AFTER_ACK, ON_ITS_OWN = range(3)

conversation_at = accessor(CONVERSATION)
item_at = accessor(ITEM)
stream_at = accessor(record_dtype(STREAM_FIELDS))


@compiled
def copy_words(target, source, count):
    """Copy words of 8 bytes between addresses."""
    for i in range(count):
        index_at(target, i).at = index_at(source, i).at
