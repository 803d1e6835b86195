"""Progress bars, and one bar over several steps."""

import pytest

import tcpcc as tc
from experiments import reproduce_all
from tcpcc import progress_bars


@pytest.fixture
def shown(monkeypatch):
    """The amounts by which the overall bar moves."""
    moves = []
    update = progress_bars.Overall.advance

    def advance(self, amount):
        before = self._bar.n
        update(self, amount)
        moves.append(self._bar.n - before)

    monkeypatch.setattr(progress_bars.Overall, "advance", advance)
    return moves


def test_bars_inside_move_the_overall_bar_by_their_weights(shown):
    with progress_bars.overall(10, progress=True) as bar:
        bar.begin("first", (1, 3))
        with progress_bars.bar(2) as one:
            one.update()
            one.update()
        with progress_bars.bar(30, title="with a title") as two:
            two.update(10)
        assert shown == [0, 0.5, 0.5, 1]
        bar.begin("second", (6,))  # the rest of the first step is done
        assert shown[-1] == 2
        with progress_bars.bar(1) as one:
            one.update(5)  # more than it said
        with progress_bars.bar(1) as beyond:
            beyond.update()
        assert shown[-2:] == [6, 0]


def test_simulations_move_the_overall_bar(shown):
    net = tc.dumbbell("1 Mbps", "10 ms", 10)
    runs = [tc.Scenario(net, [tc.Flow("reno")], duration=1, seed=seed) for seed in (1, 2)]
    with progress_bars.overall(1, progress=True) as bar:
        bar.begin("two runs", (1,))
        tc.sweep(runs)
    assert shown == [0, 0.5, 0.5]


def test_everything_shows_the_table_last_and_stops_at_a_failure(capsys):
    ran = []

    def step(name, code=0, **settings):
        def run():
            ran.append(name)
            print(f"sample of {name}\n\noutput of {name}")
            return code

        return reproduce_all.Step(name, run, (1,), **settings)

    assert reproduce_all.main([step("table", shows=True), step("other")]) == 0
    out = capsys.readouterr().out
    assert "output of other" not in out
    assert "sample of table" not in out
    assert out.index("2 of 2: other") < out.index("output of table")
    assert reproduce_all.main([step("fails", code=3), step("never")]) == 3
    assert ran == ["table", "other", "fails"]
