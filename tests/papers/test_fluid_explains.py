"""What the figures of the fluid model show of each paper; helpers of notebooks/fluid.ipynb."""

import math

import pytest

import tcpcc as tc
from experiments import expected_numbers, notebook, phase_plane
from experiments.quick_vegas import scenarios as quick
from experiments.quick_vegas import tables as quick_tables
from experiments.tcp_fusion import scenarios as fusion
from experiments.tcp_vegas import scenarios as vegas
from experiments.westwood_rbe import figures as westwood_figures
from experiments.westwood_rbe import scenarios as westwood

pytestmark = pytest.mark.slow


def fluid(scenario):
    return tc.simulate(scenario, model="fluid")


@pytest.mark.parametrize(
    ("kind", "form", "within"),
    [
        ("vegas", lambda far: 0.1 * far, 0.03),
        ("quick_vegas", lambda far: 0.2 * math.sqrt(far / 2), 0.1),
    ],
)
def test_vegas_ramp_is_linear_and_quick_vegas_ramp_a_square_root(kind, form, within):
    """Of the window from half to all of 625 packets, after the CBR traffic of Figures 2 and 3."""
    run = fluid(quick.basic(kind))
    assert quick_tables.settling("doubled", run) == pytest.approx(form(312.5), rel=within)


@pytest.mark.parametrize(("flows", "alpha"), [(1, 1), (2, 2), (4, 3)])
def test_vegas_flows_keep_alpha_to_beta_packets_each(flows, alpha):
    queue = fluid(vegas.equilibrium(flows, alpha)).queue_mean(after=40, link="bottleneck")
    assert flows * alpha <= queue <= flows * (alpha + vegas.BETA)


def test_fusion_rests_in_its_band_until_its_reno_window_overtakes():
    run = fluid(fusion.band_runs()["400 Mb/s"])
    window = run.data["cwnd"].isel(flow=0)
    full = 400e6 / (8 * fusion.PACKET)
    low, high = (full * (0.04 + queueing) for queueing in (4e-3, 12e-3))
    rest = window.sel(time=slice(14, 20)).values
    assert low < rest.min() <= rest.max() < high
    assert rest.max() - rest.min() < 2
    assert float(window.sel(time=100, method="nearest")) > high


@pytest.mark.parametrize("b", [0.25, 1.0, 2.0])
def test_westwood_keeps_what_fills_the_path_and_the_proposal_one_half(b):
    kept = {
        name: westwood_figures._left(fluid(westwood.reduction_runs()[name, b]))
        for name in westwood.PROPOSALS
    }
    assert kept["Westwood"] == pytest.approx(1 / (1 + b), rel=0.03)
    assert kept["Proposal"] == pytest.approx(0.5, rel=0.03)


def test_two_reno_flows_come_near_the_diagonal():
    late = fluid(phase_plane.two_flows("reno")).data["cwnd"].sel(time=slice(40, None)).mean("time")
    assert late.values[0] == pytest.approx(late.values[1], rel=0.25)


def test_the_map_has_all_points_and_with_a_short_rtt_more_buffer_fills_the_link():
    means = phase_plane.mapped("reno", points=2)
    assert means.sizes["buffer"] == means.sizes["base"] == 2
    little, much = means["utilization"].isel(link=0, base=0).values
    assert little < 0.95 < much
    figure = phase_plane.draw_map(means)
    assert len(figure.axes) == 4  # two maps, two scales


def test_a_finer_step_moves_the_throughput_by_less_than_a_percent():
    table = phase_plane.errors("reno", steps=(20, 40))["throughput, Mb/s"]
    assert table["20 steps"] == pytest.approx(table["40 steps"], rel=0.01)


def test_an_excerpt_has_published_and_accepted_numbers():
    shown = notebook.Book("quick_vegas").excerpt({"doubles": "figure_2/Vegas/doubled"}).data
    head, _, row = shown.splitlines()
    assert head == "|  | published | packets | fluid |"
    assert row.startswith("| doubles | 31.8 | 31.6")
    packets = notebook.Book("quick_vegas", models=("packet",))
    assert "fluid" not in packets.excerpt({"doubles": "figure_2/Vegas/doubled"}).data


def test_numbers_in_a_text_are_the_accepted_ones():
    book = notebook.Book("quick_vegas")
    text = "{figure_2/Vegas/doubled|.2f} of {published: figure_2/Vegas/doubled} s, {not/one}"
    assert book.text(text).data == "31.64 of 31.8 s, {not/one}"
    fluid = expected_numbers.numbers("quick_vegas", "fluid")["figure_2", "Vegas", "doubled"].value
    assert book.text("{fluid: figure_2/Vegas/doubled|.1f}").data == f"{fluid:.1f}"
    with pytest.raises(KeyError, match="settings/Vegas: real Delta/doubled has no number of fluid"):
        book.text("{fluid: settings/Vegas: real Delta/doubled}")
