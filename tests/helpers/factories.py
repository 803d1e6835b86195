"""Runs made by hand, for tests of everything that reads a run and of nothing that makes one."""

import heapq
import itertools

import numpy as np

from tcpcc.results import Run
from tcpcc.results.recording import (
    EVENT_DTYPE,
    EVENTS,
    TRACED,
    FlowSeries,
    LinkSeries,
    Series,
    dataset,
)
from tcpcc.scenario import CBR, Flow, Scenario
from tcpcc.scenario.topologies import dumbbell


def scenario(flows=None, **settings):
    """Vegas, Reno (from 1 s) and CBR (from 4 to 8 s) over 10 Mb/s, in 100 bins of 0.1 s."""
    net = settings.pop("net", None) or dumbbell(rate="10 Mbps", delay="20 ms", buffer=50)
    flows = flows or [Flow("vegas"), Flow("reno", start=1.0), CBR("2 Mbps", on=[(4.0, 8.0)])]
    return Scenario(net, flows, **({"duration": 10.0, "interval": 0.1} | settings))


def record(case, given, model="packet", driver="compiled"):
    """The record of the arrays in `given`, by name."""
    parts = [{k: v for k, v in given.items() if k in kind.__annotations__} for kind in PARTS]
    whole = Series(given["time"], FlowSeries(**parts[0]), LinkSeries(**parts[1]))
    return dataset(case, case.resolve(), whole, model=model, driver=driver)


PARTS = (FlowSeries, LinkSeries)


def arrays(case, seed=0):
    """Arrays of the right shapes with random contents, as an engine would hand them over."""
    rng = np.random.default_rng(seed)
    resolved = case.resolve()
    bins = round(case.duration / case.interval)
    flow = bins, len(resolved.rows)
    link = bins, sum(bool(x.record) for x in resolved.links)
    sent = rng.integers(5, 60, flow).astype(float)
    queue = rng.uniform(0, 40, link)
    return {
        "time": case.interval * np.arange(1, bins + 1),
        "cwnd": rng.uniform(1, 80, flow),
        "ssthresh": rng.uniform(2, 80, flow),
        "rtt": rng.uniform(0.04, 0.08, flow),
        "sent": sent,
        "retransmitted": rng.integers(0, 3, flow).astype(float),
        "delivered": sent - rng.integers(0, 5, flow),
        "dropped": rng.integers(0, 3, flow).astype(float),
        "acks_dropped": np.zeros(flow),
        "queue": queue,
        "queue_max": queue + rng.uniform(0, 10, link),
        "busy": rng.uniform(0.5, 1, link),
        "arrived": rng.integers(90, 130, link).astype(float),
        "drops": rng.integers(0, 4, link).astype(float),
        "sent_bits": rng.uniform(0.5, 1, link) * 1e6,
        "timeouts": rng.integers(0, 3, flow[1]).astype(float),
        "loss_events": rng.integers(0, 9, flow[1]).astype(float),
        "finished": np.full(flow[1], np.nan),
    }


def run(case=None, seed=0, *, model="packet", driver="compiled", events=None, **changes):
    """A run with random contents, `changes` in place of some of its arrays."""
    case = case or scenario()
    given = arrays(case, seed) | changes
    return Run(record(case, given, model, driver), events)


def events(count=50, seed=0, flows=2):
    """A trace with random contents, in order of time."""
    rng = np.random.default_rng(seed)
    trace = np.zeros(count, EVENT_DTYPE)
    trace["time"] = np.sort(rng.uniform(0, 10, count))
    trace["flow"] = rng.integers(0, flows, count)
    trace["event"] = rng.integers(0, len(EVENTS), count)
    trace["seq"] = rng.integers(0, 1000, count)
    trace["value"] = np.where(rng.random(count) < 0.2, np.nan, rng.uniform(0, 100, count))
    return trace


