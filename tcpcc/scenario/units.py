"""Numbers with units: plain numbers are in SI units, strings such as "10 Mbps" are converted.

Case matters, as in the SI: "Mb/s" is megabits per second; "MB/s" is not accepted. 1 kB (or KB) is
1000 bytes and 1 KiB is 1024. The arithmetic is decimal, so "20 ms" is exactly the float 0.02.

A plain rate of at most 1000 bit/s and a plain propagation delay of at least 5 s give a warning, as
their units are probably missing; "500 bit/s" gives none.
"""

from __future__ import annotations

import difflib
import math
import re
import sys
from collections.abc import Mapping
from decimal import Decimal
from numbers import Real
from typing import Any

from tcpcc.errors import ScenarioError, real, warn

Quantity = float | str
"""A number in SI units, or a string of a number and a unit."""

LARGEST = sys.float_info.max
LEAST_RATE, LARGEST_DELAY = 1000, 5.0
"""bit/s and s: plain numbers beyond these are probably meant in other units."""
IF_BOTH = 10_000, 1.0
"""The same, where a rate and a delay are beyond these together."""

_RATES = {"bit/s": 1, "kbit/s": 10**3, "Mbit/s": 10**6, "Gbit/s": 10**9, "Tbit/s": 10**12}
_TIMES = {"s": "1", "ms": "1e-3", "us": "1e-6", "ns": "1e-9", "min": "60", "h": "3600"}
_BYTES = {"B": 1, "kB": 10**3, "KiB": 2**10, "MB": 10**6, "MiB": 2**20, "GB": 10**9, "GiB": 2**30}
_PACKETS = {"packets": 1}

_ALIASES = {
    "packets": "packet pkt pkts",
    "B": "byte bytes",
    "kB": "KB",
    "s": "sec second seconds",
    "us": "µs μs",
    "min": "minute minutes",
    "h": "hour hours",
    "bit/s": "bps b/s bits/s",
    "kbit/s": "kbps kb/s kbits/s Kbps Kb/s Kbit/s",
    "Mbit/s": "Mbps Mb/s Mbits/s",
    "Gbit/s": "Gbps Gb/s Gbits/s",
    "Tbit/s": "Tbps Tb/s Tbits/s",
}
_SPELLINGS = {alias: unit for unit, aliases in _ALIASES.items() for alias in aliases.split()}
_OTHER = {  # spellings that are not accepted, and what they mean
    **dict.fromkeys(("msec", "msecs", "millisec", "millisecond", "milliseconds", "millis"), "ms"),
    **dict.fromkeys(("usec", "usecs", "microsec", "microsecond", "microseconds", "micros"), "us"),
    **dict.fromkeys(("nsec", "nsecs", "nanosecond", "nanoseconds"), "ns"),
    **dict.fromkeys(("hr", "hrs"), "h"), **dict.fromkeys(("mins",), "min"),
    "secs": "s", "segments": "packets",
}  # fmt: skip
_BYTE_RATE = re.compile(r"([kKMGT]?)(i?)(?:B|[bB]ytes?|o)(?:ps|/s|/sec|/second)")
_BITS = re.compile(r"([kKMGT]?)(i?)(?:b|[bB]its?)")
_PREFIX = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_NUMBER_AND_UNIT = re.compile(
    r"([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d{1,3}(?!\d))?|[-+]?inf)\s*(.*)", re.IGNORECASE
)


class Checked(float):
    """A number that a setting kept, so it is in SI units."""


def doubtful(
    rates: Mapping[str, Any], delays: Mapping[str, Any]
) -> dict[str, tuple[float, str, str]]:
    """The plain numbers that look as if they were meant in other units than bit/s and s.

    Args:
        rates, delays: name -> a valid rate or propagation delay.

    Returns:
        name -> (number, its unit, the unit that was probably meant).
    """
    plain_rates, plain_delays = (
        {
            name: float(value)
            for name, value in values.items()
            if isinstance(value, Real) and not isinstance(value, bool | Checked)
        }
        for values in (rates, delays)
    )
    if not plain_rates and not plain_delays:
        return {}
    least, largest = IF_BOTH
    low = any(0 < v <= least for v in plain_rates.values())
    if not (low and any(largest <= v < math.inf for v in plain_delays.values())):
        least, largest = LEAST_RATE, LARGEST_DELAY
    return {k: (v, "bit/s", "Mbps") for k, v in plain_rates.items() if 0 < v <= least} | {
        k: (v, "s", "ms") for k, v in plain_delays.items() if largest <= v < math.inf
    }


