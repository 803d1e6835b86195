"""A TCP sender and receiver without a network: handlers called by hand, or connected by a wire
that loses exactly the given packets."""

import ctypes
import heapq
import math
from itertools import count

import numpy as np

import tcpcc as tc
from tcpcc.controllers.controller import sample_dtype
from tcpcc.engine.jit import entry
from tcpcc.models.packet.memory.packet_world import PacketWorld
from tcpcc.transport import receiver, rto, sender
from tcpcc.transport.flow_record import TCP_FLOW, tcp_at

START, ACK, TIMER, RESUME, STOP, DATA, ACK_TIMER, MEASURE, WRITE, RELEASE, ALARM, RWND = range(12)
CONTROLLER = {"tahoe": "tahoe", "vegas": "vegas", "newreno": "newreno", "newreno-steady": "newreno"}


@entry
def drive(flow, what, now, number, trigger, low, high, rtt):
    """Call one handler of the flow at that address; return what a receiver's handler returns."""
    f = tcp_at(flow, 0)
    if what == START:
        sender.open_connection(f, now)
    elif what == ACK:
        sender.receive_ack(f, now, number, trigger, low, high)
    elif what == TIMER:
        sender.retransmission_timeout(f, now)
    elif what == RESUME:
        sender.resume_sending(f, now)
    elif what == STOP:
        sender.stop_sending(f)
    elif what == DATA:
        return receiver.receive_data(f, now, number, trigger)
    elif what == ACK_TIMER:
        return receiver.send_held_ack(f)
    elif what == MEASURE:
        rto.measure(f, now, rtt)
    elif what == WRITE:
        sender.before_write(f)
        f.to_send = number
        sender.write_data(f, now)
    elif what == RELEASE:
        sender.release_paced(f, now)
    elif what == ALARM:
        sender.call_alarms(f, now)
    elif what == RWND:
        sender.learn_rwnd(f, now, float(number))
    return False


def view(place, dtype):
    """The record at an address."""
    return np.frombuffer((ctypes.c_char * dtype.itemsize).from_address(place), dtype)[0]


class Endpoint:
    """A flow's sender and receiver, with the memory that a world allocates for them.

    Without a handshake by default; the controller follows from the recovery. `make` makes the
    settings; `ssthresh` and `awaits` (an application that may write more) are set beforehand.
    """

    def __init__(
        self, recovery="reno", *, controller=None, size=None, make=tc.Transport.ns2, ssthresh=None,
        awaits=0, **transport,
    ):  # fmt: skip
        flow = tc.Flow(
            controller or CONTROLLER.get(recovery, "reno"),
            recovery=recovery,
            size=size,
            transport=make(**{"handshake": False} | transport),
        )
        net = tc.dumbbell("1 Mbps", "50 ms", 100)
        self.world = PacketWorld(tc.Scenario(net, [flow], duration=1000))
        self.address = self.world.tcp.__array_interface__["data"][0]
        self.state = self.world.senders.states[0]
        self.set(awaits=awaits)
        if ssthresh is not None:
            self.state["ssthresh"] = ssthresh

    def __getattr__(self, name):
        return self._owner(name)[name][0].item()

    def _owner(self, name):
        """The record that a field is in: the sender's and receiver's, the recovery's own, or that
        of deliveries."""
        own = self.world.senders.recoveries[0]
        if name in own.dtype.names:
            return own
        return self.world.tcp if name in TCP_FLOW.names else self.world.senders.deliveries[0]

    @property
    def cwnd(self):
        return float(self.state["cwnd"][0])

    @property
    def ssthresh(self):
        return float(self.state["ssthresh"][0])

    def sample(self, *names):
        """Fields of the sample that the controller was given last."""
        sample = view(self.world.tcp["sample"][0].item(), sample_dtype)
        return tuple(sample[name].item() for name in names)

    def set(self, **fields):
        """Set fields of the sender, or of the controller's window."""
        for name, value in fields.items():
            if name in ("cwnd", "ssthresh"):
                self.state[name] = value
                continue
            self._owner(name)[name][0] = value

    def call(self, what, now=0.0, number=0, trigger=0, low=0, high=0, rtt=0.0):
        numbers = (int(x) for x in (number, trigger, low, high))
        return drive(self.address, what, float(now), *numbers, float(rtt))

    def sends(self, what, now=0.0, *details):
        """Call a sender's handler; returns the segments that it sends."""
        self.call(what, now, *details)
        sent = []
        while True:
            sent += self.world.outbox["seq"][: self.outbox_count].tolist()
            self.set(outbox_count=0)
            if not self.more:
                return sent
            self.world.grow()
            self.call(RESUME, now)

    def start(self, now=0.0):
        return self.sends(START, now)

    def ack(self, now, number, trigger=None, block=None):
        """An ACK of everything up to `number`, caused by `trigger`, with one block."""
        trigger = number if trigger is None else trigger
        low, high = block or ((trigger, trigger + 1) if trigger > number else (0, 0))
        return self.sends(ACK, now, number, trigger, low, high)

    def dupack(self, now, trigger):
        """A duplicate ACK, caused by segment `trigger`."""
        return self.ack(now, self.high_ack, trigger)

    def dupacks(self, now, *triggers):
        """What is sent on each of several duplicate ACKs at one time."""
        return [self.dupack(now, trigger) for trigger in triggers]

    def time_out(self):
        """Let the retransmission timer expire."""
        return self.sends(TIMER, self.deadline)

    def write(self, now, to_send):
        """The application has handed over all up to packet `to_send`, and may hand over more."""
        self.set(awaits=1)
        return self.sends(WRITE, now, to_send)

    def offer(self, now, rwnd):
        """The receiver offers a window of `rwnd` packets."""
        return self.sends(RWND, now, rwnd)


