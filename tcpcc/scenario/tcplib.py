"""Conversations from tcplib: TELNET, FTP, NNTP and SMTP traffic of 1991.

Source: P. B. Danzig, S. Jamin, "tcplib: A library of TCP internetwork traffic characteristics",
Technical Report USC-CS-91-495, 1991. tcplib consists of tables of distribution functions measured
at the University of Southern California; values between two entries are uniformly distributed. Each
table in ``tcplib.toml`` has 14 to 30 points of the original (up to 802 points). The error of the
distribution function is at most a few hundredths.

Brakmo and Peterson (JSAC 1995) use it in their protocol TRAFFIC: conversations have exponential
interarrival times; each has one type, its own TCP connection, and parameters drawn from tcplib's
distributions.

Differences from tcplib
    A conversation sends only from the source to the target. The other direction (the echo of a
    TELNET key, FTP's control segments, whose sizes tcplib has) can be a second workload with source
    and target exchanged.
    An item is sent in whole packets. The median TELNET packet has one byte; TELNET therefore has
    packets of 64 bytes, including 40 bytes of header.
    FTP's items follow each other immediately on the conversation's one connection, as in TRAFFIC;
    in FTP each item has its own connection.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from tcpcc.scenario.distributions import Empirical
from tcpcc.scenario.workload import Conversation

SOURCE = "Danzig, Jamin 1991"


def _conversation(name: str, table: dict[str, Any]) -> Conversation:
    for key, value in table.items():
        table[key] = Empirical(*value) if isinstance(value, list) else value
    return Conversation(name=name, **table)


_TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))

TELNET, FTP, NNTP, SMTP = CONVERSATIONS = tuple(_conversation(*entry) for entry in _TABLES.items())
"""The four types, with tcplib's shares of all conversations (other types have the rest)."""
