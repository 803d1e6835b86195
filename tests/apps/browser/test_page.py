"""A page in Chromium: the bits of the native engine, keyboard, sizes, nothing loaded."""

import base64
import csv
import io
import json
import math
import time
from contextlib import contextmanager
from itertools import product

import numpy as np
import pytest
from browser import browser, listen
from sampled import some

import tcpcc as tc
from tcpcc.apps.browser import choices, control
from tcpcc.apps.browser.page_data import PageData
from tcpcc.apps.browser.page_text import page as text_of
from tcpcc.engine.streams import entropy, seed_stream
from tcpcc.models.fluid.fluid_world import FluidWorld
from tcpcc.models.packet.compiled_driver import CompiledSimulation

LARGEST = 400_000
"""Bytes of a page."""

PATIENCE = 300
"""s."""

LEAST_ADDRESS = 2**32
"""Larger integers are addresses of this machine."""

DURATION = 450.0
NET = tc.dumbbell(rate="10 Mbps", delay="20 ms", buffer=50)
SCENARIO = tc.Scenario(NET, [tc.Flow("reno"), tc.Flow("cubic", start=5)], duration=DURATION)


@pytest.fixture(scope="module")
def data():
    return PageData(choices(SCENARIO))


@pytest.fixture(scope="module")
def short_data():
    return PageData(choices(SCENARIO.replace(duration=60)))


def written(data, tmp_path_factory):
    """The address of the page with these data."""
    file = tmp_path_factory.mktemp("page") / "page.html"
    file.write_text(text_of(data), encoding="utf-8")
    return file.as_uri()


@pytest.fixture(scope="module")
def long_address(data, tmp_path_factory):
    return written(data, tmp_path_factory)


@pytest.fixture(scope="module")
def address(short_data, tmp_path_factory):
    return written(short_data, tmp_path_factory)


@pytest.fixture(scope="module")
def chromium():
    with browser() as running:
        yield running


@pytest.fixture
def page(chromium, address):
    """The page of a run that takes little time."""
    with opened(chromium, address) as page:
        yield page


@pytest.fixture
def long_page(chromium, long_address):
    """The page of a run whose results are compared."""
    with opened(chromium, long_address) as page:
        yield page


@contextmanager
def opened(chromium, address):
    """A page, with its requests and complaints, after its first run has begun."""
    page = chromium.new_page(viewport={"width": 1280, "height": 900})
    page.complaints, page.requests = listen(page), []
    page.on("request", lambda request: page.requests.append(request.url))
    page.goto(address)
    until(page, "Boolean(window.tcpcc) || !document.getElementById('failure').hidden")
    assert page.complaints == []  # or else each test would wait for a page that cannot run
    yield page
    assert page.complaints == []
    page.close()


def until(page, condition):
    """Wait: the page's security policy refuses `wait_for_function`."""
    end = time.monotonic() + PATIENCE
    while not page.evaluate(condition):
        assert time.monotonic() < end, condition
        time.sleep(0.05)


def run_again(page):
    """Wait for the end of the run after a change, which begins 40 ms later."""
    page.evaluate("new Promise((done) => setTimeout(done, 50))")
    until(page, "tcpcc.done")


def finished(page):
    page.select_option("#speed", "Infinity")
    until(page, "tcpcc.done")


def run_in_page(page, model, **changes):
    """Run with some settings changed: events or steps, and the bytes of the senders' records."""
    return page.evaluate(
        """([changes, model]) => {
          const { config } = tcpcc, simulation = tcpcc[model];
          tcpcc.pause(true);
          const settings = tcpcc.defaults();
          for (const [key, value] of Object.entries(changes))
            if (key === "values") Object.assign(settings.values, value);
            else settings[key] = value;
          simulation.begin(settings);
          simulation.advance(config.duration);
          const { at, size } = simulation.layout.tcp ?? simulation.layout.flow;
          const raw = simulation.bytes.slice(at, at + size * config.flows.length);
          return { count: simulation.events ?? simulation.k,
                   senders: btoa(String.fromCharCode(...raw)) };
        }""",
        [changes, model],
    )


