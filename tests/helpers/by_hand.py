"""Rules of controllers and disciplines, called by hand on plain objects."""

import math
from functools import partialmethod
from types import SimpleNamespace

import numpy as np

from tcpcc.controllers import CONTROLLERS
from tcpcc.engine.jit import call_rule, entry, rule_address
from tcpcc.engine.streams import seed_stream
from tcpcc.queues import QUEUES
from tcpcc.queues.discipline import EACH, sample_dtype
from tcpcc.slow_start import SLOW_STARTS, composed


def rules_of(controller, slow_start=None, *, params=None, sample=None, **state):
    """A controller with a slow-start rule, its state at a flow's start, parameters, a sample."""
    c = CONTROLLERS.find(controller) if isinstance(controller, str) else controller
    c = composed(c, SLOW_STARTS[slow_start]) if slow_start else c
    s, p, a = c.example()
    vars(s).update({"cwnd": 1.0, "ssthresh": math.inf} | state)
    vars(p).update(c.check(params or {}))
    vars(a).update(sample or {})
    return c, s, p, a


class Rules:
    """A controller's rules on plain objects: its state `s`, parameters `p`, sample `a`.

    Of a flow in congestion avoidance that uses its whole window, unless told otherwise. Each call
    takes fields of the sample, which keep their values, and returns the state.
    """

    def __init__(
        self, controller, slow_start=None, *, params=None, sample=None, cwnd=10.0, ssthresh=2.0,
        **state,
    ):  # fmt: skip
        sample = {"window": cwnd, "inflight": float(math.floor(cwnd))} | (sample or {})
        state = {"cwnd": cwnd, "ssthresh": ssthresh} | state
        parts = rules_of(controller, slow_start, params=params, sample=sample, **state)
        self.c, self.s, self.p, self.a = parts

    def call(self, rule, **sample):
        vars(self.a).update(sample)
        getattr(self.c, rule)(self.s, self.p, self.a)
        return self.s

    ack = partialmethod(call, "on_ack")
    round = partialmethod(call, "on_round")
    lose = partialmethod(call, "on_loss")
    time_out = partialmethod(call, "on_timeout")
    mark = partialmethod(call, "on_mark")
    undo = partialmethod(call, "on_undo")


def stream(seed=1, name="test"):
    """The fields of a random stream."""
    fields = {}
    seed_stream(fields, seed, name)
    return fields


def discipline_of(name, seed=1, *, params=None, sample=None, **state):
    """A discipline, its state with a random stream, parameters and a sample of zeros."""
    d = QUEUES.find(name)
    s = SimpleNamespace(**stream(seed), **{k: v.start() for k, v in d.state.items()} | state)
    q = dict.fromkeys(sample_dtype.names, 0.0) | {field: np.zeros(d.inner) for field in EACH}
    q |= dict.fromkeys(d.header, 0.0) | (sample or {})
    return d, s, SimpleNamespace(**d.check(params or {})), SimpleNamespace(**q)


class Queue:
    """A discipline's rules on plain objects: its state `s`, parameters `p`, sample `q`.

    Each call takes fields of the sample, which keep their values.
    """

    def __init__(self, name, seed=1, *, params=None, sample=None, **state):
        parts = discipline_of(name, seed, params=params, sample=sample, **state)
        self.d, self.s, self.p, self.q = parts

    def call(self, rule, **sample):
        vars(self.q).update(sample)
        getattr(self.d, rule)(self.s, self.p, self.q)
        return self.q

    def arrive(self, **sample):
        """Whether an arriving packet is dropped."""
        return self.call("on_arrival", drop=0.0, **sample).drop == 1

    def arrive_as_fluid(self, **sample):
        """The probability that arriving fluid is dropped."""
        return self.call("on_fluid", **sample).prob


@entry
def call(address, state, params, sample):
    call_rule(address, state, params, sample)


class Both:
    """Rules on plain objects and, compiled, on records; results must agree to the last bit.

    `outputs` says that rules write into the sample, too.
    """

    def __init__(self, definition, s, p, sample, outputs=False):
        self.s, self.p, self.sample = s, p, sample
        self.kinds = definition.state_dtype, definition.params_dtype, definition.sample_dtype
        self.records = [np.zeros(1, kind) for kind in self.kinds]
        for record, plain in zip(self.records, (s, p), strict=False):
            if vars(plain):
                record[0] = tuple(np.copy(vars(plain)[name]) for name in record.dtype.names)
        self.places = [record.__array_interface__["data"][0] for record in self.records]
        self.addresses = {}
        written = ((s, 0), (sample, 2)) if outputs else ((s, 0),)
        self.written = [(vars(x), self.records[k], self.records[k].copy()) for x, k in written]

    def address(self, rule):
        if rule not in self.addresses:
            self.addresses[rule] = rule_address(rule, *self.kinds)
        return self.addresses[rule]

    def call(self, rule, **sample):
        if rule is None:
            return
        given = vars(self.sample)
        given.update(sample)
        self.records[2][0] = tuple(map(given.__getitem__, self.kinds[2].names))
        rule(self.s, self.p, self.sample)
        call(self.address(rule), *self.places)
        for plain, record, same in self.written:
            same[0] = tuple(map(plain.__getitem__, record.dtype.names))
            assert same.tobytes() == record.tobytes(), (rule, plain, record)
