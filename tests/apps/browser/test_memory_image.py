"""Pages without a browser: the memory that a page starts with, choices, errors, the command."""

import html
import math

import numpy as np
import pytest

import tcpcc as tc
from tcpcc.apps.browser import choices, control
from tcpcc.apps.browser.fluid_data import FluidData
from tcpcc.apps.browser.memory_image import FIRST, Snapshot
from tcpcc.apps.browser.page_data import PageData
from tcpcc.cli import main
from tcpcc.engine import wasm
from tcpcc.engine.machine import rule_addresses
from tcpcc.models.packet.memory.packet_world import PacketWorld

NET = tc.dumbbell(rate="10 Mbps", delay="20 ms", buffer=50)
SCENARIO = tc.Scenario(NET, [tc.Flow("reno"), tc.Flow("vegas", start=5)], duration=20)


@pytest.fixture(scope="module")
def data():
    return PageData(choices(SCENARIO, controllers=["bbr3"], queues=["red", "codel"]))


@pytest.mark.parametrize("k", range(3))
@pytest.mark.parametrize("name", ["rate", "delay", "buffer", "loss"])
def test_a_slider_makes_the_world_of_its_value(data, k, name):
    """All bytes that belong to no sender."""
    slider = next(each for each in data.sliders if each.name == name)
    value = slider.in_model(slider.high * 0.3)
    queue = data.packets.config["queues"][k]
    image = bytearray(data.parts[queue["image"]])
    for at, ratio in queue["patches"][name]:
        image[at - FIRST : at - FIRST + 8] = np.float64(value * ratio).tobytes()
    scenario = control.with_value(data.packets.scenarios[k], name, value)
    assert bytes(image) == data.packets.atlas.shared_image(Snapshot(PacketWorld(scenario)))


def test_two_worlds_have_one_image(data):
    """Addresses of this machine are not in it."""
    again = Snapshot(PacketWorld(data.packets.scenarios[0]))
    assert (
        data.packets.atlas.shared_image(again)
        == data.parts[data.packets.config["queues"][0]["image"]]
    )


def test_a_sender_is_that_of_its_own_world(data):
    """BBRv3's memory does not depend on the other flow's controller."""
    scenario = control.with_controller(data.choices.scenario, 0, "bbr3")
    world = Snapshot(PacketWorld(scenario))
    k = data.choices.controllers.index("bbr3")
    found = [(at, data.parts[part]) for at, part in data.packets.config["senders"][0][k]["parts"]]
    assert found == data.packets.atlas.sender_image(world, 0)


def test_each_table_of_the_fluid_model_has_its_pointer(data):
    """An empty table may begin where another one does, and all tables are one after the other."""
    (fluid,) = data.fluid.worlds[:1]
    groups = list(enumerate(fluid.world.tables))
    used = {f"tables.{k}.{name}" for k, group in groups for name, x in group.items() if x.size}
    assert used < {f"tables.{k}.{name}" for k, group in groups for name in group}
    assert used <= data.fluid.atlas.later(fluid).keys()


def test_a_scenario_with_jitter_and_counts_keeps_its_results():
    scenario = tc.Scenario(NET, [tc.Flow("bbr3", count=2, jitter=1), tc.CBR("1 Mbps", on=[(2, 9)])],
                           duration=10, seed=3)  # fmt: skip
    single = choices(scenario).scenario
    one, other = tc.simulate(scenario), tc.simulate(single)
    assert np.array_equal(one.data["delivered"].values, other.data["delivered"].values)


WEB = tc.workloads.on_off("reno", sources=1, size=10, off=1)


@pytest.mark.filterwarnings("ignore::tcpcc.errors.ScenarioWarning")
@pytest.mark.parametrize(
    ("scenario", "given", "message"),
    [
        (SCENARIO, {"controls": ["speed"]}, "unknown control 'speed'"),
        (SCENARIO, {"controllers": ["rene"]}, "unknown controller 'rene': did you mean 'reno'"),
        (SCENARIO, {"queues": ["tail"]}, "unknown queue 'tail'"),
        (SCENARIO, {"controllers": ["xcp"]}, "'xcp' needs packet headers"),
        (SCENARIO.replace(flows=[], workloads=WEB), {}, "workloads: a page has flows only"),
        (
            SCENARIO.replace(flows=[tc.Flow("reno", count=17)]),
            {},
            "flows: 17 in all: .* at most 16",
        ),
        (SCENARIO.replace(flows=[tc.CBR("1 Mbps")]), {}, "at least one must have a controller"),
        ("x.toml", {}, r"scenario = 'x\.toml': must be a Scenario"),
    ],
)
def test_what_a_page_cannot_run_is_refused(scenario, given, message):
    with pytest.raises(tc.ScenarioError, match=message):
        tc.to_html(scenario, **given)


def _raises(s, p, ack):
    s.cwnd += math.atan(ack.acked) / s.cwnd


def _waves(s, p, ack):
    s.cwnd += math.cos(ack.acked) / s.cwnd  # LLVM's own word, a call when emitted


def _halve(s, p, ack):
    s.cwnd = s.ssthresh = max(ack.window / 2, 2.0)


TABLE = np.arange(0.5, 60_000)


def _looks_up(s, p, ack):
    s.cwnd += TABLE[int(s.cwnd)]


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (_raises, "a rule calls atan, which WebAssembly does not have"),
        (_waves, "a rule calls cos, which WebAssembly does not have"),
        (_looks_up, r"^constants of compiled code take 4[89]\d{4} bytes; a"),
    ],
)
def test_a_rule_that_a_page_cannot_run_is_refused(rule, message):
    mine = tc.Controller("of_test", "-", on_ack=rule, on_loss=_halve, on_timeout=_halve)
    with pytest.raises(tc.TcpccError, match=message):
        tc.to_html(SCENARIO.replace(flows=[tc.Flow(mine)]), controls=["rate"])


