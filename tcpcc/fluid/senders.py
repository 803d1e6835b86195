"""The sender: what is acknowledged, what the window lets out, losses and their repair.

The window bounds what is in the network, ``next_seq - high_ack``: fluid sent, less what was
acknowledged and what is known to be lost. ACKs clock the sending; no rate W / RTT appears anywhere.
The controller's rules, the samples that they get and the retransmission timer are the packet
model's own. What is particular to fluid:

* A round ends with the first fluid sent after its beginning; a step's ACKs are split there.
* ``on_ack`` is told of at most a packet, or a sixteenth of the window, at a time, so that the
  window follows it smoothly.
* A hole is noticed when fluid that reached the dropping link after the loss is acknowledged, and
  becomes a loss event after `dupack_threshold` packets more. Recovery lasts as many round trips as
  the recovery's `holes_per_round` tells; more holes than `holes_at_most` wait for the timer.
* Nothing that has arrived is sent again: a retransmission is a packet that was lost.
"""

import math

from tcpcc.fluid.history import curve, number_at
from tcpcc.fluid.records import LOSSES, flow_at, hop_at, lost_at, slot_at
from tcpcc.jit import compiled, entry
from tcpcc.transport.records import LOSS, OPEN, RECOVERY, window_at
from tcpcc.transport.rto import back_off, measure, reset_timer, restart_timer
from tcpcc.transport.rules import apply, begin_round, fill_sample, lost, timed_out

OPENING, STUCK = 3, 4  # further phases: the handshake is under way; only the timer helps

NONE = 1e-6  # packets: less is rounding


# ------------------------------------------------------------------------------- sending


@compiled
def pump(f):
    """Send what the window lets out."""
    if f.phase >= OPENING or (f.phase == LOSS and f.holes > 0):
        return
    if f.holes > 0 and f.phase == OPEN and f.limited_transmit == 0:
        return
    window = math.floor(min(window_at(f.state, 0).cwnd, f.rwnd) + NONE)
    edge = f.high_ack + window
    edge = min(edge, f.limit + f.known_lost)
    if edge > f.next_seq:
        f.next_seq = edge


@compiled
def retransmit(f, packets):
    """Send one hole whatever the window, clocked by what comes in; others as the window allows."""
    f.repair = 1.0
    f.repair_lost = 0
    f.retransmitted += packets
    f.recover = f.next_seq


@compiled
def start(f, now):
    """Open the connection: the initial window, or first a handshake, which weighs nothing."""
    f.min_rtt = math.inf
    f.finished = math.nan
    f.expired_at = -math.inf
    f.opened_at = now
    reset_timer(f)
    begin_round(f, now)
    s = window_at(f.state, 0)
    if f.handshake != 0:
        f.phase = OPENING
        s.cwnd = 1.0
    else:
        f.phase = OPEN
        s.cwnd = f.initial_window
        pump(f)
        f.grown = f.next_seq
        restart_timer(f, now)


@entry
def start_at(flows, index, now):
    start(flow_at(flows, index), now)


@compiled
def opened(f, now, rtt):
    """The handshake is over; its round trip is none of those that the controller compares."""
    f.phase = OPEN
    f.recent_rtt = f.srtt = rtt
    measure(f, now, rtt)
    a = fill_sample(f, now)
    a.rtt = rtt
    a.acked = a.delivered = a.inflight = 1.0
    apply(f, f.on_ack)
    window_at(f.state, 0).cwnd = f.initial_window
    begin_round(f, now)
    pump(f)
    f.grown = f.next_seq
    restart_timer(f, now)


# -------------------------------------------------------------------- acknowledgements


@compiled
def sample_rtt(f, rtt, packets):
    f.recent_rtt = rtt
    f.min_rtt = min(f.min_rtt, rtt)
    f.max_rtt = max(f.max_rtt, rtt)
    if f.srtt == 0:
        f.srtt = rtt
    else:
        f.srtt += (rtt - f.srtt) * min(packets / 8, 1.0)


