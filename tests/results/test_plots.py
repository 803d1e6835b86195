"""Figures show the run's own numbers, with units, for any run; their look stays inside them."""

import itertools
import warnings

import factories
import matplotlib as mpl
import numpy as np
import pytest

import tcpcc as tc
from tcpcc import plots
from tcpcc.controllers import CONTROLLERS
from tcpcc.errors import ScenarioError
from tcpcc.queues import RED
from tcpcc.results import Run
from tcpcc.results.recording import EVENTS
from tcpcc.scenario import CBR, Flow, Link, Network
from tcpcc.scenario.topologies import parking_lot

mpl.use("Agg")
import matplotlib.pyplot as plt


@pytest.fixture(autouse=True)
def _close_figures():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield
    plt.close("all")


@pytest.fixture(scope="module")
def run():
    flows = [Flow("vegas"), Flow("reno", start=5), CBR("2 Mbps", on=[(20, 30)])]
    return factories.toy_run(factories.scenario(flows, duration=60))


@pytest.fixture(scope="module")
def crowd():
    flows = [Flow("vegas" if k % 2 else "reno", start=k) for k in range(20)]
    return factories.toy_run(factories.scenario(flows, duration=60))


@pytest.fixture(scope="module")
def bare():
    """No link is recorded."""
    links = [Link("a", "b", rate="10 Mbps", delay=0.01), Link("b", "a", rate=1e6, delay=0)]
    net = Network(links, default_path=("a", "b"))
    return factories.run(factories.scenario([Flow("reno"), Flow("vegas")], net=net))


def line(ax, label):
    return next(x for x in ax.get_lines() if x.get_label() == label)


