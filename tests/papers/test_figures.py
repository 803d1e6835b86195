"""The papers' figures keep one grammar: legends beside the data, networks and dot plots that tell
the scenarios' and the records' own numbers.

What is drawn from numbers is drawn here from those accepted (`experiments/data`); what needs runs
takes its legend from the same two functions.
"""

import factories
import matplotlib as mpl
import pytest
from accepted import accepted

import experiments
from experiments import expected_numbers, figure_files, harness, ratio_plot
from experiments.measured_numbers import Measured
from experiments.records import record
from tcpcc import plots
from tcpcc.scenario import CBR, Flow

mpl.use("Agg")
import matplotlib.pyplot as plt

PAPERS = experiments.papers()
CHARTS = [
    (paper, name) for paper, one in PAPERS.items() for name, item in one.items.items() if item.chart
]
NETWORKS = [
    (paper, name)
    for paper, one in PAPERS.items()
    for name, item in one.items.items()
    if item.networks
]


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def records():
    return {name: expected_numbers.records_of(name) for name in PAPERS}


def numbers(paper, item):
    """By model and (row, column), as a chart takes them."""
    found = {model: accepted(paper, item, model) for model in experiments.MODELS}
    return {model: of_model for model, of_model in found.items() if of_model}


def misplaced(figure):
    """Legends that stand over a panel, or beyond the figure's edge."""
    figure.canvas.draw()
    panels = list(figure.axes)
    legends = [*figure.legends, *(ax.get_legend() for ax in panels if ax.get_legend())]
    boxes = [legend.get_window_extent() for legend in legends]
    page = figure.bbox
    return [
        legend
        for legend, box in zip(legends, boxes, strict=True)
        if any(box.overlaps(ax.get_window_extent()) for ax in panels)
        or box.x0 < page.x0 - 1
        or box.x1 > page.x1 + 1
        or box.y1 > page.y1 + 1
    ]


def test_a_legend_over_its_data_is_found():
    figure, ax = plt.subplots()
    ax.plot([0, 1], [0, 1], label="data")
    ax.legend(loc="lower right")
    assert misplaced(figure)


@pytest.mark.papers
@pytest.mark.parametrize(("paper", "item"), CHARTS, ids=map("/".join, CHARTS))
def test_legends_of_charts_stand_beside_the_data(paper, item):
    one = PAPERS[paper].items[item]
    figure = one.chart(numbers(paper, one.of or item))
    assert misplaced(figure) == []


def test_a_figure_of_rules_alone_has_its_legend_on_the_page():
    drawn = [
        item.draw({})
        for one in PAPERS.values()
        for item in one.items.values()
        if item.draw and item.scenarios is dict
    ]
    assert len(drawn) >= 2
    assert [misplaced(figure) for figure in drawn] == [[]] * len(drawn)


def test_legends_of_runs_stand_beside_the_data():
    flows = [Flow("vegas"), Flow("reno", start=5), CBR("2 Mbps", on=[(20, 30)])]
    run = factories.toy_run(factories.scenario(flows, duration=60))
    assert misplaced(plots.basic_behaviour(run)) == []
    assert misplaced(plots.cwnd(run).figure) == []


@pytest.mark.parametrize(("paper", "item"), NETWORKS, ids=map("/".join, NETWORKS))
def test_a_papers_network_is_that_of_its_scenarios(paper, item):
    networks = PAPERS[paper].items[item].networks()
    figure = harness.draw(paper, item)
    assert [ax.get_title(loc="left") for ax in figure.axes] == list(networks)
    for ax, scenario in zip(figure.axes, networks.values(), strict=True):
        told = " ".join(text.get_text() for text in ax.texts)
        for link in scenario.net.links:
            scale, unit = plots.rate_unit(link.rate)
            assert f"{link.rate / scale:g} {unit}, {1e3 * link.delay:g} ms" in told


# Dot plots


def marks(figure, label):
    """x of all marks of a label."""
    return [
        float(x)
        for ax in figure.axes
        for line in ax.get_lines()
        if line.get_label() == label
        for x in line.get_xdata()
    ]


@pytest.mark.papers
@pytest.mark.parametrize("paper", PAPERS)
def test_every_item_that_prints_numbers_has_a_dot_plot(paper, records):
    for item in PAPERS[paper].items:
        cells = [r for r in records[paper] if r.item == item]
        printed = [r for r in cells if ratio_plot.can_be_drawn(r)]
        figure = ratio_plot.dot_plot(cells)
        assert (figure is None) == (not printed)
        if figure is not None:
            published, reference = marks(figure, "published"), marks(figure, "reference")
            assert len(published) + len(reference) == len(printed)
            assert misplaced(figure) == []
            plt.close(figure)


def one_record():
    cell = next(c for c in PAPERS["quick_vegas"].cells() if c.published and not c.claims)
    values = {
        "packet": {cell.key: Measured(1.1 * cell.published)},
        "fluid": {cell.key: Measured(5.0 * cell.published)},
    }
    return record(cell, values)


def test_a_dot_plot_tells_ratios_and_what_is_beyond_its_edge():
    figure = ratio_plot.dot_plot([one_record()])
    assert marks(figure, "packets") == pytest.approx([1.1])
    assert marks(figure, "fluid") == []  # at the edge, with its number
    assert [text.get_text() for text in figure.axes[0].texts] == ["5"]


def test_a_table_that_prints_nothing_has_no_dot_plot(records):
    assert ratio_plot.dot_plot([r for r in records["tcp_fusion"] if r.item == "figure_6"]) is None


# Files.


def a_figure():
    figure, ax = plt.subplots(figsize=(3, 2))
    ax.plot([0, 1, 3], color=plots.BLUE)
    ax.set_title("Title")
    return figure


def test_equal_figures_give_equal_files(tmp_path):
    for name in "ab":
        files = figure_files.save(a_figure(), tmp_path / f"p_{name}.1")
        assert [file.name for file in files] == [
            f"p_{name}.1.{kind}" for kind in figure_files.KINDS
        ]
    for kind in figure_files.KINDS:
        one, other = (tmp_path / f"p_{name}.1.{kind}" for name in "ab")
        assert one.read_bytes() == other.read_bytes()
    with pytest.raises(ValueError, match="must be one of png, pdf, svg"):
        figure_files.save(a_figure(), tmp_path / "p", ["jpeg"])


def test_a_png_has_the_figures_colours_in_a_small_palette(tmp_path):
    from PIL import Image

    (file,) = figure_files.save(a_figure(), tmp_path / "p", ["png"])
    with Image.open(file) as image:
        assert image.mode == "P"
        width = round(plots.WIDTH * figure_files.DPI)  # with white margins left and right
        assert image.size == (width, 600)
        assert image.info["dpi"] == pytest.approx((figure_files.DPI, figure_files.DPI), abs=0.1)
        colours = {colour for _, colour in image.convert("RGB").getcolors()}
    assert tuple(round(255 * c) for c in mpl.colors.to_rgb(plots.BLUE)) in colours
    assert (255, 255, 255) in colours


def test_figures_are_drawn_as_png_and_as_vectors(tmp_path):
    (file,) = experiments.draw_all("quick_vegas", "figure_1", folder=tmp_path)
    assert file == tmp_path / "quick_vegas_figure_1.png"
    assert file.with_suffix(".pdf").read_bytes().startswith(b"%PDF")
