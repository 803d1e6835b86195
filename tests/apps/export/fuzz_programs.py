"""Random rules in C: `python tests/apps/export/fuzz_programs.py COUNT [SEED [PROCESSES [TARGET]]]`.

Draws COUNT programs. With TARGET = bits, the default, compiles each for both targets and compares
the bits of all results with Python's. With TARGET = bpf, compiles each whole file with clang for
BPF and runs nothing. Prints the first program that differs or does not compile; the exit status is
1 then.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
from functools import partial
from multiprocessing import Pool
from pathlib import Path

from test_fuzz_programs import AT_ONCE, compiled_for_bpf, held

CHECKS = {
    "bits": (held, "calls with equal bits"),
    "bpf": (compiled_for_bpf, "files compiled for BPF"),
}


def part(target: str, seed: str) -> tuple[str, int, str]:
    """Programs of one seed: the seed, the number of checks, what is wrong."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            return seed, CHECKS[target][0](random.Random(seed), Path(folder)), ""
        except Exception as error:
            return seed, 0, f"{type(error).__name__}: {error}"


def main(
    count: int | str = 10_000,
    first: int | str = 1,
    processes: int | str = os.cpu_count() or 1,
    target: str = "bits",
) -> None:
    seeds = [f"{first}.{k}" for k in range(-(-int(count) // AT_ONCE))]
    checked = 0
    with Pool(int(processes)) as pool:
        for done, (seed, n, wrong) in enumerate(
            pool.imap_unordered(partial(part, target), seeds), 1
        ):
            if wrong:
                sys.exit(f"seed {seed}: {wrong}")
            checked += n
            if done % 20 == 0 or done == len(seeds):
                print(f"{done * AT_ONCE} programs, {checked} {CHECKS[target][1]}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
