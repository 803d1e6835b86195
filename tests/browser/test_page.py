"""A page in Chromium: the bits of the native engine, keyboard, sizes, nothing loaded."""

import base64
import csv
import io
import json
import math
import time

import numpy as np
import pytest
from browser import browser, listen

import tcpcc as tc
from tcpcc.browser import choices, control
from tcpcc.browser.page_data import PageData
from tcpcc.browser.page_text import page as text_of
from tcpcc.engine.streams import entropy, seed_stream
from tcpcc.models.packet.compiled_driver import CompiledSimulation
from tcpcc.transport.flow_record import TCP_FLOW

LARGEST = 400_000
"""Bytes of a page."""

PATIENCE = 60
"""s."""

ADDRESSES = {"address", "segments", "stamps", "outbox", "delivery", "state", "params", "sample"} | {
    name for name in TCP_FLOW.names if name.startswith(("on_", "recovery_"))
}
"""Fields of a sender that hold addresses."""

DURATION = 400.0
NET = tc.dumbbell(rate="10 Mbps", delay="20 ms", buffer=50)
SCENARIO = tc.Scenario(NET, [tc.Flow("reno"), tc.Flow("cubic", start=5)], duration=DURATION)


@pytest.fixture(scope="module")
def data():
    return PageData(choices(SCENARIO))


@pytest.fixture(scope="module")
def address(data, tmp_path_factory):
    file = tmp_path_factory.mktemp("page") / "page.html"
    file.write_text(text_of(data), encoding="utf-8")
    return file.as_uri()


@pytest.fixture(scope="module")
def chromium():
    with browser() as running:
        yield running


@pytest.fixture
def page(chromium, address):
    """The page, with its requests and complaints, after its first run has begun."""
    page = chromium.new_page(viewport={"width": 1280, "height": 900})
    page.complaints, page.requests = listen(page), []
    page.on("request", lambda request: page.requests.append(request.url))
    page.goto(address)
    until(page, "Boolean(window.tcpcc)")
    yield page
    assert page.complaints == []
    page.close()


def until(page, condition):
    """Wait: the page's security policy refuses `wait_for_function`."""
    end = time.monotonic() + PATIENCE
    while not page.evaluate(condition):
        assert time.monotonic() < end, condition
        time.sleep(0.05)


def finished(page):
    page.select_option("#speed", "Infinity")
    until(page, "tcpcc.done")


def run_in_page(page, **changes):
    """Run with some settings changed: events, ms, the bytes of the senders' records."""
    return page.evaluate(
        """(changes) => {
          const { simulation, config } = tcpcc;
          tcpcc.pause(true);
          const settings = tcpcc.defaults();
          for (const [key, value] of Object.entries(changes))
            if (key === "values") Object.assign(settings.values, value);
            else settings[key] = value;
          simulation.begin(settings);
          const begin = performance.now();
          simulation.advance(config.duration);
          const { at, size } = config.layout.tcp;
          const raw = simulation.bytes.slice(at, at + size * config.flows.length);
          return { ms: performance.now() - begin, events: simulation.events,
                   senders: btoa(String.fromCharCode(...raw)) };
        }""",
        changes,
    )


def native(data, controllers=None, queue=0, values=None, starts=None, seed=None):
    """The same run by the native engine: events and the senders' records."""
    of = data.choices
    scenario = control.with_queue(of.scenario, of.queues[queue])
    for i, c in enumerate(controllers or ()):
        if c is None:
            continue
        scenario = control.with_controller(scenario, i, of.controllers[c])
    for slider in data.sliders:
        if slider.name in (values or {}):
            value = slider.in_model(values[slider.name])
            scenario = control.with_value(scenario, slider.name, value)
    for i, start in enumerate(starts or ()):
        if isinstance(scenario.flows[i], tc.CBR):
            continue
        scenario = control.with_start(scenario, i, start)
    scenario = scenario.replace(seed=scenario.seed if seed is None else seed)
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


@pytest.mark.parametrize("case", CASES)
def test_senders_have_the_bits_of_the_native_engine(page, data, case):
    """All fields but addresses, after at least a million events."""
    settings = dict(CASES[case])
    of = data.choices
    if "controllers" in settings:
        settings["controllers"] = [of.controllers.index(name) for name in settings["controllers"]]
    if "queue" in settings:
        settings["queue"] = [queue.name for queue in of.queues].index(settings["queue"])
    here = run_in_page(page, **settings)
    events, senders = native(data, **settings)
    assert here["events"] == events
    assert events > 9e5
    assert_equal_senders(here, senders)


