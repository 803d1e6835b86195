"""One line on stderr before a compilation, so that the first run does not seem to hang.

It appears on a terminal and in a notebook only, and once in a process for each subject.
``TCPCC_QUIET=1`` in the environment switches it off. The logger ``tcpcc.engine.announce`` has it in
any case.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import sys

from tcpcc.engine.jit import INTERPRETED
from tcpcc.progress_bars import is_watched

_log = logging.getLogger(__name__)
_printed: set[str] = set()


def compiling(what: str, seconds: float) -> None:
    """Announce that `what` is compiled, for about `seconds`."""
    _say(f"compiling {what}, once: about {seconds:g} s")


def compiling_a_part() -> None:
    """Announce that a single function is compiled, unless a larger compilation is announced."""
    if not _printed:
        _say("compiling new rules, once: some seconds")


def _say(text: str) -> None:
    if text not in _printed:
        _log.info(text)
    if text not in _printed and _should_print():
        print(f"tcpcc: {text}", file=sys.stderr, flush=True)
    _printed.add(text)


def _should_print() -> bool:
    """Whether a person watches this process, and it is not one of several workers."""
    if INTERPRETED or os.environ.get("TCPCC_QUIET", "0") != "0":
        return False
    if multiprocessing.current_process().name != "MainProcess" or sys.stderr is None:
        return False
    return is_watched()