@compiled
def begin_next_round(f, now):
    """The first fluid of the last round came back: tell the controller, time the next round."""
    a = fill_sample(f, now)
    a.round_time = now - f.round_start
    a.round_rtt = f.round_sum / f.round_n if f.round_n > 0 else a.round_time
    a.round_min_rtt = f.round_min if f.round_n > 0 else a.round_time
    a.round_packets = f.next_seq - f.round_seq
    if f.on_round != 0 and a.round_rtt > 0 and math.isfinite(f.min_rtt):
        apply(f, f.on_round)
    if f.recent_rtt > 0:
        measure(f, now, f.recent_rtt)
        f.backoff = 1
    begin_round(f, now)


@compiled
def tell_acked(f, now, packets, rtt):
    a = fill_sample(f, now)
    a.rtt = rtt
    a.acked = packets * f.counted
    a.delivered = packets
    apply(f, f.on_ack)
    f.high_ack += packets


@compiled
def acknowledged(f, now, packets, rtt):
    """New data was acknowledged, in order."""
    while packets > NONE:
        part = min(packets, max(window_at(f.state, 0).cwnd / 16, 1.0))
        ahead = f.round_seq - f.high_ack
        if ahead <= NONE:
            begin_next_round(f, now)
        elif ahead < part:
            part = ahead
        f.round_sum += rtt * part
        f.round_n += part
        f.round_min = min(f.round_min, rtt)
        before = f.next_seq
        tell_acked(f, now, part, rtt)
        pump(f)
        f.grown += max(f.next_seq - before - part, 0.0)
        packets -= part


# ----------------------------------------------------------------------------- losses


@compiled
def write_off(f, packets):
    """`packets` lost ones have left the network and are to be sent again."""
    f.high_ack += packets
    f.known_lost += packets


@compiled
def enter_recovery(f, now):
    lost(f, now, 1.0)
    write_off(f, f.holes)
    f.phase = RECOVERY
    f.event_at = now
    f.later = 0.0
    f.partial = 0
    f.repaired = min(f.holes_per_round, f.holes)
    retransmit(f, f.repaired)
    restart_timer(f, now)


@compiled
def go_on_recovering(f, now):
    """The first retransmission of the last round came back, or would have."""
    if f.repair_lost != 0:
        if f.fine != 0:  # its age tells; others wait for the timer
            lost(f, now, 2.0)
            retransmit(f, 1.0)
        return
    if f.repaired >= f.holes:
        f.phase = OPEN
        f.holes = f.later
        f.later = 0.0
        f.dupacks = 0.0
        restart_timer(f, now)
        return
    if f.impatient == 0 or f.partial == 0:
        f.partial = 1
        restart_timer(f, now)
    if f.holes > f.holes_at_most:
        f.phase = STUCK
        return
    more = min(f.holes_per_round, f.holes - f.repaired)
    f.repaired += more
    retransmit(f, more)


@compiled
def note_hole(f, packets, sent_at):
    """A loss has become known, of fluid sent at `sent_at`."""
    f.unseen -= packets
    if sent_at < f.expired_at:  # given up at the timeout, and sent again since
        f.known_lost += packets
        f.retransmitted += packets
    elif f.phase != RECOVERY:
        f.holes += packets
    elif sent_at >= f.event_at:
        f.later += packets
    else:
        f.holes += packets
        if math.isinf(f.holes_per_round):
            f.repaired += packets
            f.retransmitted += packets
        write_off(f, packets)


@compiled
def look_for_holes(w, f, route):
    """Note the losses after which fluid reached the same link that is acknowledged by now."""
    for i in range(route.n_forward):
        hop = hop_at(w.hops, route.first_hop + i)
        slot = slot_at(w.slots, hop.first_slot + f.member)
        while slot.first_loss != slot.last_loss:
            loss = lost_at(slot.losses, slot.first_loss % LOSSES)
            if loss.time > hop.seen:
                break
            slot.first_loss += 1
            note_hole(f, loss.packets, route.sent_at - (hop.seen - loss.time))