def labels(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


# What is drawn


def test_cwnd_draws_the_windows(run):
    ax = plots.cwnd(run, after=10, before=20)
    drawn = line(ax, "reno2")
    inside = (run.data["time"] > 10) & (run.data["time"] < 20.01)
    assert drawn.get_xdata() == pytest.approx(run.data["time"].values[inside])
    assert drawn.get_ydata() == pytest.approx(run.data["cwnd"].values[inside, 1])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("Time (s)", "Window (packets)")
    assert labels(ax) == ["vegas1", "reno2"]  # a CBR source has no window


def test_cwnd_with_thresholds_hides_infinite_ones(run):
    ax = plots.cwnd(run, ssthresh=True)
    assert len(ax.get_lines()) == 4
    assert all(np.isfinite(ax.get_ylim()))


def test_queue_draws_mean_peak_and_buffer(run):
    ax = plots.queue(run)
    assert line(ax, "mean").get_ydata() == pytest.approx(run.queue().values)
    assert line(ax, "buffer").get_ydata() == [50, 50]
    shade = ax.collections[0].get_paths()[0].vertices
    assert shade[:, 1].max() == pytest.approx(run.queue_max())
    assert ax.get_ylabel() == "Queue (packets)"


def test_a_buffer_far_above_the_queue_does_not_flatten_it():
    run = factories.run(factories.scenario(net=factories.dumbbell(1e7, 0.02, 5000)))
    assert labels(plots.queue(run)) == ["largest", "mean"]


def test_throughput_is_drawn_in_a_readable_unit(run):
    ax = plots.throughput(run, width=2.0)
    drawn = line(ax, "cbr3")
    assert ax.get_ylabel() == "Throughput (Mb/s)"
    assert drawn.get_xdata()[:2] == pytest.approx([1, 3])  # the middles of the windows
    mean = [float(run.throughput(t - 2, t)[2]) / 1e6 for t in range(2, 62, 2)]
    assert drawn.get_ydata() == pytest.approx(mean)
    assert line(ax, "link").get_ydata() == pytest.approx(10.0)
    assert plots.throughput(run, payload=True).get_ylabel() == "Goodput (Mb/s)"


def test_a_crowd_is_drawn_by_controller(crowd):
    windows = plots.cwnd(crowd)
    assert labels(windows) == ["reno (10 flows)", "vegas (10 flows)"]
    assert len(windows.get_lines()) == 20
    ax = plots.throughput(crowd, width=1.0)
    total = crowd.throughput_series(1.0).sel(flow=crowd.select("vegas")).sum("flow") / 1e6
    assert line(ax, "vegas (10 flows)").get_ydata() == pytest.approx(total.values)


def test_labels_have_the_number_of_flows_and_the_users_names():
    """10,000 flows that 100 representatives simulate are 10,000, and keep their name."""
    net = tc.dumbbell("1 Gbps", "20 ms", 2000)
    flows = [
        tc.Flow("reno", count=10_000, name="house"),
        tc.Flow("reno", count=120),
        tc.Flow("vegas", name="mine"),
    ]
    with pytest.warns(UserWarning, match="senders"):
        run = tc.simulate(tc.Scenario(net, flows, duration=0.5), trains=16, senders=100)
    expected = ["house (10000 flows)", "reno (120 flows)", "mine"]
    assert labels(plots.cwnd(run)) == expected
    assert labels(plots.throughput(run))[:3] == expected


def test_flows_keep_their_colour_when_fewer_are_drawn(run):
    both, one = plots.cwnd(run), plots.cwnd(run, flows="reno")
    assert line(both, "reno2").get_color() == line(one, "reno2").get_color()


def test_seven_flows_have_seven_colours_and_neighbours_another_line_style():
    flows = [Flow("reno") for _ in range(7)]
    lines = plots.cwnd(factories.run(factories.scenario(flows))).get_lines()
    assert len({x.get_color() for x in lines}) == 7
    assert [x.is_dashed() for x in lines[:2]] == [False, True]


def test_phase_plane(run):
    ax = plots.phase_plane(run, "vegas1", "reno2", after=10)
    path = ax.collections[0].get_segments()
    inside = run.data["time"].values > 10.001
    assert path[0][0] == pytest.approx(run.data["cwnd"].values[inside][0, :2])
    assert path[-1][1] == pytest.approx(run.data["cwnd"].values[-1, :2])
    assert ax.get_xlim() == ax.get_ylim()
    assert ax.get_xlabel() == "Window of vegas1 (packets)"


def test_basic_behaviour_has_three_panels_on_one_axis_of_time(run):
    figure = run.plot(title="Two flows")
    names = [ax.get_ylabel() for ax in figure.axes]
    assert names == ["Window (packets)", "Queue (packets)", "Throughput (Mb/s)"]
    assert {ax.get_xlim() for ax in figure.axes} == {(0, 60)}
    assert figure.axes[0].get_xlabel() == ""
    marks = [x.get_xdata()[0] for x in figure.axes[0].get_lines() if len(x.get_xdata()) == 2]
    assert marks == [5, 20, 30]


def test_basic_behaviour_without_a_recorded_link(bare):
    assert len(bare.plot().axes) == 2


# One look for all figures

TOGETHER = [
    ("reno", "vegas", "quick_vegas", "newreno"),
    ("reno", "fusion", "areno", "compound", "hstcp", "bic", "cubic_2005", "fast"),
    ("reno", "westwood", "westwood_rbe"),
    ("reno", "vegas", "newvegas", "vegas_a", "vegas_plus"),
]
"""Algorithms that the papers draw in one figure."""

# H. Brettel et al. as approximated by F. Vienot et al. 1999, in linear RGB.
BLINDNESS = {
    "protan": [[0.112, 0.888, 0], [0.112, 0.888, 0], [0.004, -0.004, 1]],
    "deutan": [[0.292, 0.708, 0], [0.292, 0.708, 0], [-0.022, 0.022, 1]],
}


def linear(colour):
    rgb = np.array(mpl.colors.to_rgb(colour))
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def grey(colour):
    """Lightness as the eye sees it, CIE L*, 0 to 100."""
    return 116 * np.cbrt(linear(colour) @ [0.2126, 0.7152, 0.0722] + 1e-9) - 16


def test_every_algorithm_has_a_colour_and_mark_of_its_own():
    ours = [n for n, c in CONTROLLERS.items() if c.on_ack.__module__.startswith("tcpcc.")]
    looks = {plots.look(name) for name in ours}
    assert len(looks) == len(ours)
    assert all(marker for _, marker in looks)
    assert {colour for colour, _ in looks} <= {*plots.PALETTE, "#777777"}


@pytest.mark.parametrize("names", TOGETHER, ids=lambda names: names[-1])
def test_algorithms_drawn_together_differ_without_colour(names):
    """In grey by lightness or, in curves, by the mark; by colour-blind readers by either."""
    for a, b in itertools.combinations(names, 2):
        (colour, mark), (other, its_mark) = plots.look(a), plots.look(b)
        assert colour != other, (a, b)
        assert mark != its_mark or abs(grey(colour) - grey(other)) > 8, (a, b)
        for matrix in BLINDNESS.values():
            seen = [np.array(matrix) @ linear(each) for each in (colour, other)]
            assert np.abs(seen[0] - seen[1]).max() > 0.1 or mark != its_mark, (a, b)


def test_packets_fluid_published_and_reference_differ_without_colour():
    assert plots.PACKET_LOOK["ls"] != plots.FLUID_LOOK["ls"]
    assert plots.PUBLISHED_LOOK["marker"] != plots.REFERENCE_LOOK["marker"]
    assert {plots.PUBLISHED_LOOK["mfc"], plots.REFERENCE_LOOK["mfc"]} == {"white"}


def test_an_unknown_algorithm_is_grey():
    assert plots.colour("mine") not in plots.PALETTE
    assert plots.shade("#808080", -1) == (0, 0, 0)
    assert plots.shade("#808080", 1) == (1, 1, 1)


def test_a_topology_names_its_nodes_and_links():
    net = factories.dumbbell("50 Mbps", "20 ms", 250)
    told = [text.get_text() for text in plots.topology(net).texts]
    nodes = {node for link in net.links for node in (link.src, link.dst)}
    assert nodes <= set(told)
    assert any("50 Mb/s, 20 ms\n250 packets" in text for text in told)


def told(scenario, **names):
    return [text.get_text() for text in plots.topology(scenario, names=names).texts]


def test_a_drawing_has_the_names_that_it_is_given():
    net = factories.dumbbell("1.5 Mbps", "40 ms", 20, queue=RED(min_thresh=4, max_thresh=6))
    texts = told(
        factories.scenario([Flow("vegas"), Flow("reno")], net=net, duration=1),
        left="R1", right="R2", red="RED", vegas="Vegas", reno="Reno",
    )  # fmt: skip
    assert {"R1", "R2", "S1\nVegas", "S2\nReno", "D1", "D2"} <= set(texts)
    assert "1.5 Mb/s, 40 ms\n20 packets\nRED 4 to 6" in texts


def test_many_flows_of_a_kind_are_one_box():
    net = factories.dumbbell("1 Mbps", "40 ms", 20)
    flows = [*(Flow("vegas") for _ in range(9)), Flow("reno")]
    texts = told(factories.scenario(flows, net=net, duration=1))
    assert {"S1 to S9\n9 vegas", "S10\nreno", "D1 to D9", "D10"} <= set(texts)


def test_sources_between_the_ends_of_a_row_are_below_their_node():
    net = parking_lot(2, "1 Mbps", "10 ms", 20)
    flows = [Flow("reno", name="long"), Flow("vegas", name="cross", source="r1", target="r2")]
    ax = plots.topology(factories.scenario(flows, net=net, duration=1))
    places = {text.get_text(): text.get_position() for text in ax.texts}
    assert places["cross: vegas"][0] == places["r1"][0]
    assert places["cross: vegas"][1] < places["r1"][1]
    assert places["receivers"][0] > places["r2"][0]


def test_a_topology_in_several_pieces_is_drawn():
    links = [Link(a, b, rate=1e6, delay=0.01) for a, b in ("ab", "ba", "cd")]
    told = [text.get_text() for text in plots.topology(Network(links)).texts]
    assert set("abcd") <= set(told)
    assert told.count("1 Mb/s, 10 ms") == 2  # both directions of a-b are one line


# The trace graph


@pytest.fixture(scope="module")
def traced():
    net = factories.dumbbell("0.8 Mbps", "45 ms", 12)
    case = factories.scenario([Flow("vegas"), Flow("reno")], net=net, duration=4, interval=0.02)
    return factories.run(case, events=factories.toy_trace(4))


def test_vegas_trace(traced):
    figure = plots.vegas_trace(traced, "vegas1", after=1, before=3)
    windows, rate, cam, queue = figure.axes
    assert labels(windows) == ["congestion window", "threshold", "in transit", "lost packet sent"]
    assert rate.get_ylabel() == "Sending rate\n(Mb/s)"
    assert labels(cam) == ["Expected", r"$\alpha$ = 1", r"$\beta$ = 3", "Actual"]
    assert queue.get_ylabel() == "Queue (packets)"


def test_the_trace_counts_what_is_in_transit(traced):
    """After each event at the sender: up with each new packet, down with each ACK."""
    drawn = line(plots.vegas_trace(traced, "vegas1").axes[0], "in transit")
    sent, acked, expected = 0, 0, []
    for event in traced.events:
        kind = EVENTS[event["event"]]
        sent += kind == "send"
        acked = int(event["seq"]) if kind == "ack" else acked
        if kind != "drop":
            expected.append(sent - acked)
    assert drawn.get_ydata().tolist() == expected


def test_the_trace_marks_when_lost_packets_were_first_sent(traced):
    ax = plots.vegas_trace(traced, "vegas1").axes[0]
    again = {int(e["seq"]) for e in traced.events if EVENTS[e["event"]] == "retransmit"}
    first = [
        e["time"] for e in traced.events if EVENTS[e["event"]] == "send" and int(e["seq"]) in again
    ]
    purple = [x for x in ax.get_lines() if x.get_color() == plots.PURPLE]
    assert [x.get_xdata()[0] for x in purple] == first


def test_the_trace_of_a_controller_that_records_no_rates(traced):
    events = traced.events.copy()
    events["expected"] = np.nan
    assert len(plots.vegas_trace(factories.Run(traced.data, events), "vegas1").axes) == 3


# Errors and manners


def test_wrong_questions_get_one_line(run, bare):
    with pytest.raises(ScenarioError, match="simulate with trace=True"):
        plots.vegas_trace(run, "vegas1")
    with pytest.raises(ScenarioError, match="unknown flow 'vegas': did you mean 'vegas1'"):
        plots.phase_plane(run, "vegas", "reno2")
    with pytest.raises(ScenarioError, match="never active together"):
        plots.phase_plane(run, "vegas1", "cbr3")
    with pytest.raises(ScenarioError, match="no link was recorded"):
        plots.queue(bare)
    with pytest.raises(ScenarioError, match="contains no bin"):
        plots.throughput(run, after=60)


def test_the_users_own_settings_stay(run):
    before = dict(mpl.rcParams)
    run.plot()
    assert dict(mpl.rcParams) == before


def test_drawing_on_given_axes_makes_no_new_figure(run):
    _, axes = plt.subplots(1, 3)
    for draw, ax in zip((plots.cwnd, plots.queue, plots.throughput), axes, strict=True):
        assert draw(run, ax) is ax
    assert len(plt.get_fignums()) == 1


def test_a_notebook_shows_a_figure_once(run, monkeypatch):
    monkeypatch.setattr(mpl, "get_backend", lambda: "module://matplotlib_inline.backend_inline")
    figure = run.plot()
    assert plt.get_fignums() == []
    assert figure.axes


@pytest.mark.parametrize("kind", ["png", "pdf"])
def test_figures_can_be_printed(run, traced, crowd, tmp_path, kind):
    figures = [run.plot(), crowd.plot(), plots.vegas_trace(traced, "vegas1")]
    figures.append(plots.phase_plane(run, "vegas1", "reno2").figure)
    for k, figure in enumerate(figures):
        figure.savefig(tmp_path / f"{k}.{kind}")
        assert (tmp_path / f"{k}.{kind}").stat().st_size > 5000


# Two runs


def test_two_runs_are_drawn_over_one_another(run):
    fluid = Run(run.data.assign_attrs(model="fluid"))
    figure = run.compare(fluid)
    windows, rates, queue = figure.axes
    assert labels(windows) == ["vegas, packets", "reno, packets", "vegas, fluid", "reno, fluid"]
    solid, dashed = line(windows, "reno, packets"), line(windows, "reno, fluid")
    assert (solid.get_linestyle(), dashed.get_linestyle()) == ("-", "--")
    assert solid.get_ydata() == pytest.approx(run.data["cwnd"].values[:, 1], nan_ok=True)
    assert len(rates.get_lines()) == 4
    assert [len(x.get_xdata()) for x in queue.get_lines()] == [run.data["time"].size] * 2


def test_runs_that_differ_in_nothing_else_are_the_first_and_the_second(run):
    assert labels(run.compare(run).axes[0])[0] == "vegas, first"
    other = factories.toy_run(factories.scenario([Flow("cubic")], duration=60))
    assert labels(run.compare(other).axes[0])[-1] == "cubic, cubic"
    with pytest.raises(ScenarioError, match="must be two different names"):
        run.compare(other, names=("a", "a"))


def test_a_crowd_is_compared_by_its_mean(crowd):
    figure = crowd.compare(crowd, names=("a", "b"))
    assert labels(figure.axes[0])[0] == "mean of 10 reno, a"
