"""A full disk: one line with the file and its size, no crash, and the results stay in memory.

A limit on the size of files stands in for the disk: writes fail in the same way.
"""

import os
import re
from contextlib import nullcontext
from pathlib import Path

import factories
import numpy as np
import pytest
from full_disk import files_of_at_most
from h5netcdf import File
from new_process import python

import tcpcc as tc
from tcpcc.files import DiskFullError, whole_file
from tcpcc.results import netcdf, run_store
from tcpcc.results.hdf5_file import UnfailingFile

resource = pytest.importorskip("resource")


SAVE = """
import resource, sys
import numpy as np, tcpcc as tc
from tcpcc.files import DiskFullError

net = tc.dumbbell("10 Mbps", "20 ms", 30)
scenario = tc.Scenario(net, [tc.Flow("reno")], duration=60, interval=0.01)
run = tc.simulate(scenario, trace=sys.argv[1] == "trace")
run.save("good.nc")
before = run.data.copy(deep=True)
for size in (100_000, 10_000, 0):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, -1))
    try:
        run.save("full.nc")
    except DiskFullError as error:
        print("DiskFullError", error)
    assert run.data.identical(before)
"""


@pytest.mark.long
@pytest.mark.parametrize("trace", ["plain", "trace"])
def test_save_ends_in_one_line_with_the_size_of_the_file(trace, tmp_path):
    path = {"PYTHONPATH": str(Path(tc.__file__).parents[1])}
    done = python("-c", SAVE, trace, cwd=tmp_path, env=path, timeout=120)
    said = r"DiskFullError full\.nc: .*: the file needs (.*) (.iB), .* are free"
    found = [re.fullmatch(said, line) for line in done.stdout.splitlines()]
    good = (tmp_path / "good.nc").stat().st_size
    sizes = [float(each[1]) * {"KiB": 2**10, "MiB": 2**20}[each[2]] for each in found]
    assert sizes == pytest.approx([good] * 3, rel=0.02)
    assert done.stderr == ""
    assert os.listdir(tmp_path) == ["good.nc"]


def test_a_streamed_run_ends_in_one_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    parts = [factories.run().data for _ in range(3)]
    text = r"^part\.nc: .*: the file needs .*, .* are free$"
    with pytest.raises(DiskFullError, match=text), files_of_at_most(5_000):
        netcdf.save_parts("part.nc", parts)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("limit", [0, 1, 500, 5_000, 12_000, 1_000_000])
def test_hdf5_reads_back_what_it_has_written_past_the_end_of_the_disk(limit, tmp_path):
    """Otherwise it fails while it closes the file, and takes the process with it."""
    values = np.arange(2000.0)
    path = tmp_path / "x.nc"
    context = pytest.raises(OSError, match="too large") if limit < 20_000 else nullcontext()
    with context, files_of_at_most(limit), UnfailingFile(path) as sink:
        with File(sink, "w") as file:
            file.dimensions = {"x": None}
            variable = file.create_variable("a", ("x",), float, chunks=(50,))
            for begin in range(0, 2000, 100):
                file.resize_dimension("x", begin + 100)
                variable[begin : begin + 100] = values[begin : begin + 100]
        with File(sink, "r") as file:
            assert np.array_equal(file.variables["a"][:], values)


def test_a_full_disk_says_how_large_the_file_is_in_every_format(tmp_path):
    run = factories.run(events=factories.events())
    with files_of_at_most(100):
        for write in (run.to_csv, run.save, lambda path: run_store.put(path, run)):
            with pytest.raises(DiskFullError, match=r"file: .*: the file needs .*, .* are free$"):
                write(tmp_path / "file")
        with pytest.raises(DiskFullError), whole_file(tmp_path / "file") as part:
            part.write_bytes(bytes(1000))
    assert os.listdir(tmp_path) == []


def test_a_sweep_with_a_full_cache_keeps_every_run(tmp_path):
    cases = [factories.scenario([tc.Flow("reno")], seed=s, duration=20) for s in (1, 2, 3)]
    with files_of_at_most(2_000), pytest.warns(RuntimeWarning, match="a run is not saved") as seen:
        runs = tc.sweep(cases, cache=tmp_path, jobs=1)
    assert [run.data.attrs["seed"] for run in runs] == [1, 2, 3]
    assert len(seen) == 1
    assert re.search(
        r"cache .*: a run is not saved: .*\.run: .*the file needs", str(seen[0].message)
    )
    assert os.listdir(tmp_path) == []