def toy_run(case):
    """A run that looks like one: windows grow and shrink over a shared queue, once per bin."""
    resolved = case.resolve()
    link = resolved.links[0]
    given = arrays(case)
    step, size = case.interval, 8000.0
    window = np.array([2.0] * len(resolved.flows))
    backlog = 0.0
    for name in ("retransmitted", "dropped", "drops", "timeouts", "loss_events"):
        given[name] = np.zeros_like(given[name])
    for k, now in enumerate(given["time"]):
        base = 2 * sum(resolved.links[i].delay for i in resolved.flows[0].forward)
        rtt = base + backlog * size / link.rate
        rates = np.zeros(len(window))
        full = backlog >= link.buffer
        for i, flow in enumerate(resolved.flows):
            alive = flow.spec.start < now and not (flow.spec.stop and now > flow.spec.stop)
            given["cwnd"][k, i] = window[i] if alive and flow.controller else np.nan
            given["ssthresh"][k, i] = np.inf if not given["loss_events"][i] else window[i] / 2
            given["rtt"][k, i] = rtt if alive and flow.controller else np.nan
            if not alive:
                continue
            if flow.controller is None:
                rates[i] = flow.spec.rate / size
                continue
            rates[i] = window[i] / rtt
            extra = window[i] * (1 - base / rtt)
            if full and flow.controller.name == "reno":
                window[i] /= 2
                given["dropped"][k, i] = given["retransmitted"][k, i] = 1
                given["loss_events"][i] += 1
            elif flow.controller.name == "reno" or extra < 2:
                window[i] += step / rtt
            elif extra > 4:
                window[i] = max(2.0, window[i] - step / rtt)
        arriving = rates.sum() * step
        served = min(backlog + arriving, link.rate / size * step)
        given["sent"][k] = rates * step
        given["delivered"][k] = rates * step * (served / arriving if arriving else 0)
        backlog = min(max(0.0, backlog + arriving - served), link.buffer)
        given["queue"][k], given["queue_max"][k] = backlog, min(1.2 * backlog + 2, link.buffer)
        given["sent_bits"][k], given["busy"][k] = served * size, served * size / link.rate / step
        given["arrived"][k], given["drops"][k] = arriving, given["dropped"][k].sum()
    return Run(record(case, given))


def toy_trace(duration, rate=100.0, delay=0.1, buffer=12, slow_start_until=24):
    """Events of one flow, number 0, whose window grows until a packet of its FIFO queue is lost."""
    heap, order = [(0.0, 0, "start", 0)], itertools.count(1)
    trace, sending, acked, window, free = [], 0, 0, 2.0, 0.0
    lost, repaired = None, -1

    def log(now, kind, seq, value=np.nan):
        at_sender = kind not in ("deliver", "drop")
        state = (window, slow_start_until, sending - acked) if at_sender else (np.nan,) * 3
        rates = (now - now % 0.1, sending - acked, 0.9 * (sending - acked), delay)
        trace.append((now, 0, EVENTS.index(kind), seq, value, *state, *[np.nan] * 3, *rates))

    def send(now, seq, kind):
        nonlocal free, lost
        log(now, kind, seq, window)
        if kind == "send" and (free - now) * rate > buffer and seq > repaired:
            lost = seq if lost is None else lost
            log(now, "drop", seq, 0)
            return
        free = max(free, now) + 1 / rate
        heapq.heappush(heap, (free + delay, next(order), "ack", seq + 1))

    while heap:
        now, _, kind, seq = heapq.heappop(heap)
        if now > duration:
            break
        if kind == "ack" and lost is not None and seq > lost + 1:
            log(now, "dupack", lost)
            log(now, "loss", lost, window / 2)
            window, repaired, again = window / 2, sending, lost
            lost = None
            send(now, again, "retransmit")
        elif kind == "ack":
            acked = max(acked, seq)
            log(now, "ack", acked, delay)
            window += 1.0 if window < slow_start_until else 1 / window
        while sending - acked < int(window):
            sending += 1
            send(now, sending - 1, "send")
    columns = [*TRACED, "decided", "expected", "actual", "base_rtt"]
    return np.array(trace, [*EVENT_DTYPE.descr, *((name, "f8") for name in columns)])