def test_a_network_whose_queues_depend_on_a_setting_has_no_fluid_model():
    """ACKs of a tenfold rate would wait at the slower way back."""
    links = [link.replace(rate="5 Mbps") if link.dst < link.src else link for link in NET.links]
    scenario = SCENARIO.replace(net=NET.replace(links=links))
    with pytest.raises(tc.ScenarioError, match="fluid = True: must be False, or 'rate'"):
        tc.to_html(scenario, fluid=True)
    assert not choices(scenario).fluid
    assert choices(scenario, controls=["buffer", "delay"]).fluid
    assert not choices(SCENARIO, fluid=False).fluid


def test_a_page_without_the_fluid_model_is_smaller():
    pages = [tc.to_html(SCENARIO, controls=["rate"], fluid=fluid) for fluid in (True, False)]
    assert len(pages[0]) > len(pages[1]) + 30_000
    assert '"fluid":null' in pages[1]


def test_a_run_writes_the_page_of_its_scenario():
    run = tc.simulate(SCENARIO, model="fluid")
    assert run.explore(controls=["rate"]) == tc.to_html(run.scenario, controls=["rate"])
    assert run.explore(controls=["rate"])._repr_html_().startswith("<iframe")


def test_interpreted_rules_are_refused(monkeypatch):
    monkeypatch.setattr("tcpcc.apps.browser.INTERPRETED", True)
    with pytest.raises(tc.TcpccError, match="NUMBA_DISABLE_JIT is set"):
        tc.to_html(SCENARIO)


def test_a_module_is_kept_under_a_name_of_its_code_and_of_what_emits_it(data, monkeypatch):
    names = []
    monkeypatch.setattr(wasm, "stored", lambda name, make: names.append(name) or b"")
    rules = [*rule_addresses()[:2]]
    for _ in range(2):
        wasm.engine_module(FluidData.ENTRIES)
        wasm.rules_module(rules)
    wasm.rules_module(rules[:1])
    monkeypatch.setattr(wasm, "module_digest", lambda name: "of an edited module")
    wasm.engine_module(FluidData.ENTRIES)
    assert names[:2] == names[2:4]
    assert len(set(names)) == 4


def test_pages_with_other_rules_have_the_same_engines(monkeypatch):
    """As kept files, which are made once."""
    stored, names = wasm.stored, []
    monkeypatch.setattr(wasm, "stored", lambda name, make: names.append(name) or stored(name, make))
    pages = [
        PageData(choices(SCENARIO.replace(flows=[tc.Flow(name)]), controls=["rate"]))
        for name in ("reno", "vegas")
    ]
    assert names[:2] == names[3:5]
    assert names[2] != names[5]
    for model in ("packet", "fluid"):
        engines = [page.parts[page.config[model]["engine"]] for page in pages]
        assert engines[0] == engines[1]
    assert len({page.parts[page.config["rules"]] for page in pages}) == 2


@pytest.mark.parametrize("room", [wasm.ENGINE, wasm.RULES])
def test_a_function_without_a_place_of_its_own_is_refused(room):
    """Its address, in code or in data, would be that of a function of the other module; so is every
    address if other data come first."""

    def emitted(line, first=""):
        code = (
            f"define void @f() {{\n{line}\n ret void\n}}\n"
            "define void @g() {\n ret void\n}\n@data = constant ptr @g\n"
        )
        return wasm._emitted(first + wasm._text(code, ["f"], {}, room), room, room.first)

    assert emitted("")
    taken = (" store volatile ptr @g, ptr null", " %x = load volatile ptr, ptr @data")
    for given in (*((line,) for line in taken), ("", "@pow = constant i64 7\n")):
        with pytest.raises(tc.TcpccError, match=r"^functions of compiled code are not where a"):
            emitted(*given)


def test_a_notebook_shows_the_page(tmp_path):
    page = tc.to_html(SCENARIO, tmp_path / "x.html", controls=["rate"])
    assert (tmp_path / "x.html").read_text(encoding="utf-8") == page
    assert html.escape(page) in page._repr_html_()
    assert len(repr(page)) < 40
    with pytest.raises(tc.TcpccError, match=r"cannot write '.*html': .*no such directory"):
        tc.to_html(SCENARIO, tmp_path / "none" / "x.html", controls=["rate"])


def test_the_command_writes_a_page(tmp_path, capsys):
    SCENARIO.save(tmp_path / "x.toml")
    arguments = ["web", str(tmp_path / "x.toml"), "--out", str(tmp_path / "x.html"),
                 "--controllers", "reno", "--queues", "droptail", "--controls", "rate,seed",
                 "--title", "a < b", "--no-fluid"]  # fmt: skip
    assert main(arguments) == 0
    assert "x.html: " in capsys.readouterr().out
    text = (tmp_path / "x.html").read_text()
    assert "<h1>a &lt; b</h1>" in text
    assert '"name":"buffer"' not in text
    assert '"fluid":null' in text


def test_the_command_names_a_wrong_controller(tmp_path, capsys):
    SCENARIO.save(tmp_path / "x.toml")
    assert main(["web", str(tmp_path / "x.toml"), "--controllers", "rene"]) == 2
    assert capsys.readouterr().err.startswith("tcpcc: unknown controller 'rene'")
