"""Names of compiled functions: a record's part in them is its layout.

Numba writes the number that this process has given to the record. Another process gives it to
another one, so that two functions would have one name. If both are loaded, one gets the calls of
the other.
"""

from __future__ import annotations

from typing import Any

import numba

from tcpcc.engine.framing import digest

TELL_RECORDS_APART = hasattr(numba.types.Record, "mangling_args")
"""Whether this Numba asks a record for its part; if not, no machine code is stored."""


def layout(record: Any) -> str:
    """A record type's fields and their places, as 16 letters."""
    return digest(record.name)[:16]


numba.types.Record.mangling_args = property(lambda r: (type(r).__name__, (layout(r),)))