def native(data, model, controllers=None, queue=0, values=None, starts=None, seed=None):
    """The same run by the native engine: events or steps, and the senders' records."""
    of = data.choices
    scenario = control.with_queue(of.scenario, of.queues[queue])
    for i, c in enumerate(controllers or ()):
        if c is not None:
            scenario = control.with_controller(scenario, i, of.controllers[c])
    for slider in data.sliders:
        if slider.name in (values or {}):
            value = slider.in_model(values[slider.name])
            scenario = control.with_value(scenario, slider.name, value)
    for i, start in enumerate(starts or ()):
        if not isinstance(scenario.flows[i], tc.CBR):
            scenario = control.with_start(scenario, i, start)
    scenario = scenario.replace(seed=scenario.seed if seed is None else seed)
    if model == "fluid":
        world = FluidWorld(scenario)
        world.run(world.end)
        return world.end, world.flows
    simulation = CompiledSimulation(scenario)
    simulation.advance(scenario.duration)
    return int(simulation.world.w["events"][0]), simulation.world.tcp


CASES = {
    "reno, cubic": {},
    "vegas, bbr": {"controllers": ["vegas", "bbr"], "starts": [2, 2]},
    "quick vegas, fusion": {"controllers": ["quick_vegas", "fusion"]},
    "westwood, bbr3": {"controllers": ["westwood_rbe", "bbr3"], "seed": 12345},
    "red": {"queue": "red", "seed": 7},
    "codel": {"queue": "codel", "controllers": ["bbr", "cubic"]},
    "codel, many waiting": {"queue": "codel", "values": {"rate": 40, "buffer": 800}},
    "pie": {"queue": "pie", "controllers": ["cubic", "cubic"]},
    "dualpi2": {"queue": "dualpi2", "controllers": ["reno", "bbr"]},
    "sliders": {"values": {"rate": 50, "delay": 35, "buffer": 200, "loss": 0.02},
                "starts": [3, 1.5], "seed": 2**33 + 1},
}  # fmt: skip


@pytest.mark.parametrize(("model", "least"), [("simulation", 5e5), ("fluid", 1e5)])
@pytest.mark.parametrize("case", some(CASES, {"reno, cubic", "westwood, bbr3", "codel"}))
def test_senders_have_the_bits_of_the_native_engine(long_page, data, case, model, least):
    """All fields but addresses, after half a million events or 100,000 steps."""
    settings = dict(CASES[case])
    of = data.choices
    if "controllers" in settings:
        settings["controllers"] = [of.controllers.index(name) for name in settings["controllers"]]
    if "queue" in settings:
        settings["queue"] = [queue.name for queue in of.queues].index(settings["queue"])
    here = run_in_page(long_page, model, **settings)
    assert_equal_runs(here, native(data, model, **settings))
    assert here["count"] > least


def assert_equal_runs(here, there):
    """Sizes of rings are equal, too: room grows at the same moments."""
    count, senders = there
    assert here["count"] == count
    assert_equal(here["senders"], senders, {"delivery"})  # a pointer of a sender without pacing


def assert_equal(raw, array, but=()):
    """The bytes of an array in the page are those of this array, except fields of addresses."""
    there = np.frombuffer(base64.b64decode(raw), array.dtype)
    assert len(there) == len(array)
    for name in set(array.dtype.names) - set(but):
        is_real = array[name].dtype.kind == "f"
        if is_real or np.all(array[name] < LEAST_ADDRESS):
            assert np.array_equal(there[name], array[name], equal_nan=is_real), name


