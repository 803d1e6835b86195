"""The sample that a controller's rules read, and the measurement of round-trip times."""

import math

from tcpcc.engine.jit import compiled, index_at, number_at
from tcpcc.engine.streams import uniform
from tcpcc.models.fluid.fluid_records import (
    DELIVERED_BY,
    FIRST_SENT_AT,
    LIMITED_AT,
    LOST_BY,
    N_TOTALS,
    PIPE_AT,
    REPAIRED_BY,
    SENT_BY,
    hop_at,
    then,
    total_at,
)
from tcpcc.transport.flow_record import window_at
from tcpcc.transport.pacing import piece_at
from tcpcc.transport.sample import sample_at


@compiled
def in_flight(f):
    """Packets that were sent and whose fate the sender does not know."""
    return max(f.sent - f.high_ack - f.stale, 0.0)


@compiled
def outstanding(f):
    """These, and lost ones before a recovery."""
    return f.sent - f.high_ack - f.stale + f.pending


@compiled
def new_data(f):
    """Packets that the application has not sent for the first time."""
    return max(f.size - (f.sent - f.retransmitted), 0.0)


@compiled
def fill_common(f, now):
    """Fill in the fields common to all events, nothing acknowledged; returns the sample."""
    a = fill_state(f, now)
    a.acked = a.growing = a.rtt = a.limited = a.marked = a.ce = 0.0
    a.delivered = f.unreported
    return a


@compiled
def fill_state(f, now):
    """Fill in the fields that describe the sender; returns the sample."""
    a = sample_at(f.sample, 0)
    a.now = now
    a.clock = now - f.paused
    f.sampled_at = now
    a.srtt = f.srtt
    a.base_rtt = f.base_rtt if f.base_rtt < math.inf else f.srtt
    a.max_rtt = max(f.max_rtt, a.base_rtt)
    a.window = max(min(window_at(f.state, 0).cwnd, f.rwnd), 1.0)
    a.inflight = outstanding(f)
    a.phase = float(f.phase)
    a.transmits = a.idle = 0.0
    if f.reads_packets != 0:
        a.pipe = in_flight(f)
        a.total_delivered = f.delivered
        a.piece = 1.0
        if f.pacing != 0:
            a.piece = piece_at(f, number_at(f.state + f.pacing, 0).value)
        a.lost = a.lost_inflight = a.app_limited = 0.0
    return a


@compiled
def fill_packet_fields(w, f, a):
    """Fill in the fields of the newest packet that has returned."""
    at = sent_in_step(w, f)
    a.rate_interval = max(f.rtt, send_elapsed(w, f, at))
    a.rate_delivered = max(f.delivered - then(w, f, DELIVERED_BY, at), 1.0)  # packets are whole
    a.delivery_rate = a.rate_delivered / a.rate_interval if a.rate_interval > 0 else 0.0
    a.owd = f.owd
    history_of(w, f, a, at)


@compiled
def sent_in_step(w, f):
    """The step in which was sent what returns now: one RTT ago, as far as it is known."""
    return w.k - (f.rtt if f.rtt > 0 else f.base) * w.per_second


@compiled
def send_elapsed(w, f, at):
    """The time in which the packets that return in the round trip since step `at` were sent: a
    queue that shrinks delivers them faster (draft-cheng-iccrg-delivery-rate-estimation)."""
    k = max(int(at), 0)
    if k * w.step < f.start:
        return 0.0
    return k * w.step - total_at(w, f, FIRST_SENT_AT, k).value


@compiled
def history_of(w, f, a, at):
    """Fields that describe the moment `at`, in steps, at which a packet was sent."""
    k = max(int(at), 0)
    a.lost_inflight = total_at(w, f, PIPE_AT, k).value
    a.lost = f.lost - total_at(w, f, LOST_BY, k).value
    a.app_limited = total_at(w, f, LIMITED_AT, k).value
    for i in range(f.n_stamps):
        stamp = number_at(f.state + index_at(f.stamps, 2 * i + 1).at, 0)
        stamp.value = total_at(w, f, N_TOTALS + i, k).value


@compiled
def note_history(w, f, k, limited):
    """Keep the totals at the end of step `k`, and what describes the packets sent in it."""
    total_at(w, f, SENT_BY, k).value = f.sent
    total_at(w, f, REPAIRED_BY, k).value = f.retransmitted - f.useless
    if f.reads_packets == 0:
        return
    total_at(w, f, DELIVERED_BY, k).value = f.delivered
    total_at(w, f, PIPE_AT, k).value = in_flight(f)
    total_at(w, f, LOST_BY, k).value = f.lost
    total_at(w, f, LIMITED_AT, k).value = limited
    total_at(w, f, FIRST_SENT_AT, k).value = f.first_sent
    for i in range(f.n_stamps):
        stamp = number_at(f.state + index_at(f.stamps, 2 * i).at, 0)
        total_at(w, f, N_TOTALS + i, k).value = stamp.value


@compiled
def measure_rtt(w, f, now, a):
    """The RTT of the newest of `a` returned packets, and its averages (RFC 6298, with one sample
    for each packet: gains of 1/8 and 1/4)."""
    rtt = f.base + waits_passed(w, f)
    if f.noise > 0:
        rtt += f.noise * (2 * uniform(w) - 1)
    f.rtt = rtt
    f.first_sent = now - rtt
    if f.srtt == 0:
        f.srtt = rtt
        f.var = rtt / 2
    else:
        f.var += gain(0.2877 * a) * (abs(rtt - f.srtt) - f.var)
        f.srtt += gain(0.1335 * a) * (rtt - f.srtt)
    f.base_rtt = min(f.base_rtt, rtt)
    f.max_rtt = max(f.max_rtt, rtt)


@compiled
def gain(y):
    """1 - exp(-y), within 3 %; y = 0.1335 a gives 1 - (7/8)^a."""
    grown = y * (1 + y * (0.5 + y * (1 / 6)))  # of exp(y) - 1
    return grown / (1 + grown)


@compiled
def waits_passed(w, f):
    """The queueing delays of what returns now, read backwards along its path."""
    now = w.k
    mask = w.mask
    at = now - f.back  # when it left the last link
    total = 0.0
    owd = f.one_way
    for j in range(f.n_hops - 1, -1, -1):
        if at <= max(now - mask, 0):
            break  # the tables reach back no further
        hop = hop_at(w.hops, index_at(f.route, j).at)
        k = int(at)
        wait = number_at(hop.waits, (k & mask) * hop.stride + hop.place).value
        if k + 1 < now:
            next_wait = number_at(hop.waits, ((k + 1) & mask) * hop.stride + hop.place).value
            wait += (at - k) * (next_wait - wait)
        total += wait
        if hop.is_ack == 0:
            owd += wait
        at -= wait * w.per_second + hop.before
    f.owd = owd
    return total
