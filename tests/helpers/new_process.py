"""Python in a process of its own."""

import os
import subprocess
import sys


def python(*command, ends=0, env=None, **options):
    """Run Python with these arguments until it ends, with this status; what it has printed."""
    done = subprocess.run(
        [sys.executable, *map(str, command)],
        env=os.environ | (env or {}),
        capture_output=True,
        text=True,
        **options,
    )
    assert done.returncode == ends, done.stderr
    return done


def printed(code, *arguments, **options):
    """What a program of Python prints."""
    return python("-c", code, *arguments, **options).stdout