def started(recovery="reno", **settings):
    """An endpoint that has sent its first window at 0."""
    end = Endpoint(recovery, **settings)
    end.start()
    return end


def opened(recovery="reno", **settings):
    """An endpoint whose first segment was acknowledged after 0.1 s, so that 1 is next."""
    end = started(recovery, **settings)
    end.ack(0.1, 0)
    return end


class Wire:
    """An endpoint whose sender and receiver are `rtt` apart on a link of `rate` packets per second.

    `lose` holds pairs of a segment and the number of its transmission, counted from 1.
    """

    def __init__(self, end, *, lose=(), rtt=0.1, rate=1000.0):
        self.end, self.rtt, self.rate = end, rtt, rate
        self.lose = {pair if isinstance(pair, tuple) else (pair, 1) for pair in lose}
        self.agenda, self.order = [], count()
        self.free, self.now = 0.0, 0.0
        self.sent = []  # (time, segment)
        self.acks = []  # (time, number)
        self.arrivals = []  # (time, segment)
        self.times = {}
        self.put(end.start())

    def at(self, seq):
        """Times when a segment was sent."""
        return [time for time, s in self.sent if s == seq]

    def put(self, segments):
        for seq in segments:
            self.sent.append((self.now, seq))
            self.times[seq] = self.times.get(seq, 0) + 1
            self.free = max(self.free, self.now) + 1 / self.rate
            if (seq, self.times[seq]) not in self.lose:
                self.later(self.free + self.rtt / 2, DATA, seq)

    def later(self, time, what, *details):
        heapq.heappush(self.agenda, (time, next(self.order), what, details))

    def run(self, until):
        end = self.end
        while True:
            timer = min(end.deadline, end.held_until)
            following = self.agenda[0][0] if self.agenda else math.inf
            self.now = min(timer, following)
            if self.now > until or self.now == math.inf:
                self.now = until
                return self
            if following <= timer:
                _, _, what, details = heapq.heappop(self.agenda)
                if what == DATA:
                    self.arrivals.append((self.now, details[0]))
                    if end.call(DATA, self.now, details[0]):
                        self.reply(details[0])
                else:
                    self.acks.append((self.now, details[0]))
                    self.put(end.sends(ACK, self.now, *details))
            elif end.held_until <= end.deadline:
                if end.call(ACK_TIMER, self.now):
                    self.reply(end.expected - 1)
            else:
                self.put(end.sends(TIMER, self.now))

    def reply(self, trigger):
        end = self.end
        details = (end.expected - 1, trigger, end.sack_low, end.sack_high)
        self.later(self.now + self.rtt / 2, ACK, *details)
