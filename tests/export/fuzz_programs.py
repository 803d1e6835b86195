"""Random rules in C beside Python: `python tests/export/fuzz_programs.py COUNT [SEED] [PROCESSES]`.

Draws COUNT programs, compiles each for both targets and compares the bits of all results. Prints
the first program that differs or does not compile; the exit status is 1 then.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
from multiprocessing import Pool
from pathlib import Path

from test_fuzz_programs import AT_ONCE, held


def part(seed: str) -> tuple[str, int, str]:
    """Programs of one seed: the seed, the number of compared calls, what differs."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            return seed, held(random.Random(seed), Path(folder)), ""
        except Exception as error:
            return seed, 0, f"{type(error).__name__}: {error}"


def main(count: int = 10_000, first: int = 1, processes: int = os.cpu_count() or 1) -> None:
    seeds = [f"{first}.{k}" for k in range(-(-count // AT_ONCE))]
    compared = 0
    with Pool(processes) as pool:
        for done, (seed, calls, wrong) in enumerate(pool.imap_unordered(part, seeds), 1):
            if wrong:
                sys.exit(f"seed {seed}: {wrong}")
            compared += calls
            if done % 20 == 0 or done == len(seeds):
                print(f"{done * AT_ONCE} programs, {compared} calls with equal bits", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