BOTTLENECK = {"rate": "10 Mbps", "delay": "20 ms", "buffer": 50}
PARKING_LOT = tc.parking_lot(2, "10 Mbps", "24 ms", 40)
SHORT_AND_LONG = PARKING_LOT.replace(
    links=[
        link.replace(buffer=40, delay=0 if "r0" in (link.src, link.dst) else link.delay)
        for link in PARKING_LOT.links
    ]
)
NETWORKS = {
    "CBR": tc.Scenario(  # CoDel has one lane more than drop-tail
        tc.dumbbell(**BOTTLENECK), [tc.Flow("bbr"), tc.CBR("4 Mbps", on=[(10, None)])], duration=40
    ),
    "CBR, packets that overtake": tc.Scenario(
        tc.dumbbell(**BOTTLENECK, jitter="5 ms", reordering=True),
        [tc.Flow("vegas"), tc.CBR("4 Mbps", on=[(10, 20), (30, None)])],
        duration=40,
    ),
    "parking lot, changes": tc.Scenario(
        tc.parking_lot(3, "10 Mbps", "10 ms", 40),
        [tc.Flow("reno"), tc.Flow("bbr3", source="r1", target="r3", start=2)],
        changes=[tc.Change(10, "r1>r2", rate="3 Mbps"), tc.Change(20, "r1>r2", rate="12 Mbps")],
        duration=40,
    ),
    "two ways": tc.Scenario(  # a path crosses the links against the order in which they are served
        tc.dumbbell(**BOTTLENECK, reverse_buffer=30),
        [tc.Flow("reno"), tc.Flow("cubic", source="right", target="left", start=1)],
        changes=[tc.Change(12, "bottleneck", delay="25 ms", buffer=20)],
        duration=40,
    ),
    "no delay between links": tc.Scenario(  # less than half a step, against the order of serving
        SHORT_AND_LONG,
        [
            tc.Flow("reno", source="r0", target="r2"),
            tc.Flow("cubic", source="r2", target="r0", start=1),
        ],
        duration=40,
    ),
    "Linux, writes": tc.Scenario(
        tc.dumbbell(**BOTTLENECK),
        [tc.Flow.linux("cubic"), tc.Flow("reno", writes=[(0, 100), (10, "2 MB"), (20, None)])],
        duration=40,
    ),
    "marks": tc.Scenario(
        tc.dumbbell(**{**BOTTLENECK, "rate": "50 Mbps", "buffer": 500}, queue="dualpi2"),
        [tc.Flow("prague", transport=tc.Transport(ecn="l4s")), tc.Flow("cubic", start=1)],
        duration=20,
    ),
}


@pytest.fixture(
    scope="module", params=some(("dumbbell", *NETWORKS), {"dumbbell", "parking lot, changes"})
)
def network(request, tmp_path_factory, chromium):
    """The data of a page of a network, and the page."""
    scenario = SCENARIO if request.param == "dumbbell" else NETWORKS[request.param]
    data = PageData(choices(scenario, controllers=["cubic"], queues=["codel"]))
    with opened(chromium, written(data, tmp_path_factory)) as page:
        yield data, page


def test_networks_have_the_bits_of_the_native_engine(network):
    """As they are; the first flow with CUBIC over CoDel; flows that start later."""
    data, page = network
    first = data.choices.controllers.index("cubic")
    rest = [flow["controller"] for flow in data.config["flows"][1:]]
    other = {"queue": 1, "controllers": [first, *rest]}
    later = {"starts": [0.3, *(0.1 + flow["start"] for flow in data.config["flows"][1:])]}
    for model, settings in product(("simulation", "fluid"), ({}, other, later)):
        assert_equal_runs(run_in_page(page, model, **settings), native(data, model, **settings))
    assert page.complaints == []


LAYOUTS = [
    {},
    {"rate": 1, "delay": 200, "buffer": 3, "loss": 10},
    {"rate": 100, "delay": 2, "buffer": 1000, "loss": 0},
    {"rate": 33.3, "delay": 7.77},
    {"rate": 2.34, "delay": 123},
]


def test_the_page_lays_out_the_fluid_as_its_world(network):
    """Time step, delays in steps, tables, changes and queues, before the first step."""
    data, page = network
    for queue, values in product((0, 1), LAYOUTS):
        here = page.evaluate(
            """([queue, values]) => {
              const settings = { ...tcpcc.defaults(), queue };
              Object.assign(settings.values, values);
              tcpcc.pause(true);
              const { fluid } = tcpcc, { layout } = fluid;
              fluid.begin(settings);
              const text = (bytes) => btoa(String.fromCharCode(...bytes));
              const raw = (at, size) => text(fluid.bytes.slice(at, at + size));
              const { flow, hop, queue: link, change } = layout;
              const n = fluid.whole(fluid.inWorld("n_changes"));
              return {
                w: raw(layout.w, layout.world.size), rows: fluid.rows,
                flows: raw(flow.at, flow.size * fluid.model.flows.length),
                hops: raw(hop.at, hop.size * fluid.model.flows.flatMap((x) => x.way).length),
                links: raw(link.at, link.size * Math.max(...fluid.links.map((x) => x.place + 1))),
                changes: raw(fluid.arrays.changes, n * change.size),
              };
            }""",
            [queue, values],
        )
        scenario = control.with_queue(data.choices.scenario, data.choices.queues[queue])
        for slider in reversed(data.sliders):  # the rate last: another link may be the slowest then
            value = slider.in_model(values.get(slider.name, slider.value))
            scenario = control.with_value(scenario, slider.name, value)
        world = FluidWorld(scenario)
        arrays = {name: getattr(world, name) for name in ("w", "flows", "hops", "links", "changes")}
        for of, array in arrays.items():
            assert_equal(here[of], array)


