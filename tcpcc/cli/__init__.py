"""The ``tcpcc`` command. Each verb has a module in `commands`; `options` has what they share.

A user's error gives one line on stderr and exit code 2; an evaluation or a trace that fails has
exit code 1.
Ctrl-C prints one line on what is finished and exits with 130. Results go to stdout, progress bars
and notes to stderr.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from tcpcc.errors import TcpccError

USER_ERROR, INTERRUPTED = 2, 130

COMMANDS = (
    "list", "new", "run", "show", "sweep", "compare",
    "evaluate", "attack", "judge",
    "export", "web", "kernel",
    "reproduce", "bench",
)  # fmt: skip
"""The verbs by use. The first line of a module's docstring is its help."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    options = argparse.Namespace()
    code = None
    try:
        options = parser().parse_args(arguments)
        code = options.command(options)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as head, has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (TcpccError, OSError) as error:
        print(f"tcpcc: {' '.join(str(error).split())}", file=sys.stderr)
        return USER_ERROR
    except KeyboardInterrupt as error:
        print(f"tcpcc: {str(error) or _interrupted(options)}", file=sys.stderr)
        return INTERRUPTED
    return code or 0


def _interrupted(options: argparse.Namespace) -> str:
    """What is left of an interrupted command."""
    cache = getattr(options, "cache", None)
    if cache:
        return f"interrupted; finished runs are kept in {cache}; run it again to resume"
    if hasattr(options, "cache"):
        return "interrupted; nothing is kept; with --cache FOLDER finished runs would be"
    return "interrupted; no result was saved"


def parser() -> argparse.ArgumentParser:
    from tcpcc import __version__

    top = argparse.ArgumentParser(
        prog="tcpcc",
        description="Simulate TCP congestion control: an algorithm is written once for all models.",
    )
    top.add_argument("--version", action="version", version=f"tcpcc {__version__}")
    top.add_argument(
        "--completion", action=_Completion, choices=["bash", "zsh", "tcsh"],
        help='print a shell completion script; use: eval "$(tcpcc --completion bash)"',
    )  # fmt: skip
    commands = top.add_subparsers(required=True, metavar="command")
    for name in COMMANDS:
        module = import_module(f"tcpcc.cli.commands.{name}_command")
        text = (module.__doc__ or "").split("\n\n")[0].replace("\n", " ").replace("%", "%%")
        sub = commands.add_parser(name, help=text, description=text)
        sub.set_defaults(command=module.run)
        module.arguments(sub)
    return top


class _Completion(argparse.Action):
    """Print a completion script and exit."""

    def __call__(self, parser: argparse.ArgumentParser, _: Any, shell: Any, __: Any = None) -> None:
        import shtab

        print(shtab.complete(parser, shell=shell))
        parser.exit()
