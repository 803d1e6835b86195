"""The records of conversations and their items, the same in all models."""

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
#: `limit`: packets that the connection sends up to the end of the item. `begun`, `done`: when it
#: was handed over and when all of it was acknowledged, s; NaN before.
ITEM = record_dtype({"limit": int, "gap": float, "begun": float, "done": float})

conversation_at = accessor(CONVERSATION)
item_at = accessor(ITEM)
stream_at = accessor(record_dtype(STREAM_FIELDS))


@compiled
def copy_words(target, source, count):
    """Copy words of 8 bytes between addresses."""
    for i in range(count):
        index_at(target, i).at = index_at(source, i).at