@pytest.mark.long
def test_longer_waits_make_the_tables_of_the_fluid_longer(long_page, data):
    """Half a second of waiting, at steps of a millisecond."""
    settings = {"values": {"rate": 10, "delay": 8, "buffer": 800}}
    long_page.evaluate("tcpcc.fluid.lengthened = 0")
    long_page.evaluate(
        """() => {
          const { lengthen } = Fluid.prototype;
          Fluid.prototype.lengthen = function () { this.lengthened += 1; lengthen.call(this); };
        }"""
    )
    here = run_in_page(long_page, "fluid", **settings)
    assert long_page.evaluate("tcpcc.fluid.lengthened") > 2
    assert_equal_runs(here, native(data, "fluid", **settings))


@pytest.mark.long
def test_streams_of_random_numbers_are_those_of_the_package(page):
    for seed in (0, 1, 2**32 - 1, 2**40 + 3):
        for name in ("link bottleneck: queue", "flow reno1: controller"):
            record = {}
            seed_stream(record, seed, name)
            words = [entropy(name) >> 32 * k & 2**32 - 1 for k in range(4)]
            assert page.evaluate("([s, w]) => streamOf(s, w)", [seed, words]) == [*record.values()]


def test_nothing_is_loaded_and_nothing_can_be_sent(page, address):
    finished(page)
    assert page.requests == [address]
    refused = page.evaluate(
        """new Promise((done) => {
          document.addEventListener("securitypolicyviolation", (e) => done(e.effectiveDirective));
          fetch("https://example.invalid").catch(() => {});
        })"""
    )
    assert refused == "connect-src"
    page.complaints.clear()


@pytest.mark.parametrize(
    ("model", "record", "rel"),
    [
        ("packet", "record", 1e-12),
        pytest.param("fluid", "fluidRecord", 1e-9, marks=pytest.mark.long),
    ],
)
def test_the_measures_are_those_of_a_run(long_page, model, record, rel):
    run = tc.simulate(SCENARIO, model=model)
    finished(long_page)
    found, settled = long_page.evaluate(
        """(name) => {
          const record = tcpcc[name], after = 100;
          return [[record.fairness(after), record.utilization(after),
                   record.throughputRatio([0], [1], after), ...record.throughput(after)],
                  record.flows.map((flow) => record.settlingTime(flow))];
        }""",
        record,
    )
    rates = run.throughput(after=100).values
    wanted = [run.jain_index(after=100), run.utilization(after=100), rates[0] / rates[1], *rates]
    assert found == pytest.approx(wanted, rel=rel)
    times = [run.settling_time(name) for name in run.flows]
    assert settled == pytest.approx(times, rel=1e-9, nan_ok=True)
    if model == "packet":
        assert max(times) > 10
    else:
        shown = long_page.locator("#fluid-fairness").inner_text()
        assert shown == f"{run.jain_index(after=5):.3f}"


def test_the_fluid_model_can_be_switched_off(page):
    finished(page)
    page.get_by_role("checkbox", name="Fluid model").uncheck()
    until(page, "tcpcc.done && tcpcc.fluidRecord === null")
    assert page.url.endswith("#fluid=0")
    assert page.locator("#fluid-fairness").inner_text() == ""
    assert "fluid" not in page.locator("#table").inner_text()


