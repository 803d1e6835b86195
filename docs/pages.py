"""Pages generated from the package: controllers, what rules may read, papers, the notebooks."""

from __future__ import annotations

import ast
import csv
import inspect
import math
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np
import xarray as xr

import tcpcc as tc
from experiments import conformance_page, harness, paper_page
from experiments.quick_vegas import scenarios
from tcpcc import plots
from tcpcc.apps.browser.control import CONTROLS
from tcpcc.apps.evaluate.mixes import signals
from tcpcc.apps.evaluate.page import strip_drawn
from tcpcc.apps.evaluate.pictures import strip
from tcpcc.apps.evaluate.sections import SECTIONS
from tcpcc.cli.commands.list_command import fields
from tcpcc.controllers import CONTROLLERS, controller
from tcpcc.controllers.controller import Controller
from tcpcc.definition import Flag
from tcpcc.engine import wasm
from tcpcc.engine.framing import digest
from tcpcc.errors import TcpccError
from tcpcc.models.evidence import evidence_of, evidence_table
from tcpcc.queues import QUEUES, discipline
from tcpcc.scenario.host_presets import LINUX_TRANSPORT
from tcpcc.scenario.sources import bibliography, key_of
from tcpcc.slow_start import SLOW_STARTS, start_up
from tcpcc.sweeps.parallel import package_digest
from tcpcc.transport.recovery import RECOVERIES, loss_recovery

LEAGUE = Path(__file__).parent / "league.nc"
for _table_of in (CONTROLLERS, QUEUES, SLOW_STARTS, RECOVERIES):
    _table_of._is_complete = (
        True  # the pages show what the package ships, not what else is installed
    )
VERDICTS = ("fails", "passes", "better", "refused")


def _write(page: Path, text: str) -> None:
    """Write a page if it says something new, so that nothing else is built again."""
    page.parent.mkdir(parents=True, exist_ok=True)
    if not page.exists() or page.read_text(encoding="utf-8") != text:
        page.write_text(text, encoding="utf-8")


def _table(head: tuple[str, ...], rows: list[tuple[object, ...]]) -> str:
    def line(cells: tuple[object, ...]) -> str:
        return "| " + " | ".join(str(c).replace("|", "\\|") for c in cells) + " |"

    return "\n".join([line(head), line(("---",) * len(head)), *map(line, rows)])


def _parameters(controller: Controller) -> str:
    if not controller.params:
        return "None."
    return _table(
        ("name", "default", "unit", "allowed", "meaning"),
        [
            (
                f"`{name}`",
                p.text(p.default),
                p.unit,
                "true, false" if isinstance(p, Flag) else f"{p.low:g} ... {p.high:g}",
                p.doc,
            )
            for name, p in controller.params.items()
        ],
    )


def _bibtex(controller: Controller) -> list[str]:
    """The entries of a controller's sources."""
    entries = [bibliography().get(key_of(part) or "", "") for part in controller.source.split(";")]
    return ["```bibtex", "\n".join(entries).rstrip(), "```", ""]


def _state(controller: Controller) -> str:
    if not controller.state:
        return "Only `cwnd` and `ssthresh`."
    return _table(
        ("name", "at the start", "unit", "meaning"),
        [
            (f"`{name}`", f"{v.initial:g}", v.unit, v.meaning)
            for name, v in controller.state.items()
        ],
    )


@cache
def _league() -> xr.Dataset:
    """The numbers of `make league`."""
    return xr.load_dataset(LEAGUE, engine="h5netcdf")


def _evaluation(name: str) -> list[str]:
    """The controller's evaluation: all numbers of a quick evaluation after RFC 9743."""
    league = _league()
    if name not in league["controller"]:
        return ["Not evaluated: run `make league`.", ""]
    one = league.sel(controller=name)
    verdicts = one["verdict"].values
    counts = ", ".join(f"{word} {int((verdicts == word).sum())}" for word in VERDICTS)
    rows = []
    for section in SECTIONS:
        places = np.flatnonzero(one["section"].values == section.number)
        if not len(places):
            continue
        title = f"{section.number} {section.title} ({section.level})"
        rows.append(f'<tr><th colspan="8">{title}</th></tr>')
        rows += [_criterion_row(one.isel(criterion=k), name) for k in places]
    columns = ("measure", "setting", name, "Reno", "CUBIC", "", "better is", "verdict")
    return [
        f"Quick evaluation after RFC 9743 ([guide](../guides/evaluate.md)): {counts}. The dot is"
        f" {name} with its 95 % confidence interval, upright lines are Reno and CUBIC. `tcpcc"
        f" evaluate {name} --out report` writes this evaluation with pictures of the runs and the"
        " scenario files.",
        "",
        '<div class="variants evaluation"><table>',
        f"<thead><tr>{''.join(f'<th>{column}</th>' for column in columns)}</tr></thead>",
        "<tbody>",
        *rows,
        "</tbody></table></div>",
        "",
    ]


