"""All that `make reproduce` makes, under one progress bar."""

from __future__ import annotations

import io
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

from experiments import execute, harness
from tcpcc import cli, progress_bars

HERE = Path(__file__).parents[1]


class Step(NamedTuple):
    """A step, and how long it takes.

    Args:
        title: what it makes.
        run: makes it; returns an exit code.
        minutes: on two cores, for each of its progress bars.
        shows: whether its output is shown at the end.
    """

    title: str
    run: Callable[[], int | None]
    minutes: Sequence[float]
    shows: bool = False


def _command(*arguments: str) -> Callable[[], int]:
    return lambda: cli.main(["reproduce", *arguments])


def _notebooks() -> None:
    os.environ["TCPCC_QUICK"] = "0"  # all seeds, as without a notebook
    execute.main([str(HERE / f"notebooks/{name}.ipynb") for name in harness.papers()])


STEPS = (
    Step(
        "six papers from packets and fluid",
        _command("--figures", "--scorecard", "docs/scorecard.md", "--readme", "README.md"),
        (0.2, 7.9),
        shows=True,
    ),
    Step("their notebooks", _notebooks, (0.9,)),
)


class _Above(io.TextIOBase):
    """Writes lines above the bar."""

    def write(self, text: str) -> int:
        from tqdm import tqdm

        tqdm.write(text, file=sys.__stderr__, end="")
        return len(text)


def main(steps: Sequence[Step] = STEPS) -> int:
    """Run the steps in turn; returns the exit code of the first that fails, else 0."""
    os.chdir(HERE)
    whole = sum(sum(step.minutes) for step in steps)
    print(
        f"{len(steps)} steps, about {whole:.0f} minutes on two cores; what an interrupted run has"
    )
    print("finished is kept in .cache/", flush=True)
    summary = ""
    quiet = warnings.catch_warnings(action="ignore")
    with quiet, progress_bars.overall(whole) as bar, redirect_stderr(_Above()):
        for number, step in enumerate(steps, 1):
            title = f"{number} of {len(steps)}: {step.title}"
            bar.begin(title, step.minutes)
            if not sys.__stderr__ or not sys.__stderr__.isatty():
                print(f"{title}, about {sum(step.minutes):.0f} minutes", flush=True)
            with redirect_stdout(io.StringIO()) as out:
                code = step.run()
            if code:
                return code
            if step.shows:  # its last table, not the sample at its beginning
                summary += out.getvalue().rpartition("\n\n")[2]
        bar.begin("done", ())
    print(summary)
    print("make docs builds a page per paper")
    return 0


if __name__ == "__main__":
    sys.exit(main())