@pytest.mark.long
def test_the_map_shows_runs_of_the_fluid_model(page, short_data, address):
    """Its points are runs of the package; it keeps its picture while a slider of its axes moves."""
    finished(page)
    page.get_by_text("Map of two quantities").click()
    until(page, "tcpcc.map.values !== null")
    points = page.evaluate("[...tcpcc.map.values.entries()].slice(0, 49)")
    across, up = (next(s for s in short_data.sliders if s.name == n) for n in ("buffer", "delay"))
    for index, found in (points[0], points[17], points[-1]):
        x, y = page.evaluate(
            """(k) => [["map-x", k % POINTS], ["map-y", Math.floor(k / POINTS)]].map(
                 ([id, place]) => valueAt(tcpcc.map.axis(id), (place + 0.5) / POINTS))""",
            index,
        )
        scenario = control.with_value(short_data.choices.scenario, "buffer", across.in_model(x))
        scenario = control.with_value(scenario, "delay", up.in_model(y))
        run = tc.simulate(scenario, model="fluid")
        rates = run.throughput(after=5).values
        assert found["share"] == pytest.approx(rates[0] / sum(rates), rel=1e-12)
        assert found["queue"] == pytest.approx(run.queue_mean(after=5), rel=1e-9)
        assert found["utilization"] == pytest.approx(run.utilization(after=5), rel=1e-12)
    job = page.evaluate("tcpcc.map.job")
    before = page.evaluate("tcpcc.simulation.events")
    page.locator("#buffer-range").press("PageUp")
    until(page, f"tcpcc.done && tcpcc.simulation.events !== {before}")
    assert page.evaluate("tcpcc.map.job") == job
    page.locator("#rate-range").press("PageUp")
    until(page, f"tcpcc.map.job > {job}")
    until(page, "tcpcc.map.values === tcpcc.map.fresh")
    assert {each.split(":")[0] for each in page.requests} == {"file", "blob"}
    assert page.evaluate("document.getElementById('map-canvas').ariaLabel").startswith("share of")


@pytest.mark.long
def test_a_notebook_exported_to_html_stays_alive(chromium, tmp_path):
    """The frame that `run.explore()` shows runs both models, and the map."""
    run = tc.simulate(SCENARIO.replace(duration=20), model="fluid")
    frame = run.explore(controls=["buffer", "delay"])._repr_html_()
    (tmp_path / "notebook.html").write_text(f"<!doctype html><h1>Notebook</h1>{frame}")
    page = chromium.new_page()
    complaints = listen(page)
    page.goto((tmp_path / "notebook.html").as_uri())
    inside = page.frame_locator("iframe")
    inside.get_by_text("Map of two quantities").click()
    inside.locator("#table tbody tr").nth(3).wait_for()
    assert "cubic 2, fluid" in inside.locator("#table").inner_text()
    within = page.frames[1]
    until(within, "tcpcc.done && tcpcc.map.values !== null")
    assert within.evaluate("tcpcc.record.throughput(10)") == pytest.approx(
        tc.simulate(run.scenario).throughput(after=10).values, rel=1e-12
    )
    assert complaints == []
    page.close()


@pytest.mark.long
def test_a_place_of_the_map_sets_the_sliders(page):
    finished(page)
    page.get_by_text("Map of two quantities").click()
    page.locator("#map-canvas").scroll_into_view_if_needed()
    box = page.locator("#map-canvas").bounding_box()
    page.mouse.click(box["x"] + 80, box["y"] + 12)
    until(page, "tcpcc.settings.values.delay > 150")
    assert page.evaluate("tcpcc.settings.values.buffer") < 10


@pytest.mark.long
def test_the_convergence_time_is_that_of_a_run(long_page, data):
    """Vegas settles, Reno does not."""
    of = data.choices
    vegas = of.controllers.index("vegas")
    found = long_page.evaluate(
        """(vegas) => {
          tcpcc.settings.controllers = [vegas, vegas];
          tcpcc.pause(true);
          tcpcc.simulation.begin(tcpcc.settings);
          tcpcc.simulation.advance(tcpcc.config.duration);
          const record = new Record(tcpcc.simulation, tcpcc.settings);
          return record.flows.map((flow) => record.convergenceTime(flow));
        }""",
        vegas,
    )
    scenario = of.scenario
    for i in (0, 1):
        scenario = control.with_controller(scenario, i, "vegas")
    run = tc.simulate(scenario)
    assert found == pytest.approx([run.convergence_time(name) for name in run.flows], rel=1e-12)
    assert math.isnan(tc.simulate(SCENARIO).convergence_time("reno1"))