@compiled
def expire(w, f, route, now):
    """The retransmission timer expired: nothing is in the network any more, begin anew."""
    timed_out(f, now)
    back_off(f)
    f.to_repair = f.unseen + f.holes + f.later
    if f.phase == RECOVERY or f.phase == STUCK:
        f.to_repair = f.unseen + f.later + max(f.holes - f.repaired, 1.0)
        f.known_lost += f.unseen + f.later
    else:
        f.known_lost += f.to_repair
    f.retransmitted += f.to_repair
    for i in range(route.n_forward):
        hop = hop_at(w.hops, route.first_hop + i)
        slot = slot_at(w.slots, hop.first_slot + f.member)
        slot.first_loss = slot.last_loss
        slot.debt = 0.0  # what was to be taken from later fluid is taken for lost already
    f.unseen = f.holes = f.later = f.dupacks = 0.0
    f.phase = LOSS
    f.high_ack = f.next_seq
    f.expired_at = now - w.step  # what it sends in this step lies between the two rows
    begin_round(f, now)
    restart_timer(f, now)


# ------------------------------------------------------------------------------- a step


@compiled
def receive(w, f, route, now, fresh):
    """Deal with `fresh` packets acknowledged during this step."""
    rtt = (route.rtt + route.last_rtt) / 2
    f.acked += fresh
    if route.sent_at < f.expired_at:
        return  # sent before the timeout, and given up
    if f.unseen > 0:
        look_for_holes(w, f, route)
    if f.phase == STUCK:
        f.high_ack += fresh
    elif f.phase == RECOVERY:
        f.high_ack += fresh
        clocked = min(fresh, f.repair)
        f.next_seq += clocked
        f.repair -= clocked
        if f.high_ack >= f.recover:
            go_on_recovering(f, now)
    elif f.holes > 0:
        f.high_ack += fresh
        f.dupacks += fresh
        if f.dupacks >= f.dupack_threshold - 1 and f.phase == OPEN:
            enter_recovery(f, now)
    else:
        sample_rtt(f, rtt, fresh)
        acknowledged(f, now, fresh, rtt)
        if math.floor(f.acked) > math.floor(f.acked - fresh):
            restart_timer(f, now)
        if f.phase == LOSS:
            f.to_repair -= fresh
            if f.to_repair <= 0:
                f.phase = OPEN


@compiled
def step_sender(w, f, route):
    now = w.now
    if f.phase == OPENING:
        if route.sent_at >= f.opened_at:
            opened(f, now, route.rtt - f.syn_shorter)
    else:
        value = curve(route, route.ack_column + f.member)
        if value > f.acked + NONE:
            receive(w, f, route, now, value - f.acked)
            if f.acked >= f.limit - NONE and math.isnan(f.finished):
                f.finished = now
        if now >= f.deadline:
            expire(w, f, route, now)
        pump(f)
        out = f.next_seq - f.high_ack > NONE
        if f.repair > 0 and not out:  # nothing comes in any more that could clock it
            f.next_seq += f.repair
            f.repair = 0.0
        if not out and f.holes == 0 and (f.phase == OPEN or f.phase == LOSS):
            f.deadline = math.inf
        elif f.deadline == math.inf:
            restart_timer(f, now)
    if math.isinf(window_at(f.state, 0).ssthresh):  # its first slow start
        clump = window_at(f.state, 0).cwnd * f.spacing
        w.wanted = min(w.wanted, max(clump / 100, route.finest))
    number_at(w.row, route.column + f.member).value = f.next_seq
    number_at(w.row, route.grown + f.member).value = f.grown


@compiled
def step_cbr(w, f, route):
    """A constant bit rate while it is on."""
    f.next_seq += f.rate * w.step
    number_at(w.row, route.column + f.member).value = f.next_seq