def look_for_units(rates: Mapping[str, Any], delays: Mapping[str, Any], of: str = "") -> None:
    """Warn if units are probably missing; `of` stands before the names."""
    if (rates or delays) and (odd := doubtful(rates, delays)):
        text = ", ".join(f"{of}{name} = {v:g} {unit}" for name, (v, unit, _) in odd.items())
        write = ", ".join(f'"{v:g} {meant}"' for v, _, meant in odd.values())
        warn(f"{text}: are units missing? write {write}")


def rate(value: Quantity, field: str = "rate") -> float:
    """A rate in bit/s: 1e7, "10 Mbps", "10 Mb/s", "10 Mbit/s".

    Args:
        value: a number in bit/s, or a string with a unit.
        field: name of the setting, for the error.

    Raises:
        ScenarioError: the value is not a number, or its unit is not a unit of rate.
    """
    return _convert(value, field, _RATES, "bit/s", "10 Mbps")[0]


def seconds(value: Quantity, field: str = "time") -> float:
    """A time in s: 0.02, "20 ms", "1 min". Arguments and errors as in `rate`."""
    return _convert(value, field, _TIMES, "s", "20 ms")[0]


def size_bytes(value: Quantity, field: str = "size") -> float:
    """A size in bytes: 64000, "64 kB", "64 KiB". Arguments and errors as in `rate`."""
    return _convert(value, field, _BYTES, "bytes", "64 kB")[0]


def packets_or_bytes(value: Quantity, field: str = "buffer") -> tuple[float, str]:
    """An amount of data and its unit, "packets" or "bytes".

    A bare number counts packets: 50 and "50 packets" give (50.0, "packets"), "64 kB" gives
    (64000.0, "bytes"). Arguments and errors as in `rate`.
    """
    number, unit = _convert(value, field, _PACKETS | _BYTES, "packets", "50 packets")
    return number, "bytes" if unit in _BYTES else "packets"


def _convert(
    value: Quantity, field: str, table: Mapping[str, int | str], base: str, example: str
) -> tuple[float, str]:
    """The value in the table's base unit, and the unit in which it was written."""
    if not isinstance(value, str):
        if type(value) in (float, int) and -LARGEST <= value <= LARGEST:  # fast path
            return float(value) + 0.0, base
        return real(field, value, f"a number or a string such as '{example}'", base), base
    allowed = ", ".join(table)
    match = _NUMBER_AND_UNIT.fullmatch(value.strip())
    if match is None:
        raise ScenarioError(
            f"{field} = {value!r}: must be a number and a unit, such as '{example}'"
        )
    number, written = match.groups()
    unit = _SPELLINGS.get(written, written)
    if not unit and "inf" in number.lower():
        unit = next(iter(table))
    if not unit:
        raise ScenarioError(f"{field} = {value!r}: has no unit; allowed units: {allowed}")
    if unit not in table:
        hint = _hint(number, written, table)
        raise ScenarioError(
            f"{field} = {value!r}: {written!r} is not a unit of {field}{hint} "
            f"allowed units: {allowed}"
        )
    return float(Decimal(number) * Decimal(table[unit])), unit


def _hint(number: str, written: str, table: Mapping[str, int | str]) -> str:
    """What may have been meant by an unknown unit, with a semicolon before it.

    A suggestion never has another scale: bytes are not offered for bits, nor seconds for ms.
    """
    for base, pattern, factor, units, what in (
        ("bit/s", _BYTE_RATE, 8, _RATES, "rates are in bits, not bytes"),
        ("B", _BITS, 1 / 8, _BYTES, "sizes are in bytes, not bits"),
    ):
        if base in table and (match := pattern.fullmatch(written)):
            prefix, binary = match.groups()
            power = "kMGT".find(prefix.replace("K", "k")) + 1
            amount = float(number) * factor * (1024**power if binary else _PREFIX[prefix])
            return f": {what}; that would be {_shown(amount, units)!r};"
    if "B" in table and written.lower() == "bdp":
        return ": only dumbbell, chain and parking_lot know the path whose BDP it is;"
    meant = _OTHER.get(written.lower())
    if meant in table:
        return f"; did you mean {meant!r}?"
    spellings = [*table, *(k for k, v in _SPELLINGS.items() if v in table)]
    same_letters = [k for k in spellings if k.lower() == written.lower()]
    near = same_letters or [
        k for k in difflib.get_close_matches(written, spellings, n=5) if k[:1] == written[:1]
    ]
    return f"; did you mean {near[0]!r}?" if near else ";"


def _shown(value: float, table: Mapping[str, int]) -> str:
    """A value with the largest decimal unit that leaves at least 1."""
    fitting = [u for u, scale in table.items() if scale <= max(value, 1) and not u.endswith("iB")]
    unit = fitting[-1]
    return f"{value / table[unit]:g} {unit}"
