"""A scenario as one HTML file that simulates in the browser: :func:`to_html`.

The machine code of the packet model and of the fluid model runs there, as WebAssembly. The page
needs no server, no network and no Python.
"""

from __future__ import annotations

import html
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tcpcc.apps.browser.control import (
    CONTROLS,
    checked,
    fits,
    with_controller,
    with_single_flows,
)
from tcpcc.engine.jit import INTERPRETED
from tcpcc.errors import ScenarioError, TcpccError
from tcpcc.scenario import Flow, Scenario
from tcpcc.scenario.spec import require_scenario

if TYPE_CHECKING:
    from tcpcc.apps.browser.model_data import Choices

__all__ = ["to_html"]

CONTROLLERS = (
    "reno", "cubic", "vegas", "quick_vegas", "fusion", "westwood_rbe", "bbr", "bbr3",
)  # fmt: skip
QUEUES = ("droptail", "red", "codel", "pie", "dualpi2")


class HtmlPage(str):
    """The text of a page, which a notebook shows as a frame."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<HtmlPage of {len(self.encode()) / 1e3:.0f} kB>"

    def _repr_html_(self) -> str:
        frame = 'style="width: 100%; height: 720px; border: 0"'
        return f'<iframe title="tcpcc" srcdoc="{html.escape(self)}" {frame}></iframe>'


def to_html(
    scenario: Scenario,
    path: str | Path | None = None,
    *,
    controls: Iterable[str] = CONTROLS,
    controllers: Iterable[str] | None = None,
    queues: Iterable[str] | None = None,
    fluid: bool | None = None,
    title: str | None = None,
) -> HtmlPage:
    """Write a scenario as an HTML page that simulates it, in the packet and the fluid model.

    The page is one file that loads nothing. The scenario runs as the page opens; windows, queue and
    throughput of both models are drawn meanwhile. The page of two flows also has a map: what
    thousands of runs of the fluid model give over two quantities. Results have the same bits as
    those of `tcpcc.simulate`, except that powers, exponentials and logarithms are correctly rounded
    (a system's library errs in the last bit in about one of a thousand).

    Args:
        scenario: initial settings. It has at most 16 flows, without groups and workloads.
        path: file to write. Default: none.
        controls: what the reader can change, of "rate", "delay", "buffer", "loss", "queue",
            "controllers", "starts" and "seed"; rate, delay, buffer, loss and queue are those of the
            bottleneck, the slowest link with a finite buffer. Default: all.
        controllers: names of controllers to choose from, besides those of the scenario. Default:
            Reno, CUBIC, Vegas, Quick Vegas, Fusion, Westwood RBE, BBR and BBRv3.
        queues: names of queue disciplines to choose from, besides that of the scenario. Default:
            drop-tail, RED, CoDel, PIE and DualPI2.
        fluid: whether the page has the fluid model, too. Default: unless a control decides which
            links can have a queue.
        title: heading of the page. Default: the number of flows.

    Returns:
        the text of the page, a `str`. A notebook shows it as the page, also when exported to HTML.

    Raises:
        ScenarioError: an unknown name, or a scenario that a page cannot run.
        TcpccError: the file cannot be written, or ``NUMBA_DISABLE_JIT`` is set.

    >>> import tcpcc as tc
    >>> net = tc.dumbbell(rate="10 Mbps", delay="20 ms", buffer=50)
    >>> scenario = tc.Scenario(net, [tc.Flow("reno"), tc.Flow("cubic", start=5)], duration=60)
    >>> text = tc.to_html(scenario, "page.html")  # doctest: +SKIP
    """
    from tcpcc.apps.browser.page_data import PageData
    from tcpcc.apps.browser.page_text import page

    text = HtmlPage(page(PageData(choices(scenario, controls, controllers, queues, fluid)), title))
    if path is not None:
        from tcpcc.files import whole_file

        try:
            with whole_file(path) as part:
                part.write_text(text, encoding="utf-8", newline="\n")
        except OSError as error:
            raise TcpccError(f"cannot write {str(path)!r}: {error.strerror or error}") from None
    return text


def choices(
    scenario: Scenario,
    controls: Iterable[str] = CONTROLS,
    controllers: Iterable[str] | None = None,
    queues: Iterable[str] | None = None,
    fluid: bool | None = None,
) -> Choices:
    """What a page's reader can choose; arguments are those of `to_html`."""
    from tcpcc.apps.browser.fluid_data import check_fluid
    from tcpcc.apps.browser.model_data import Choices
    from tcpcc.controllers import CONTROLLERS as KNOWN
    from tcpcc.queues import QUEUES as DISCIPLINES
    from tcpcc.scenario.network import bottleneck

    if INTERPRETED:
        raise TcpccError("NUMBA_DISABLE_JIT is set: a page needs compiled rules")
    require_scenario(scenario)
    shown = checked(list(controls), CONTROLS, "control")
    start = with_single_flows(scenario)
    senders = [i for i, flow in enumerate(start.flows) if isinstance(flow, Flow)]
    own = [flow.controller for flow in start.flows if isinstance(flow, Flow)]
    names = list(controllers) if controllers is not None else list(CONTROLLERS)
    checked(names, list(KNOWN), "controller")
    if "controllers" not in shown:
        names = []
    for name in list(names):
        if not any(fits(start, i, name) for i in senders):
            if controllers is not None:
                with_controller(start, senders[0], name)  # raises the error
            names.remove(name)
    queue = bottleneck(start.net).queue
    others = list(queues) if queues is not None else list(QUEUES)
    checked(others, list(DISCIPLINES), "queue")
    specs = [DISCIPLINES[name]() for name in others if name != queue.name]
    chosen = Choices(
        start,
        shown,
        tuple(dict.fromkeys([*names, *own])),
        (queue, *specs) if "queue" in shown else (queue,),
        fluid is not False,
    )
    if chosen.fluid:
        try:
            check_fluid(chosen)
        except ScenarioError:
            if fluid:
                raise
            chosen = replace(chosen, fluid=False)
    return chosen
