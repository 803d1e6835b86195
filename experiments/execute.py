"""Execute notebooks in place, several at once: ``python -m experiments.execute notebooks/*.ipynb``.

A notebook whose results are the same does not change: what differs by chance from run to run is
not written (:func:`reproducible`).
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import warnings
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any
from uuid import UUID

from tcpcc.files import whole_file
from tcpcc.progress_bars import bar

TIMEOUT = 900  # s per cell
AT_ONCE = 4  # notebooks, at most; each has a process of its own, of up to a gigabyte
RANDOM_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
WARNING = re.compile(r"^\S+:\d+: (\w*Warning: .*\n)(?: .*\n)?", re.MULTILINE)
MEASURED = "measured"


def joined(outputs: Sequence[Any]) -> list[Any]:
    """The outputs of a cell; text that a cell prints in a row is one output."""
    result: list[Any] = []
    for output in outputs:
        last = result[-1] if result else {}
        if output.output_type == "stream" and output.get("name") == last.get("name"):
            last["text"] += output["text"]
        else:
            result.append(output)
    return result


def reproducible(book: Any, before: Sequence[Any]) -> Any:
    """The notebook without what differs between two runs with the same results.

    These are the times of execution, the pieces in which text was printed, the place in the code
    that warns (a path of this machine), and the random identifiers in HTML, which are numbered
    instead. A cell with the tag "measured" shows times of
    the machine; it keeps the outputs that it had, unless it had none.

    Args:
        book: the executed notebook; it is changed.
        before: the outputs of each cell before the execution.
    """
    numbers: dict[str, str] = {}

    def numbered(match: re.Match[str]) -> str:
        return numbers.setdefault(match[0], str(UUID(int=len(numbers))))

    for cell, old in zip(book.cells, before, strict=True):
        cell.metadata.pop("execution", None)
        if cell.cell_type != "code":
            continue
        if MEASURED in cell.metadata.get("tags", []) and old:
            cell.outputs = old
        cell.outputs = joined(cell.outputs)
        for output in cell.outputs:
            if output.get("name") == "stderr":
                output["text"] = WARNING.sub(r"\1", output["text"])
            if "text/html" in output.get("data", {}):
                output.data["text/html"] = RANDOM_ID.sub(numbered, output.data["text/html"])
    return book


def execute(path: Path) -> None:
    """Execute a notebook in its own folder and write it with its outputs.

    Raises:
        nbclient.exceptions.CellExecutionError: a cell failed; the file is unchanged.
    """
    import nbclient
    import nbformat

    book = nbformat.read(path, as_version=4)
    before = [cell.get("outputs", []) for cell in book.cells]
    folder = {"metadata": {"path": str(path.parent)}}
    client = nbclient.NotebookClient(book, timeout=TIMEOUT, resources=folder, record_timing=False)
    with tempfile.TemporaryFile() as log, warnings.catch_warnings(action="ignore"):
        try:
            client.execute(stderr=log)  # what the kernel itself prints, such as hints of a debugger
        except nbclient.exceptions.DeadKernelError:
            log.seek(0)
            print(log.read().decode(errors="replace"), file=sys.stderr)
            raise
    with whole_file(path) as part:
        nbformat.write(reproducible(book, before), part)


def main(paths: Sequence[str]) -> None:
    os.environ["TCPCC_QUIET"] = "1"  # no line about compilation among the outputs
    with ProcessPoolExecutor(min(AT_ONCE, os.cpu_count() or 1)) as pool:
        tasks = [pool.submit(execute, Path(path)) for path in paths]
        try:
            with bar(len(tasks), title="notebooks", unit="notebook") as progress:
                for task in as_completed(tasks):
                    task.result()
                    progress.update()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


if __name__ == "__main__":
    main(sys.argv[1:])