def _criterion_row(one: xr.Dataset, name: str) -> str:
    """A criterion's numbers, drawing and verdict."""
    measure, setting, unit, better, verdict = (
        str(one[v].item()) for v in ("measure", "setting", "unit", "better", "verdict")
    )
    value, half, reno, cubic = (float(one[v]) for v in ("value", "half_width", "reno", "cubic"))
    drawn = strip_drawn(strip(value, half, {"Reno": reno, "CUBIC": cubic}, unit), name)
    shown_unit = f" {unit}" if unit in ("ms", "s") else ""
    numbers = "".join(
        f"<td>{'-' if math.isnan(x) else f'{x:.3g}'}{suffix}</td>"
        for x, suffix in ((value, shown_unit), (reno, ""), (cubic, ""))
    )
    return (
        f'<tr><td class="words">{measure}</td><td class="words">{setting}</td>{numbers}'
        f'<td>{drawn}</td><td>{better}</td><td class="{verdict}">{verdict}</td></tr>'
    )


def _failed(number: int) -> str:
    """The cell of a section, with the colour of its number of failed criteria."""
    return f'<td class="level{min(number + 1, 4)}">{number}</td>' if number else "<td></td>"


def league_page() -> str:
    """The league: for each controller the number of criteria failed in each section."""
    league = _league()
    failed = (league["verdict"] == "fails").groupby("section").sum().to_pandas()
    order = [each.number for each in SECTIONS if each.number in failed.columns]
    verdicts = league["verdict"].values
    table = failed[order].assign(
        fails=(verdicts == "fails").sum(axis=1), better=(verdicts == "better").sum(axis=1)
    )
    titles = {x.number: x.title for x in SECTIONS}
    head = "".join(f'<th title="{titles[o]}">{o}</th>' for o in order)
    rows = [
        f'<tr><th><a href="controllers/{name}.html">{name}</a></th><td>{int(row["fails"])}</td>'
        f"<td>{int(row['better'])}</td>{''.join(_failed(int(row[o])) for o in order)}</tr>"
        for name, row in table.sort_values(["fails", "better"], ascending=[True, False]).iterrows()
    ]
    listed = _table(("section", "title"), [(o, titles[o]) for o in order])
    return "\n".join(
        [
            "# League",
            "",
            "*Written by `docs/pages.py` from `docs/league.nc`, which `make league` measures.*",
            "",
            f"All controllers in a quick [evaluation after RFC 9743](guides/evaluate.md):"
            f" {league.sizes['criterion']} criteria, 3 seeds. A cell is the number of criteria of a"
            " section that the controller fails: where it is worse than both Reno and CUBIC in the"
            " same scenario. *better*: criteria in which it is better than both. Headings are"
            " sections; their titles are below the table. A controller's"
            " evaluation is on its page; `docs/league.nc` has all numbers. A click on a"
            " heading sorts.",
            "",
            '<div class="variants"><table>',
            f"<thead><tr><th>controller</th><th>fails</th><th>better</th>{head}</tr></thead>",
            "<tbody>",
            *rows,
            "</tbody></table></div>",
            "",
            listed,
            "",
        ]
    )


