"""Execute notebooks in place: ``python -m experiments.execute notebooks/*.ipynb``.

Execution times are not written, so a notebook with the same outputs does not change.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tqdm.auto import tqdm

from tcpcc.files import whole_file

TIMEOUT = 900  # s per cell


def without_times(book: Any) -> Any:
    """The notebook without the times at which its cells ran."""
    for cell in book.cells:
        cell.metadata.pop("execution", None)
    return book


def execute(path: Path) -> None:
    """Execute a notebook in its own folder and write it with its outputs.

    Raises:
        nbclient.exceptions.CellExecutionError: a cell failed; the file is unchanged.
    """
    import nbclient
    import nbformat

    book = nbformat.read(path, as_version=4)
    folder = {"metadata": {"path": str(path.parent)}}
    client = nbclient.NotebookClient(book, timeout=TIMEOUT, resources=folder, record_timing=False)
    client.execute()
    with whole_file(path) as part:
        nbformat.write(without_times(book), part)


def main(paths: Sequence[str]) -> None:
    os.environ["TCPCC_QUIET"] = "1"  # no line about compilation among the outputs
    with tqdm(paths, "notebooks", unit="notebook") as bar:
        for path in bar:
            bar.set_postfix_str(Path(path).stem)
            execute(Path(path))


if __name__ == "__main__":
    main(sys.argv[1:])