@pytest.mark.long
def test_the_csv_is_that_of_a_run(long_page, tmp_path):
    run = tc.simulate(SCENARIO)
    run.to_csv(tmp_path / "run.csv")
    finished(long_page)
    long_page.evaluate(
        """() => {
          const { simulation, settings, config } = tcpcc;
          simulation.begin(settings);
          simulation.advance(3);
          new Record(simulation, settings); // before the second flow starts
          simulation.advance(config.duration);
          tcpcc.record = new Record(simulation, settings);
        }"""
    )
    with long_page.expect_download() as download:
        long_page.get_by_role("button", name="Download CSV").click()
    there = list(csv.DictReader(io.StringIO(download.value.path().read_text())))
    here = list(csv.DictReader((tmp_path / "run.csv").open()))
    assert there[0].keys() == here[0].keys()
    for mine, other in zip(there, here, strict=True):
        for name, value in mine.items():
            number = other[name]
            assert value == number or float(value) == float(number), (name, mine, other)


def test_a_link_holds_the_settings(page):
    finished(page)
    page.get_by_label("Rate, Mb/s").fill("25")
    page.get_by_label("Rate, Mb/s").press("Enter")
    page.get_by_label("Flow 2", exact=True).select_option("bbr3")
    page.get_by_label("Queue discipline").select_option("codel")
    page.get_by_text("Parameters of codel").click()
    page.get_by_label("target").fill("0.01")
    page.get_by_label("target").press("Enter")
    run_again(page)
    before, link = page.evaluate("tcpcc.simulation.events"), page.url
    page.goto("about:blank")
    page.goto(link)
    until(page, "Boolean(window.tcpcc)")
    finished(page)
    assert page.evaluate("tcpcc.simulation.events") == before
    settings = page.evaluate("tcpcc.settings")
    assert settings["values"]["rate"] == 25
    assert settings["params"]["codel"]["target"] == 0.01
    page.get_by_role("button", name="Reset all").click()
    until(page, "Boolean(window.tcpcc)")
    assert page.evaluate("tcpcc.settings.values.rate") == 10


def test_a_link_with_nonsense_is_the_page_itself(page, address):
    page.goto("about:blank")
    page.goto(
        f"{address}#rate=x&buffer=1e9&queue=none&flow.9=reno&flow.1=<b>&codel.nothing=1&seed="
    )
    until(page, "Boolean(window.tcpcc)")
    settings, start = page.evaluate("[tcpcc.settings, tcpcc.start]")
    assert settings["values"].pop("buffer") == 1000  # the largest
    start["values"].pop("buffer")
    assert settings == {**start, "rate": settings["rate"]}


def test_a_slider_runs_again(page):
    finished(page)
    before = page.locator("#utilization").inner_text(), page.evaluate("tcpcc.simulation.events")
    page.locator("#rate-range").press("PageUp")
    until(page, f"tcpcc.done && tcpcc.simulation.events > {before[1]}")
    assert page.evaluate("tcpcc.settings.values.rate") > 10


def test_the_keyboard_reaches_all(page):
    """Tab stops at every control, in the order of the page."""
    finished(page)
    page.locator("#map").evaluate("(details) => { details.open = true; }")
    page.evaluate("document.activeElement.blur()")
    wanted = page.evaluate(
        """[...document.querySelectorAll("button, select, input, summary")]
           .filter((each) => each.checkVisibility()).map((each) => each.id || each.innerText)"""
    )
    reached = []
    for _ in wanted:
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate("document.activeElement.id || document.activeElement.innerText")
        )
    assert reached == wanted
    assert len(wanted) > 20


NAMED = {"button", "checkbox", "combobox", "slider", "spinbutton", "image", "progressbar", "table",
         "DisclosureTriangle", "form", "region", "option"}  # fmt: skip


