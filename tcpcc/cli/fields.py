"""The fields that rules may read and set, as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


def fields() -> pd.DataFrame:
    """All fields, with columns `rules of` ("controller" or "queue"), `field`, `unit`, `meaning`.

    A field's name begins with the record: `s` is the state, `ack` the sample of a controller or a
    slow start, `q` that of a queue discipline.
    """
    import pandas as pd

    from tcpcc.controllers import controller
    from tcpcc.definition import WORDS
    from tcpcc.queues import discipline

    state = {name: (unit, text) for name, (_, unit, text) in controller.WINDOW.items()}
    state |= controller.GROUP
    acks = {name: (unit, text) for name, (unit, text, _) in controller.SAMPLE.items()}
    rows = [
        *(("controller", f"s.{name}", *facts) for name, facts in state.items()),
        *(("controller", f"ack.{name}", *facts) for name, facts in acks.items()),
        *(("queue", f"q.{name}", *facts) for name, facts in discipline.SAMPLE.items()),
        *(("queue", f"q.{name}[i]", *facts) for name, facts in discipline.EACH.items()),
    ]
    table = pd.DataFrame(rows, columns=["rules of", "field", "unit", "meaning"])
    first, last = WORDS[0], WORDS[-1]
    more = table["field"].str.split(".").str[1].isin(WORDS[1:])
    table = table[~more].reset_index(drop=True)
    table["field"] = table["field"].str.replace(first, f"{first} ... {last}")
    table["meaning"] = table["meaning"].str.replace("``", "`")
    return table