def controller_page(name: str) -> str:
    """The page of a controller: its file's own words, parameters and state."""
    controller = CONTROLLERS[name]
    known = evidence_of(name)
    assert known is not None
    file = Path(inspect.getfile(Controller)).with_name(f"{name}.py")
    words = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return "\n".join(
        [
            f"# `{name}`",
            "",
            f"{controller.summary[0].upper()}{controller.summary[1:]}.",
            "",
            f"Source: {controller.source}. Default loss recovery: `{controller.recovery}`,"
            f" slow start: `{controller.slow_start}`."
            f" File: `tcpcc/controllers/{file.name}`.",
            "",
            f"Constants: {known.constants}. Tests: {known.words}.",
            "",
            *(f"- `tests/{test.test}`" for test in known.tests),
            "",
            *_bibtex(controller),
            "## Simulation",
            "",
            *_simulator(name),
            "## Equations",
            "",
            "```text",
            words.partition("\n\nEvidence (")[0],
            "```",
            "",
            "## Response to loss",
            "",
            f"![What one flow of {name} gets against the rate of random loss]({name}.svg)",
            "",
            "One flow alone over 100 Mb/s with a base round trip of 40 ms, a buffer of one"
            " bandwidth-delay product and packets lost at random: throughput from 20 to 60 s, one"
            " seed. Packets solid, fluid dashed; grey: the standard"
            " response, 1.22 packets a round trip over the root of the loss rate.",
            "",
            "## Evaluation",
            "",
            *_evaluation(name),
            "## Parameters",
            "",
            _parameters(controller),
            "",
            "## State",
            "",
            _state(controller),
            "",
        ]
    )


@cache
def are_alive() -> bool:
    """Whether this machine can make pages that simulate; if not, a line says so."""
    try:
        wasm.target()
    except TcpccError as error:
        print(f"docs: pictures instead of pages that simulate: {error}")
        return False
    return True


def front() -> str:
    """What the front page begins with: two simulations, or the picture of them in the README."""
    if not are_alive():
        return (
            "![Vegas and Quick Vegas](../figures/fluid_versus_packet.png)\n\n"
            "Vegas and Quick Vegas. Other traffic takes half of the 50 Mb/s link from 80 to 160 s."
            " Solid: the packet model. Dashed: the fluid model. Both call the same rules.\n"
        )
    frames = [
        f'<iframe class="simulator" title="{title}" src="simulators/front.html#{choice}show=rate">'
        "</iframe>"
        for title, choice in (("Vegas", ""), ("Quick Vegas", "flow.1=quick_vegas&"))
    ]
    return "\n".join(
        [
            '<div class="beside">',
            *frames,
            "</div>",
            "",
            "Vegas and Quick Vegas, simulated in this page ([how it is made](guides/web_pages.md))."
            " Other traffic takes half of the 50 Mb/s link from 80 to 160 s. Solid: the packet"
            " model. Dashed: the fluid model. Both call the same rules.",
            "",
        ]
    )


def _simulator(name: str) -> list[str]:
    """A frame in which the reader simulates the controller beside Reno and CUBIC; or a picture."""
    if not are_alive():
        return [
            f"![{name} beside Reno and CUBIC]({name}_run.png)",
            "",
            f"{name} beside Reno and CUBIC in the packet model.",
            "",
        ]
    file = f"../simulators/{name if name in SIGNALLED else 'all'}.html"
    choice = "" if name in SIGNALLED else f"flow.1={name}"
    return [
        f'<iframe class="simulator" title="{name} beside Reno and CUBIC" loading="lazy"'
        f' src="{file}#{choice}&show=buffer,queue"></iframe>',
        "",
        f'<a href="{file}#{choice}">All settings of this simulation</a>.'
        " ([How such a page is made](../guides/web_pages.md).)",
        "",
    ]


def _flow(name: str) -> tc.Flow:
    """A flow of the controller, with the ECN that it needs."""
    ecn = LINUX_TRANSPORT.get(name, {}).get("ecn", "off")
    return tc.Flow(name, transport=tc.Transport(ecn=ecn))


SIGNALLED = tuple(name for name in CONTROLLERS if signals(_flow(name)) is not None)
"""Controllers whose packets carry headers. A page of other controllers cannot change to them."""


def _beside(name: str) -> tc.Scenario:
    """A controller beside Reno and CUBIC."""
    flow = _flow(name)
    net = tc.dumbbell(rate="20 Mbps", delay="20 ms", buffer=100, queue=signals(flow))
    return tc.Scenario(net, [flow, tc.Flow("reno"), tc.Flow("cubic")], duration=60)


def _draw_beside(name: str, file: Path) -> None:
    """A run of `_beside` in the packet model."""
    import matplotlib.pyplot as plt

    scenario = _beside(name)
    flows = [
        flow.replace(name=f"{flow.controller} {k}") for k, flow in enumerate(scenario.flows, 1)
    ]
    figure = tc.simulate(scenario.replace(flows=flows)).plot()
    figure.savefig(file, dpi=160)
    plt.close(figure)


