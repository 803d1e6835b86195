"""Events of a page in Chromium in a second of processor time; run with `make bench`."""

import pytest
from browser import browser, renderers

import tcpcc as tc

EVENTS = 10_000_000


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A page that has run once: V8 compiles what is called often again, faster."""
    file = tmp_path_factory.mktemp("page") / "page.html"
    net = tc.dumbbell(rate="10 Mbps", delay="20 ms", buffer=50)
    flows = [tc.Flow("reno"), tc.Flow("cubic", start=5)]
    tc.to_html(tc.Scenario(net, flows, duration=4_500, interval=1), file)
    with browser() as chromium:
        page = chromium.new_page()
        page.goto(file.as_uri())
        page.locator("#table tbody tr").first.wait_for()
        yield page


@pytest.mark.parametrize("queue", ["droptail", "red", "codel"])
@pytest.mark.parametrize("controller", ["reno", "cubic", "vegas", "bbr"])
def test_two_flows(benchmark, page, capsys, controller, queue):
    def run():
        return page.evaluate(
            """([name, queue, events]) => {
              const { simulation, config } = tcpcc, settings = tcpcc.defaults();
              tcpcc.pause(true);
              const place = (list, name) => list.findIndex((each) => each.name === name);
              settings.controllers.fill(place(config.controllers, name));
              settings.queue = place(config.queues, queue);
              simulation.begin(settings);
              while (simulation.events < events && simulation.now < config.duration)
                simulation.advance(config.duration, 0);
              return simulation.events;
            }""",
            [controller, queue, EVENTS],
        )

    def used():
        return sum(process.cpu_times().user for process in renderers())

    run()
    begin = used()
    events = benchmark.pedantic(run, rounds=1)
    rate = events / (used() - begin)
    benchmark.extra_info["events per second"] = round(rate)
    with capsys.disabled():
        print(f" {rate / 1e6:.1f} million events/s", end="")