def assert_equal_senders(here, senders):
    """Sizes of rings are equal, too: room grows at the same moments."""
    there = np.frombuffer(base64.b64decode(here["senders"]), TCP_FLOW)
    for name in set(TCP_FLOW.names) - ADDRESSES:
        equal_nan = there[name].dtype.kind == "f"
        assert np.array_equal(there[name], senders[name], equal_nan=equal_nan), name


BOTTLENECK = {"rate": "10 Mbps", "delay": "20 ms", "buffer": 50}
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


@pytest.mark.parametrize("case", NETWORKS)
def test_other_networks_have_the_bits_of_the_native_engine(chromium, tmp_path, case):
    """As they are; the first flow with CUBIC over CoDel; flows that start later."""
    data = PageData(choices(NETWORKS[case], controllers=["cubic"], queues=["codel"]))
    of = data.choices
    (tmp_path / "page.html").write_text(text_of(data), encoding="utf-8")
    page = chromium.new_page()
    complaints = listen(page)
    page.goto((tmp_path / "page.html").as_uri())
    until(page, "Boolean(window.tcpcc)")
    first = of.controllers.index("cubic")
    rest = [flow["controller"] for flow in data.config["flows"][1:]]
    other = {"queue": 1, "controllers": [first, *rest]}
    later = {"starts": [0.3, *(0.1 + flow["start"] for flow in data.config["flows"][1:])]}
    for settings in ({}, other, later):
        here = run_in_page(page, **settings)
        events, senders = native(data, **settings)
        assert here["events"] == events
        assert_equal_senders(here, senders)
    assert complaints == []
    page.close()


def test_streams_of_random_numbers_are_those_of_the_package(page):
    for seed in (0, 1, 2**32 - 1, 2**40 + 3):
        for name in ("link bottleneck: queue", "flow reno1: controller"):
            record = {}
            seed_stream(record, seed, name)
            words = [entropy(name) >> 32 * k & 2**32 - 1 for k in range(4)]
            assert page.evaluate("([s, w]) => streamOf(s, w)", [seed, words]) == [*record.values()]


def test_nothing_is_loaded(page, address):
    finished(page)
    assert page.requests == [address]


def test_the_measures_are_those_of_a_run(page):
    run = tc.simulate(SCENARIO)
    finished(page)
    found = page.evaluate(
        """() => {
          const { record } = tcpcc, after = 100;
          return [record.fairness(after), record.utilization(after),
                  record.throughputRatio([0], [1], after), ...record.throughput(after)];
        }"""
    )
    rates = run.throughput(after=100).values
    wanted = [run.jain_index(after=100), run.utilization(after=100), rates[0] / rates[1], *rates]
    assert found == pytest.approx(wanted, rel=1e-12)


def test_the_convergence_time_is_that_of_a_run(page, data):
    """Vegas settles, Reno does not."""
    of = data.choices
    vegas = of.controllers.index("vegas")
    found = page.evaluate(
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


def test_the_settling_time_is_that_of_a_run(page):
    run = tc.simulate(SCENARIO)
    finished(page)
    found = page.evaluate("tcpcc.record.flows.map((flow) => tcpcc.record.settlingTime(flow))")
    wanted = [run.settling_time(name) for name in run.flows]
    assert found == pytest.approx(wanted, rel=1e-9)
    assert max(wanted) > 10


def test_the_csv_is_that_of_a_run(page, tmp_path):
    run = tc.simulate(SCENARIO)
    run.to_csv(tmp_path / "run.csv")
    finished(page)
    page.evaluate(
        """() => {
          const { simulation, settings, config } = tcpcc;
          simulation.begin(settings);
          simulation.advance(3);
          new Record(simulation, settings); // before the second flow starts
          simulation.advance(config.duration);
          tcpcc.record = new Record(simulation, settings);
        }"""
    )
    with page.expect_download() as download:
        page.get_by_role("button", name="Download CSV").click()
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
    until(page, "tcpcc.done")
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


def test_every_control_has_a_name(page):
    nameless = page.evaluate(
        """[...document.querySelectorAll("button, select, input, canvas, progress")]
           .filter((each) => !each.ariaLabel && !each.labels?.length && !each.innerText)
           .map((each) => each.outerHTML)"""
    )
    finished(page)
    named = page.evaluate("[...document.querySelectorAll('canvas')].every((c) => c.ariaLabel)")
    assert [each for each in nameless if not each.startswith("<canvas")] == []
    assert named


@pytest.mark.parametrize("width", [360, 800, 1400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_the_screen(page, width, scheme):
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme=scheme)
    finished(page)
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
