"""The widget of :func:`tcpcc.explore`."""

from __future__ import annotations

import html
import math
import time
from collections.abc import Callable, Mapping
from typing import Any

import ipywidgets as w

from tcpcc.apps.interactive.canvas import MODELS, svg
from tcpcc.apps.interactive.setting import Lane, Setting, bottleneck, scenario_of, setting_of
from tcpcc.controllers import CONTROLLERS
from tcpcc.definition import Flag
from tcpcc.errors import TcpccError
from tcpcc.models import estimate, simulate
from tcpcc.queues.discipline import QUEUES
from tcpcc.results import Run
from tcpcc.scenario import Scenario

PATIENCE = 2.0
"""Largest estimated time, s, for which the fluid model runs after every move of a slider."""

MOST_FLOWS = 50
NARROW = {"description_width": "8em"}
WIDE = w.Layout(width="22em")
LEFT, RIGHT = w.Layout(flex="0 0 23em"), w.Layout(flex="1 1 0", min_width="0")


class LaneControls(w.VBox):
    """Controls of one controller: its name, its number of flows, its parameters.

    Args:
        lane: initial values.
        changed: called after every change.
        remove: called with these controls by their remove button.
    """

    def __init__(
        self, lane: Lane, changed: Callable[[], None], remove: Callable[[LaneControls], None]
    ) -> None:
        names = sorted({*CONTROLLERS, lane.controller})
        self.controller = w.Dropdown(
            options=names, value=lane.controller, description="Controller", style=NARROW,
            layout=w.Layout(width="19em"),
        )  # fmt: skip
        self.count = w.IntSlider(
            lane.count, 1, max(MOST_FLOWS, lane.count), description="Flows", style=NARROW,
            layout=WIDE,
        )  # fmt: skip
        self.params: dict[str, w.BoundedFloatText | w.Checkbox] = {}
        self.fields = w.VBox()
        small = w.Layout(width="2.4em")
        self.remove = w.Button(icon="times", tooltip="Remove this controller", layout=small)
        self.changed = changed
        self._given = dict(lane.params)
        more = w.Accordion([self.fields], titles=["Parameters"])
        super().__init__([w.HBox([self.controller, self.remove]), self.count, more])
        self._show_params()
        self.controller.observe(self._other, "value")
        self.count.observe(lambda change: changed(), "value")
        self.remove.on_click(lambda button: remove(self))

    @property
    def lane(self) -> Lane:
        """The values of the controls."""
        declared = CONTROLLERS[self.controller.value].params if self.params else {}
        params = {
            name: field.value
            for name, field in self.params.items()
            if name in self._given or field.value != declared[name].default
        }
        return Lane(self.controller.value, self.count.value, params)

    def _other(self, change: Any) -> None:
        self._given = {}
        self._show_params()
        self.changed()

    def _show_params(self) -> None:
        name = self.controller.value
        declared = CONTROLLERS[name].params if name in CONTROLLERS else {}
        self.params = {}
        for key, param in declared.items():
            value = param.plain(self._given.get(key, param.default))
            look = {
                "description": key, "tooltip": f"{param.doc} ({param.unit})",
                "style": NARROW, "layout": WIDE,
            }  # fmt: skip
            if isinstance(param, Flag):
                field = w.Checkbox(value, **look)
            else:
                low, high = max(param.low, -1e12), min(param.high, 1e12)
                field = w.BoundedFloatText(value, min=low, max=high, step=None, **look)
            field.observe(lambda change: self.changed(), "value")
            self.params[key] = field
        none = w.HTML("No parameters.")
        self.fields.children = tuple(self.params.values()) or (none,)


