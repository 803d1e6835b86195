"""Round-trip time estimation and the coarse retransmission timer.

Sources: V. Jacobson 1988, appendix A; RFC 6298; the options are those of the papers' simulator.
The clock ticks every `tick` seconds (0.5 s in 4.3BSD, 0.01 s in ns-2), `clock_phase` before the
multiples of `tick`. One packet per round trip is timed, or every packet with `timestamps`. In
ticks, with 3 and 2 fraction bits as in BSD:

    srtt  <- 7/8 srtt + 1/8 m,   rttvar <- 3/4 rttvar + 1/4 |m - srtt|,   rto = srtt + 4 rttvar

`rto_margin` is a lower bound of the variance term (Linux bounds this term by 200 ms, not the sum).
An RTO below `min_rto` is raised to it, then multiplied by the backoff (1, 2, 4, ...). The backoff
returns to 1 when a packet that was sent once is acknowledged (Karn's rule). The product never
exceeds `max_rto`.
As in BSD and ns-2 a retransmission cancels the running measurement. A packet sent for the first
time during a recovery may be timed, although its ACK may wait for the recovery's retransmissions
(RFC 6298 allows it; the samples for controllers are stricter, see
:func:`tcpcc.transport.rules.take_rtt_sample`).
The backoff stops at `backoff_limit` (64, as in BSD; in ns-2 it grows until the product is max_rto).

With `coarse_timer` the timer is 4.3BSD-Reno's (tcp_input.c, tcp_timer.c): m is the number of clock
ticks between sending and ACK, possibly 0, plus 1 for the first measurement. The timer expires after
as many ticks as the timeout has, and `min_rto` bounds the product of RTO and backoff.
"""

import math

from tcpcc.engine.jit import compiled, not_inlined

#: Ticks; a time that is closer to a whole number of ticks is divided by the tick, which may round.
EDGE = 1e-9
#: Ticks; beyond, rounding may exceed `EDGE`.
MANY = 10**6


@compiled
def reset_timer(f):
    f.srtt8 = 0
    f.rttvar4 = 0
    f.rto = f.initial_rto
    f.settled_from = math.inf
    f.backoff = 1
    set_interval(f)
    f.timing = 0
    f.timed_seq = -1
    f.deadline = math.inf


@compiled
def ticks_by(f, time):
    """Number of clock ticks up to `time`."""
    return math.floor((time + f.clock_phase) / f.tick)


@compiled
def since_tick(f, time):
    """``time % f.tick``, to the bit, without a division while the clock has not ticked again.

    The last tick is ``f.last_tick + f.last_tick_low``, a sum without rounding. A remainder is a
    double, so that the differences below are exact.
    """
    rest = time - f.last_tick - f.last_tick_low
    return rest if 0 <= rest < f.tick else find_tick(f, time)


@not_inlined
def find_tick(f, time):
    """:func:`since_tick` after another tick, which becomes the last one."""
    rest = time % f.tick
    f.last_tick = time - rest
    f.last_tick_low = time - f.last_tick - rest
    return rest


@compiled
def measure(f, now, rtt):
    """Update the estimator with an RTT sample.

    Most samples leave it as it is: those that are as many ticks as one that has done so. This takes
    a comparison with ``f.settled_from`` and ``f.settled_until``, seconds in whole ticks.
    """
    if f.coarse_timer != 0:
        measure_coarsely(f, now, rtt)
        return
    seconds = rtt + since_tick(f, now - rtt + f.clock_phase)
    if not f.settled_from <= seconds < f.settled_until:
        update_estimate(f, max(int(seconds / f.tick), 1))


@not_inlined
def measure_coarsely(f, now, rtt):
    """:func:`measure` with `coarse_timer`: clock ticks between sending and ACK."""
    ticks = ticks_by(f, now) - ticks_by(f, now - rtt)
    update_estimate(f, ticks + 1 if f.srtt8 == 0 else ticks)


@not_inlined
def update_estimate(f, ticks):
    """Update the estimator with an RTT sample of `ticks` clock ticks."""
    srtt8, rttvar4 = f.srtt8, f.rttvar4
    if f.srtt8 != 0:
        delta = ticks - (f.srtt8 >> 3)
        f.srtt8 = max(f.srtt8 + delta, 1)
        f.rttvar4 = max(f.rttvar4 + abs(delta) - (f.rttvar4 >> 2), 1)
    else:
        f.srtt8 = ticks << 3
        f.rttvar4 = ticks << 1
    f.rto = ((f.rttvar4 << 3) + f.srtt8 >> 3) * f.tick
    if f.rto_margin > 0:
        f.rto = max(f.rto, f.srtt8 / 8 * f.tick + f.rto_margin)
    set_interval(f)
    f.settled_from = math.inf
    if f.srtt8 == srtt8 and f.rttvar4 == rttvar4 and ticks < MANY:
        f.settled_from = (ticks + EDGE) * f.tick if ticks > 1 else 0.0
        f.settled_until = (ticks + 1 - EDGE) * f.tick


@compiled
def set_interval(f):
    """Set the time in which the timer expires, s, after the RTO or the backoff has changed."""
    interval = max(f.rto, f.min_rto) * f.backoff
    if f.coarse_timer != 0:
        interval = max(f.rto * f.backoff, f.min_rto)
    f.interval = max(min(interval, f.max_rto), 2 * f.tick)


@compiled
def restart_timer(f, now):
    if f.coarse_timer != 0:
        f.deadline = coarse_deadline(f, now)
    else:
        f.deadline = now + f.interval


@not_inlined
def coarse_deadline(f, now):
    at = ticks_by(f, now) + math.ceil(f.interval / f.tick)
    return at * f.tick - f.clock_phase


@compiled
def reset_backoff(f):
    if f.backoff != 1:
        end_backoff(f)


@not_inlined
def end_backoff(f):
    f.backoff = 1
    set_interval(f)


@compiled
def back_off(f):
    """Double the timeout; after more than three doublings discard the smoothed RTT, as BSD does."""
    if f.backoff < f.backoff_limit:
        f.backoff <<= 1
    if f.backoff > 8:
        f.rttvar4 += f.srtt8 >> 3
        f.srtt8 = 0
        f.settled_from = math.inf
    set_interval(f)


@compiled
def time_acknowledged(f, now, ack, rtt):
    """On an ACK of new data: update the estimator, reset the backoff, and restart the timer (RFC
    6298, 5.3). If nothing is outstanding, its expiry has no effect, as if it had stopped (5.2)."""
    if f.timestamps != 0 and rtt > 0:
        measure(f, now, rtt)
        reset_backoff(f)
    if f.timing != 0 and ack >= f.timed_seq:
        f.timing = 0
        reset_backoff(f)
        if f.timestamps == 0:
            measure(f, now, now - f.timed_at)
    restart_timer(f, now)
