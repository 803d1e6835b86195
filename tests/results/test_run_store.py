"""Runs kept by a sweep: the same run back, and nothing from a file of somebody else."""

import hashlib
import json
import pickle
import zlib
from pathlib import Path

import factories
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tcpcc as tc
from tcpcc.results import Run, run_store


@pytest.fixture(scope="module")
def run():
    return factories.run(events=factories.events())


def sealed(content):
    """A file with a right checksum around any content."""
    packed = zlib.compress(content)
    return hashlib.sha256(packed).digest() + packed


def kept(run, path):
    run_store.put(path, run)
    return run_store.take(path)


def same(run, other):
    """Equal to the bit, including what `Run.identical` leaves out."""
    assert other.identical(run)
    assert list(other.data.variables) == list(run.data.variables)
    assert other.data.attrs == run.data.attrs or np.isnan(run.data.attrs["cpu_seconds"])
    assert [type(v) for v in other.data.attrs.values()] == [
        type(v) for v in run.data.attrs.values()
    ]
    assert set(other.data.coords) == set(run.data.coords)
    assert list(other.data.indexes) == list(run.data.indexes)
    for name, variable in run.data.variables.items():
        found = other.data.variables[name]
        assert found.dims == variable.dims
        assert found.attrs == variable.attrs
        assert found.dtype == variable.dtype
        assert found.values.tobytes() == variable.values.tobytes()
        if name not in run.data.indexes:  # runs share those, so nobody may write to them
            assert found.values.flags.writeable == variable.values.flags.writeable
    if run.events is not None:
        assert other.events.dtype == run.events.dtype
        assert other.events.flags.writeable


def test_a_run_comes_back_to_the_bit(run, tmp_path):
    same(run, kept(run, tmp_path / "a.run"))
    same(Run(run.data), kept(Run(run.data), tmp_path / "b.run"))


@pytest.mark.parametrize("trace", [False, True])
def test_everything_that_a_record_may_hold_comes_back(trace, tmp_path):
    net = tc.dumbbell("5 Mbps", "20 ms", 20, queue=tc.queues.RED(min_thresh=5, max_thresh=15))
    flows = [
        tc.Flow("vegas", record=False),
        tc.Flow("reno", transport={"ecn": "classic"}, name="märk"),
        tc.CBR("200 kbps"),
    ]
    case = tc.Scenario(net, flows, workloads=[tc.workloads.web("reno", rate=5)], duration=3)
    whole = tc.simulate(case, trace=trace)
    assert {"queue_avg", "marks", "each_sent", "item_start"} <= set(whole.data.variables)
    same(whole, kept(whole, tmp_path / "a.run"))


def test_names_of_a_states_values_come_back(tmp_path):
    flow = tc.Flow("bbr", record=("mode",))
    case = tc.Scenario(tc.dumbbell("5 Mbps", "20 ms", 20), [flow], duration=1)
    whole = tc.simulate(case, model="fluid")
    assert "flag_values" in whole.data["state_mode"].attrs
    assert kept(whole, tmp_path / "a.run").identical(whole)


def test_a_run_left_in_its_file_comes_back(run, tmp_path):
    run.save(tmp_path / "run.nc")
    assert kept(Run.load(tmp_path / "run.nc", lazy=True), tmp_path / "a.run").identical(run)


class Harmful:
    """A pickle that makes a file where it is loaded."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_a_pickle_in_the_folder_is_not_executed(run, tmp_path):
    mark = tmp_path / "executed"
    harm = pickle.dumps(Harmful(mark))
    pickle.loads(harm)
    assert mark.exists(), "the pickle does no harm, so that this test tests nothing"
    mark.unlink()
    run_store.put(tmp_path / "a.run", run)
    content = zlib.decompress((tmp_path / "a.run").read_bytes()[32:])
    length = int.from_bytes(content[:8], "big")
    header = json.loads(content[8 : 8 + length])
    header["events"] = {"dtype": "|O", "shape": [1]}
    text = json.dumps(header).encode()
    with_objects = len(text).to_bytes(8, "big") + text + content[8 + length :] + harm
    for file in (harm, sealed(harm), sealed(with_objects)):
        (tmp_path / "a.run").write_bytes(file)
        assert run_store.take(tmp_path / "a.run") is None
        assert not mark.exists()


damage = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def good(run, tmp_path_factory):
    """The bytes of a file that has a run."""
    path = tmp_path_factory.mktemp("shelf") / "a.run"
    run_store.put(path, run)
    return path.read_bytes()


@damage
@given(data=st.data())
def test_damaged_bytes_are_no_run(good, tmp_path, data):
    path = tmp_path / "a.run"
    at = data.draw(st.integers(0, len(good) - 1))
    damaged = data.draw(
        st.sampled_from(
            [good[:at], good[:at] + bytes([good[at] ^ 255]) + good[at + 1 :], good + b"x"]
        )
    )
    path.write_bytes(damaged)
    assert run_store.take(path) is None


@damage
@given(data=st.data())
def test_foreign_content_with_a_right_checksum_is_no_run_or_a_whole_one(run, good, tmp_path, data):
    path = tmp_path / "a.run"
    content = zlib.decompress(good[32:])
    length = int.from_bytes(content[:8], "big")
    at = data.draw(st.integers(0, 8 + length - 1))
    put = data.draw(st.binary(max_size=3))
    path.write_bytes(sealed(content[:at] + put + content[at + 1 :]))
    found = run_store.take(path)
    assert found is None or set(found.data.variables) >= set(run.data.variables)


@damage
@given(content=st.binary(max_size=200))
def test_other_files_are_no_run(tmp_path, content):
    path = tmp_path / "a.run"
    for file in (content, sealed(content), sealed(len(content).to_bytes(8, "big") + content)):
        path.write_bytes(file)
        assert run_store.take(path) is None
    assert run_store.take(tmp_path / "missing.run") is None
    assert run_store.take(tmp_path) is None


def test_a_file_of_another_version_is_no_run(run, tmp_path, monkeypatch):
    run_store.put(tmp_path / "a.run", run)
    monkeypatch.setattr(run_store, "FORMAT", "tcpcc-run-2")
    assert run_store.take(tmp_path / "a.run") is None