def write_simulators(docs: Path) -> None:
    """The pages of `front` and `_simulator`, or their pictures. One page has most controllers,
    each of `SIGNALLED` has its own; the front page's is of Quick Vegas' section IV-A."""
    folder = docs / "_live" / "simulators"
    folder.mkdir(parents=True, exist_ok=True)
    _write(docs / "front.txt", front())
    if not are_alive():
        for name in CONTROLLERS:
            _draw_beside(name, docs / "controllers" / f"{name}_run.png")
        return
    text = tc.to_html(
        scenarios.basic("vegas").replace(interval=0.1),
        controls=["rate", "delay", "controllers"],
        controllers=["vegas", "quick_vegas"],
        title="Vegas or Quick Vegas, and other traffic",
    )
    _write(folder / "front.html", text)
    others = [name for name in CONTROLLERS if name not in SIGNALLED]
    whole = {"vegas": {"controllers": others, "title": "All controllers"}}
    for name in ("vegas", *SIGNALLED):
        controls = [one for one in CONTROLS if one != "controllers" or name in whole]
        text = tc.to_html(
            _beside(name),
            controls=controls,
            **whole.get(name, {"queues": [], "title": f"{name} beside Reno and CUBIC"}),
        )
        _write(folder / f"{'all' if name in whole else name}.html", text)


def response_curves(docs: Path) -> dict[str, dict[str, dict[float, float]]]:
    """Mb/s by controller, model and loss rate, as `experiments.response` has written them."""
    curves: dict[str, dict[str, dict[float, float]]] = {}
    with (docs / "response_curves.csv").open(newline="") as file:
        for line in csv.DictReader(file):
            of = curves.setdefault(line["controller"], {}).setdefault(line["model"], {})
            of[float(line["loss"])] = float(line["Mb/s"])
    return curves