class Explorer(w.HBox):
    """The widget: controls on the left, figures of the runs on the right.

    Args:
        starts: initial scenarios, by name.

    Attributes:
        scenario: scenario of the controls; the last valid one.
        runs: runs of that scenario, by model: "fluid", and "packet" after it is requested.
        seconds: time of the last redraw including the simulation, s.
    """

    def __init__(self, starts: Mapping[str, Scenario]) -> None:
        self.starts = dict(starts)
        self.runs: dict[str, Run] = {}
        self.seconds = math.nan
        self._quiet = False
        self.start = w.Dropdown(options=list(starts), description="Scenario", style=NARROW)
        self.start.layout = w.Layout(width="22em", display="" if len(starts) > 1 else "none")
        look: dict[str, Any] = {"style": NARROW, "layout": WIDE}
        self.rate = w.FloatLogSlider(
            min=-1, max=4, step=0.001, description="Rate (Mb/s)", readout_format=".3g", **look
        )
        self.rtt = w.FloatSlider(
            min=0.1, max=500, step=0.1, description="Base RTT (ms)", readout_format=".1f", **look
        )
        hideable = w.Layout(width="22em")  # if the buffer is unlimited
        self.buffer = w.BoundedFloatText(min=1, max=1e9, style=NARROW, layout=hideable)
        self.queue = w.Dropdown(options=sorted(QUEUES), description="Queue", **look)
        self.duration = w.BoundedFloatText(min=0.1, max=1e5, description="Duration (s)", **look)
        self.add = w.Button(description="Add a controller", icon="plus")
        self.packets = w.Button(description="Run packets", button_style="primary")
        self.lanes = w.VBox()
        self.picture = w.HTML()
        self.message = w.HTML()
        self.table = w.HTML()
        controls = [self.start, self.rate, self.rtt, self.buffer, self.queue, self.duration]
        super().__init__(
            [
                w.VBox([*controls, self.lanes, w.HBox([self.add, self.packets])], layout=LEFT),
                w.VBox([self.picture, self.message, self.table], layout=RIGHT),
            ],
        )
        for control in (self.rate, self.rtt, self.buffer, self.queue, self.duration):
            control.observe(lambda change: self.redraw(), "value")
        self.start.observe(lambda change: self.begin(), "value")
        self.add.on_click(lambda button: self.race())
        self.packets.on_click(lambda button: self.run_packets())
        self.begin()

    # Controls.

    @property
    def setting(self) -> Setting:
        """The values of all controls."""
        return Setting(
            rate=self._exact("rate", self.rate.value * 1e6),
            rtt=self._exact("rtt", self.rtt.value / 1e3),
            buffer=self.buffer.value if math.isfinite(self._first.buffer) else math.inf,
            queue=self.queue.value,
            duration=self.duration.value,
            lanes=tuple(controls.lane for controls in self.lanes.children),
        )

    def begin(self) -> None:
        """Set all controls to the chosen initial scenario, and draw it."""
        self.scenario = self.starts[self.start.value]
        self._first = first = setting_of(self.scenario)
        self._quiet = True
        self.rate.value = first.rate / 1e6
        self.rtt.max = max(500.0, 2e3 * first.rtt)
        self.rtt.value = first.rtt * 1e3
        endless = math.isinf(first.buffer)
        self.buffer.disabled = endless
        self.buffer.layout.display = "none" if endless else ""
        self.buffer.description = f"Buffer ({bottleneck(self.scenario.net).buffer_unit})"
        self.buffer.value = self.buffer.max if endless else first.buffer
        self.queue.value, self.duration.value = first.queue, first.duration
        self.lanes.children = tuple(self._controls(lane) for lane in first.lanes)
        self._shown = self.rate.value, self.rtt.value
        self._quiet = False
        self.runs = {}
        self.redraw()

    def race(self, controller: str = "cubic") -> LaneControls:
        """Add a controller; returns its controls."""
        controls = self._controls(Lane(controller))
        self.lanes.children = (*self.lanes.children, controls)
        self.redraw()
        return controls

    def _controls(self, lane: Lane) -> LaneControls:
        return LaneControls(lane, self.redraw, self._take_away)

    def _take_away(self, controls: LaneControls) -> None:
        if len(self.lanes.children) > 1:
            self.lanes.children = tuple(c for c in self.lanes.children if c is not controls)
            self.redraw()

    def _exact(self, name: str, shown: float) -> float:
        """The scenario's exact value until the slider, which rounds, is moved."""
        k = ("rate", "rtt").index(name)
        moved = (self.rate.value, self.rtt.value)[k] != self._shown[k]
        return shown if moved else float(getattr(self._first, name))

    # Simulation.

    def redraw(self) -> None:
        """Simulate with the fluid model and draw; an error is shown below the figure."""
        if self._quiet:
            return
        try:
            scenario = scenario_of(self.starts[self.start.value], self.setting)
            if scenario != self.scenario:
                self.runs = {}
            self.scenario = scenario
            expected = estimate(scenario, "fluid").seconds
            if expected > PATIENCE:
                self._show_message(
                    f"The fluid model would take about {expected:.0f} s. Run packets instead."
                )
                return
            self._simulate("fluid")
        except TcpccError as error:
            self._show_message(str(error), wrong=True)

    def run_packets(self) -> None:
        """Simulate with the packet model too, and draw both."""
        try:
            self._show_message(f"Packets: about {estimate(self.scenario).seconds:.1f} s ...")
            self._simulate("packet")
        except TcpccError as error:
            self._show_message(str(error), wrong=True)

    def _simulate(self, model: str) -> None:
        begin = time.perf_counter()
        self.runs[model] = simulate(self.scenario, model=model, progress=False)
        order = {name: self.runs[name] for name in MODELS if name in self.runs}
        self.picture.value = svg(order)
        self.table.value = _table(order)
        self.seconds = time.perf_counter() - begin
        self._show_message(f"{MODELS[model].capitalize()}: {self.seconds:.2f} s.")

    def _show_message(self, text: str, wrong: bool = False) -> None:
        colour = "#a3241a" if wrong else "#555"
        self.message.value = f'<span style="color:{colour}">{html.escape(text)}</span>'


def _table(runs: Mapping[str, Run]) -> str:
    """Throughput per controller, utilization and fairness over the second half of the run."""
    lines = []
    for model, run in runs.items():
        half = run.duration / 2
        rates = run.throughput(after=half)
        kinds = [str(kind) for kind in run.data["controller"].values]
        parts = [
            f"{kind} {float(rates.values[[k == kind for k in kinds]].mean()) / 1e6:.3g} Mb/s"
            for kind in dict.fromkeys(kinds)
        ]
        if run.links:
            link = run.busiest_link(after=half)
            name = "link" if len(run.links) == 1 else link
            parts.append(f"{name} {run.utilization(link, after=half):.1%} used")
        if len(run.active(after=half)) > 1:
            parts.append(f"Jain's index {run.jain_index(after=half):.3f}")
        lines.append(f"<b>{MODELS[model]}</b>, second half: {html.escape(', '.join(parts))}")
    return "<br>".join(lines)
