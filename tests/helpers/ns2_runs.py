"""Runs of ns-2's scripts in `tests/external/ns2`."""

import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[1] / "external" / "ns2"
needs_ns2 = pytest.mark.skipif(shutil.which("ns") is None, reason="ns-2 is not installed")


def words(text):
    """The words of each line that has some."""
    return [line.split() for line in text.splitlines() if line.strip()]


def run(script, *arguments):
    """What a script prints, and what it writes to stderr, as words of lines."""
    command = ["ns", str(SCRIPTS / script), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return words(done.stdout), words(done.stderr)