@pytest.mark.long
def test_screen_readers_find_a_name_of_every_control(page):
    """In the browser's accessibility tree, at the start of a run and later, with all that opens."""
    for opened in (False, True):
        if opened:
            finished(page)
            page.get_by_label("Queue discipline").select_option("red")
            page.get_by_text("Parameters of red").click()
            page.get_by_text("Map of two quantities").click()
            until(page, "document.getElementById('map-canvas').ariaLabel")
            finished(page)
        tree = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
        found = [
            (node["role"]["value"], node["name"]["value"])
            for node in tree
            if not node["ignored"] and node["role"]["value"] in NAMED
        ]
        assert [role for role, name in found if not name.strip()] == []
        single = [each for each in found if each[0] != "option"]
        assert len(set(single)) == len(single) > 20
        assert ("slider", "Rate") in found
    images = [name for role, name in found if role == "image"]
    assert any(name.startswith("Windows in packets: reno 1 up to") for name in images)
    assert ("spinbutton", "max_thresh") in found


@pytest.mark.long
def test_each_arrow_key_moves_each_slider(page):
    """To the next rounded value, from both ends of its range and from within."""
    sliders = page.locator("#settings input[type=range]").evaluate_all(
        "all => all.map((x) => x.id)"
    )
    assert len(sliders) == 6
    for slider in sliders:
        field = page.locator(f"#{slider.removesuffix('-range')}")
        ways = ("", "ArrowRight", 1), ("Home", "ArrowUp", 1), ("End", "ArrowLeft", -1)
        for place, key, way in ways:
            if place:
                page.locator(f"#{slider}").press(place)
            before = float(field.input_value())
            page.locator(f"#{slider}").press(key)
            assert way * (float(field.input_value()) - before) > 0, (slider, place)


@pytest.mark.long
def test_pause_speed_and_seed(page):
    """At 1x no more is simulated than there is time; a pause stops the clock."""
    begin = time.monotonic()
    page.select_option("#speed", "1")
    page.get_by_role("button", name="Restart").click()
    until(page, "tcpcc.clock > 0.2")
    clock = page.evaluate("tcpcc.clock")
    assert clock < time.monotonic() - begin
    page.get_by_role("button", name="Pause").click()
    clock = page.evaluate("tcpcc.clock")
    time.sleep(0.3)
    assert page.evaluate("tcpcc.clock") == clock
    page.get_by_role("button", name="Continue").click()
    until(page, f"tcpcc.clock > {clock}")
    page.get_by_label("Seed of random numbers").fill("5")
    page.get_by_label("Seed of random numbers").press("Enter")
    run_again(page)
    assert page.url.endswith("#seed=5")
    assert page.evaluate("tcpcc.record.settings.seed") == 5


@pytest.mark.long
def test_a_script_that_does_not_end_fails_with_one_line(chromium, monkeypatch):
    monkeypatch.setattr("browser.ANSWER", 0.5)
    page = chromium.new_page()
    with pytest.raises(pytest.fail.Exception, match=r"^a script runs for more than 0.5 s: for"):
        page.evaluate("for (;;) {}")
    page.close()
    page = chromium.new_page()
    assert page.evaluate("1 + 1") == 2
    page.close()


@pytest.mark.long
def test_it_fits_the_screen(page):
    finished(page)
    page.get_by_text("Map of two quantities").click()
    for width, scheme in product([360, 800, 1400], ["light", "dark"]):
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(
            """(() => { const { scrollWidth, clientWidth } = document.querySelector(".scroll");
                        return scrollWidth <= clientWidth; })()"""
        )
        paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (paper == "rgb(255, 255, 255)") == (scheme == "light")


def test_a_rule_that_fails_is_an_alert(page):
    """Drop-tail's memory has no rule; a table entry that is empty traps."""
    finished(page)
    page.evaluate(
        """() => {
          tcpcc.simulation.runEvents = () => 1;
          tcpcc.restart();
        }"""
    )
    until(page, "!document.getElementById('failure').hidden")
    assert "A rule failed at 0 s" in page.get_by_role("alert").inner_text()


def test_the_page_is_small(data):
    text = text_of(data)
    assert len(text.encode()) < LARGEST
    assert "{{" not in text.replace(json.dumps(data.config), "")