def _draw_response(name: str, models: dict[str, dict[float, float]], file: Path) -> None:
    """The curve of a controller as SVG; places are fixed, which is quicker than a layout."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with plots.style(), mpl.rc_context({"svg.fonttype": "none"}):
        figure = Figure(figsize=(5.2, 2.9), layout="none")
        ax = figure.add_axes((0.13, 0.17, 0.85, 0.7))
        losses = [1e-5, 1e-1]
        standard = [1.22 / math.sqrt(p) * 1500 * 8 / 0.04 / 1e6 for p in losses]
        ax.plot(losses, standard, color=plots.GREY, lw=2.5, alpha=0.5, label="1.22 / √p")
        for model, points in models.items():
            look = plots.PACKET_LOOK if model == "packet" else plots.FLUID_LOOK
            label = "packets" if model == "packet" else "fluid"
            style = {"color": plots.colour(name), "marker": "o", "ms": 4, "label": label}
            ax.plot(list(points), list(points.values()), **{**style, **look})
        ax.set(xscale="log", yscale="log", xlim=(7e-6, 0.14), ylim=(0.1, 150))
        ax.set_xticks(LOSSES, [f"{loss:g}" for loss in LOSSES])
        ax.set_yticks(RATES, [f"{rate:g}" for rate in RATES])
        ax.minorticks_off()
        ax.set(xlabel="Loss rate", ylabel="Throughput (Mb/s)")
        figure.legend(loc="upper center", ncols=3)
        figure.savefig(file, format="svg")


LOSSES, RATES = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1), (0.1, 1, 10, 100)
"""Ticks of the response curves."""


def write_controllers(docs: Path) -> None:
    """A page per registered controller in `docs`/controllers, and the list of them all."""
    folder = docs / "controllers"
    curves, data = response_curves(docs), docs / "response_curves.csv"
    for name in CONTROLLERS:
        _write(folder / f"{name}.md", controller_page(name))
        drawn = folder / f"{name}.svg"
        if not drawn.exists() or drawn.stat().st_mtime < data.stat().st_mtime:
            _draw_response(name, curves[name], drawn)
    for old in folder.glob("*.md"):
        if old.stem not in CONTROLLERS and not old.stem.startswith(("index", "rules_")):
            old.unlink()
    rows: list[tuple[object, ...]] = [
        (f"[`{name}`]({name}.md)", CONTROLLERS[name].summary, *facts)
        for name, *facts in evidence_table().itertuples(index=False)
    ]
    others = [
        f"## {title}\n\n"
        + _table(("name", "what it does"), [(f"`{k}`", v.summary) for k, v in registry.items()])
        for title, registry in (
            ("Slow-start rules", SLOW_STARTS),
            ("Queue disciplines", QUEUES),
            ("Loss recoveries", RECOVERIES),
        )
    ]
    tree = "\n".join(CONTROLLERS)
    _write(
        folder / "index.md",
        "# Algorithms\n\n"
        + _table(("controller", "what it does", "source", "constants", "tests"), rows)
        + "\n\n"
        + "\n\n".join(others)
        + f"\n\n```{{toctree}}\n:hidden:\n\n{tree}\n```\n",
    )


def _rules(module: ModuleType) -> str:
    """The rules of a contract, in the words of its module."""
    words = inspect.getdoc(module) or ""
    return "```{eval-rst}\n" + words.replace(":data:`SAMPLE`", "below") + "\n```"


def _fields(contract: str) -> str:
    """A table of the fields of `contract`."""
    table = fields()
    mine = table[table["rules of"] == contract].drop(columns="rules of")
    rows = [(f"`{name}`", unit, text) for name, unit, text in mine.itertuples(index=False)]
    return _table(tuple(mine), rows)


def fields_page() -> str:
    """The page docs/fields.md."""
    return "\n".join(
        [
            "# Fields of a rule",
            "",
            "<!-- written by python docs/pages.py from tcpcc/controllers/controller.py and"
            " tcpcc/queues/discipline.py -->",
            "",
            "`tcpcc list fields` prints these tables; [Add your own algorithm](extending.md)",
            "has examples. The state `s` also has the variables that a definition declares, `p`",
            "has its parameters. Arguments may have any names; here the third is `ack` or `q`. It",
            "also has the header fields that a definition lists in `header`.",
            "",
            "## Controllers and slow starts",
            "",
            "Rules set fields of `s`. A rule that calls another may first replace fields of `ack`.",
            "",
            _fields("controller"),
            "",
            "## Queue disciplines",
            "",
            'Rules set the fields that say "out". A field that is not known in a rule is NaN.',
            "A name in parentheses is the rule in which the field is known or used. `i` is the",
            "number of an inner queue, from 0.",
            "",
            _fields("queue"),
            "",
        ]
    )


MODULES = ("queues", "workloads", "changes", "traces", "analysis", "errors")
"""Public modules whose names docs/names.md lists, too."""


def names_page() -> str:
    """The page docs/names.md: a line per public name."""
    top = _named({name: getattr(tc, name) for name in set(tc.__all__) - {"__version__"}})
    parts = [
        "# Public names",
        "",
        "<!-- written by python docs/pages.py from the docstrings -->",
        "",
        "A line per attribute of `tcpcc`; `help(tc.Flow)` shows arguments and units.",
        "",
        top,
        "",
    ]
    for name in MODULES:
        parts += [f"## tc.{name}", "", _named(_names_of(getattr(tc, name)), f"{name}."), ""]
    return "\n".join(parts)


def _names_of(module: ModuleType) -> dict[str, object]:
    """The public names of a module: those of `__all__`, the disciplines, or the errors."""
    names = vars(module)
    if module is tc.queues:
        return {name: value for name, value in names.items() if isinstance(value, tc.Discipline)}
    if module is tc.errors:
        return {
            name: value
            for name, value in names.items()
            if isinstance(value, type) and issubclass(value, BaseException)
        }
    return {name: names[name] for name in names["__all__"]}


def _named(values: Mapping[str, object], before: str = "") -> str:
    """A table of names and the first sentence of their docstrings."""
    rows: list[tuple[object, ...]] = []
    for name in sorted(values, key=lambda x: (x.lower(), x)):
        words = (inspect.getdoc(values[name]) or "").split("\n\n")[0]
        meaning = " ".join(words.split()).replace("``", "`").replace(":func:", "")
        rows.append((f"`{before}{name}`", meaning))
    return _table(("name", "meaning"), rows)


def write_tables(docs: Path) -> None:
    """Fields of rules, and public names."""
    _write(docs / "fields.md", fields_page())
    _write(docs / "names.md", names_page())
    if LEAGUE.exists():
        _write(docs / "league.md", league_page())


def write_rules(docs: Path) -> None:
    """The rules of each contract."""
    pages = (
        ("rules_of_controllers", "Rules of a controller", controller),
        ("rules_of_queues", "Rules of a queue discipline", discipline),
        ("rules_of_slow_starts", "Rules of a slow start", start_up),
        ("rules_of_recoveries", "Rules of a loss recovery", loss_recovery),
    )
    for name, title, module in pages:
        sample = "The sender: `tcpcc/transport/flow_record.py` has its fields."
        if module is not loss_recovery:
            sample = "The sample: [fields of a rule](../fields.md)."
        text = f"# {title}\n\n{_rules(module)}\n\n{sample}\n"
        _write(docs / "controllers" / f"{name}.md", text)


def write_gallery(docs: Path) -> None:
    """A page for each script of the gallery, with the picture that it draws, and thumbnails.

    A script runs again if it or the package has changed.
    """
    thumbnails, stems = [], []
    for script in sorted((docs / "gallery").glob("*.py")):
        name, text = script.stem, script.read_text(encoding="utf-8")
        picture = script.with_suffix(".png")
        made_from, key = script.with_suffix(".key"), digest(text, package_digest())
        if not picture.exists() or not made_from.exists() or made_from.read_text() != key:
            command = [sys.executable, script.name]
            subprocess.run(command, cwd=docs / "gallery", check=True, env=_drawing())
            made_from.write_text(key)
        title, caption = (ast.get_docstring(ast.parse(text)) or "").split("\n\n", 1)
        title, code = title.rstrip("."), text[text.index('"""', 3) + 3 :].strip()
        stems.append(f"gallery/{name}")
        thumbnails.append(
            f":::{{figure}} gallery/{name}.png\n:target: gallery/{name}.html\n:alt: {title}\n\n"
            f"[{title}](gallery/{name}.md)\n:::\n"
        )
        _write(
            docs / "gallery" / f"{name}.md",
            f"# {title}\n\n:::{{figure}} {name}.png\n:alt: {title}\n\n{caption}\n:::\n\n"
            f"```sh\npython docs/gallery/{name}.py     # writes {name}.png\n```\n\n"
            f"```python\n{code}\n```\n",
        )
    grid = "::::{container} gallery\n" + "\n".join(thumbnails) + "::::\n"
    _write(docs / "thumbnails.txt", grid)
    _write(
        docs / "gallery.md",
        "# Gallery\n\nTwelve pictures, each drawn by one short script:"
        f" `python docs/gallery/NAME.py`. They are drawn anew with this page.\n\n{grid}\n"
        "```{toctree}\n:hidden:\n\n" + "\n".join(stems) + "\n```\n",
    )


