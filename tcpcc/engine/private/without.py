"""What an unknown version of Numba gets: its public decorators, and its own cache.

Functions that are only parts of others are optimised and loaded, too, so that compilation takes
longer; loading takes 0.4 s more.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tcpcc.engine.private.symbols import TELL_RECORDS_APART

PART: dict[str, Any] = {}


def is_inlined(function: Any) -> bool:
    """Whether a function of an engine is inlined by force: only if a function is passed to it,
    since Numba does not store code with the address of that. LLVM decides on others."""
    return any("Callable" in str(kind) for kind in function.__annotations__.values())


def keep(
    dispatcher: Any,
    folder: Path,
    prepare: Callable[[], None],
    serialize: Callable[[Callable[[Any], Any]], Callable[[Any], Any]],
    cannot_write: Callable[[OSError], None],
) -> None:
    """As `stored_code.keep`. Numba keeps machine code beside the file that a function is from,
    until that file changes; here this is an empty file in `folder`."""
    file = folder / "code.py"
    function = dispatcher.py_func
    function.__code__ = function.__code__.replace(co_filename=str(file))
    try:
        if not file.exists():  # its time would count as a change
            file.touch()
        if TELL_RECORDS_APART:
            dispatcher.enable_caching()
    except OSError as error:
        cannot_write(error)
    prepare_first(dispatcher, prepare)
    dispatcher.compile = serialize(dispatcher.compile)


def prepare_first(dispatcher: Any, prepare: Callable[[], None]) -> None:
    """Call `prepare` before each compilation, not at once: functions that this one calls may be
    defined after it."""
    compile_signature = dispatcher.compile

    def compile_prepared(signature: Any) -> Any:
        prepare()
        return compile_signature(signature)

    dispatcher.compile = compile_prepared
