"""Export of controllers to other systems: C for user space, and BPF for Linux.

A controller's rules are translated, not written again: :mod:`tcpcc.apps.export.translate` reads
them, :mod:`tcpcc.apps.export.c_writer` writes C, and the results have the same bits.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tcpcc.controllers.controller import CONTROLLERS, Controller
from tcpcc.errors import ScenarioError, flag, one_of
from tcpcc.files import whole_file

if TYPE_CHECKING:
    import pandas as pd

    from tcpcc.slow_start import StartUp

TARGETS = ("c", "bpf")

__all__ = ["TARGETS", "export", "exportable", "files"]


def export(
    controller: str | Controller,
    to: str = "c",
    folder: str | os.PathLike[str] = ".",
    *,
    slow_start: str | StartUp = "standard",
    params: Mapping[str, float] | None = None,
    glue: bool = False,
) -> list[Path]:
    """Write a controller's rules as C, for programs in user space or for the kernel of Linux.

    Args:
        controller: name, or the definition.
        to: "c" writes NAME.h and NAME.c: plain doubles, nothing beyond math.h. "bpf" writes
            NAME.bpf.c, which clang compiles and `bpftool struct_ops register` loads.
        folder: existing folder for the files; files of the same names are replaced.
        slow_start: name of a slow-start rule, or the definition; "standard": the controller's own
            start, whatever its default in a `Flow` is.
        params: values of parameters; default values for the rest. Constants in BPF, in C what
            `NAME_defaults` has.
        glue: with "c" also write NAME_glue.h and NAME_glue.c, which take the events of a stack
            in bytes and microseconds, fill the sample and call the rules.

    Returns:
        The files.

    Raises:
        ScenarioError: an unknown name, or a rule that the target cannot have; one line with the
            rule and the line of its file.
        OSError: a file cannot be written.
    """
    texts = files(controller, to, slow_start=slow_start, params=params, glue=glue)
    paths = []
    for name, text in texts.items():
        paths.append(Path(folder) / name)
        with whole_file(paths[-1]) as part:
            part.write_text(text, encoding="utf-8")
    return paths


def files(
    controller: str | Controller,
    to: str = "c",
    *,
    slow_start: str | StartUp = "standard",
    params: Mapping[str, float] | None = None,
    glue: bool = False,
) -> dict[str, str]:
    """The files that :func:`export` writes: name -> text."""
    from tcpcc.apps.export import linux_bpf, userspace_c
    from tcpcc.slow_start.start_up import SLOW_STARTS, composed

    one_of("target", to, known=TARGETS)
    algorithm = composed(CONTROLLERS.find(controller), SLOW_STARTS.find(slow_start))
    values = algorithm.check(params or {})
    if to == "c":
        return userspace_c.sources(algorithm, values, with_glue=flag("glue", glue))
    if glue:
        raise ScenarioError("glue = True: only for the target 'c'; Linux calls the rules itself")
    return {f"{userspace_c.identifier(algorithm.name)}.bpf.c": linux_bpf.source(algorithm, values)}


def exportable() -> pd.DataFrame:
    """All registered controllers with "yes", or why not, for each target."""
    import pandas as pd

    return pd.DataFrame(
        [
            {"controller": name, **{to: _whether(controller, to) for to in TARGETS}}
            for name, controller in CONTROLLERS.items()
        ]
    )


def _whether(controller: Controller, to: str) -> str:
    from tcpcc.apps.export import linux_bpf, userspace_c

    values = controller.check({})
    try:
        (userspace_c.sources if to == "c" else linux_bpf.rules)(controller, values)
    except ScenarioError as error:
        text = str(error).removeprefix(f"controller {controller.name!r}")
        return text.partition(": cannot be exported to ")[0].lstrip(",: ")
    return "yes"