def _drawing() -> dict[str, str]:
    """The environment of a script: no window, and this package."""
    root = str(Path(tc.__file__).parents[1])
    path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
    return {**os.environ, "MPLBACKEND": "agg", "PYTHONPATH": path}


def write_papers(docs: Path) -> None:
    """The papers' pages and the conformance kit's, again if what they are made of has changed."""
    kinds = (".py", ".toml", ".csv", ".md", ".html", ".gz")
    files = [file for file in sorted(harness.HERE.rglob("*")) if file.suffix in kinds]
    figures = [file.name for file in sorted(harness.FIGURES.iterdir())]
    made_from = docs / "papers" / "made_from.key"
    key = digest(package_digest(), *figures, *(file.read_bytes() for file in files))
    if made_from.exists() and made_from.read_text() == key:
        return
    paper_page.write(docs / "papers")
    _write(docs / "conformance_cases.md", conformance_page.page())
    made_from.write_text(key)


def write_notebooks(docs: Path) -> None:
    """The executed notebooks, and a page that lists them."""
    folder = docs / "notebooks"
    folder.mkdir(exist_ok=True)
    names = []
    for notebook in sorted((docs.parent / "notebooks").glob("*.ipynb")):
        if not notebook.stem[0].isdigit():  # those are tutorials
            names.append(notebook.stem)
        copy = folder / notebook.name
        if not copy.exists() or copy.stat().st_mtime < notebook.stat().st_mtime:
            shutil.copyfile(notebook, copy)
    _write(
        folder / "index.md",
        "# Notebooks\n\nExecuted when they were committed, and again by the tests. Three more are"
        " [tutorials](../tutorials.md).\n\n"
        "```{toctree}\n:maxdepth: 1\n\n" + "\n".join(names) + "\n```\n",
    )


if __name__ == "__main__":
    write_tables(Path(__file__).parent)
