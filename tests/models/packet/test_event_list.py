"""The event list: the next event is the first of all, in lists of any length."""

import random
from types import SimpleNamespace

import numpy as np
import pytest

from tcpcc.engine.jit import address, blank
from tcpcc.models.packet.event_list import (
    IN_ORDER,
    close_vacancy,
    drop_first,
    push,
    replace_first,
    vacate_first,
)
from tcpcc.models.packet.packet_records import EVENT, MARGIN


class List:
    """An event list, and the same events as a Python list."""

    def __init__(self, room=1000):
        self.heap = blank(room, EVENT)
        self.w = SimpleNamespace(
            heap=address(self.heap), heap_size=0, heap_room=room, need=0, vacant=0, in_order=1
        )
        self.events = []
        self.order = 0

    def event(self, draw, after=0.0):
        self.order += 1
        return (after + draw.randint(0, 30) / 10, draw.randint(0, 2) / 10, self.order)

    def add(self, event):
        push(self.w, *event, np.int64(0), np.int64(event[2]))
        self.events.append(event)

    def next(self):
        first = self.heap[0]
        return (float(first["time"]), float(first["since"]), int(first["order"]))

    def check(self):
        assert self.w.heap_size == len(self.events)
        assert self.next() == min(self.events)


@pytest.mark.parametrize("length", [3, IN_ORDER - 1, IN_ORDER, 3 * IN_ORDER])
def test_the_first_event_is_the_next_one(length):
    """Whatever is added, replaced and dropped, around the length up to which a list is sorted."""
    draw, the = random.Random(length), List()
    for _ in range(length):
        the.add(the.event(draw))
        the.check()
    for _ in range(3000):
        first = min(the.events)
        following = the.event(draw, first[0])
        what = draw.choice(["add", "replace", "drop", "vacate", "leave"])
        if what == "add" and len(the.events) < length + 5:
            the.add(following)
        elif what in ("replace", "vacate") and the.events:
            the.events.remove(first)
            if what == "replace":
                the.events.append(following)
                replace_first(the.w, *following, np.int64(0), np.int64(following[2]))
            else:
                vacate_first(the.w)
                the.add(following)
                close_vacancy(the.w)
        elif len(the.events) > max(length - 5, 1):
            the.events.remove(first)
            if what == "leave":
                vacate_first(the.w)
                close_vacancy(the.w)
            else:
                drop_first(the.w)
        the.check()


def test_a_list_is_sorted_again_once_it_is_short():
    the, draw = List(), random.Random(1)
    for _ in range(2 * IN_ORDER):
        the.add(the.event(draw))
    assert the.w.in_order == 0
    while the.w.heap_size > IN_ORDER // 2 - 1:
        the.events.remove(min(the.events))
        drop_first(the.w)
        the.check()
    assert the.w.in_order == 1
    times = the.heap["time"][: the.w.heap_size]
    assert (np.diff(times) >= 0).all()


def test_a_nearly_full_list_asks_for_room():
    the, draw = List(2 * MARGIN), random.Random(1)
    while the.w.heap_size + MARGIN < 2 * MARGIN:
        the.add(the.event(draw))
        assert the.w.need == 0
    the.add(the.event(draw))
    assert the.w.need == 1
