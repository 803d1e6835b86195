"""A TCP sender of fluid: one step of feedback, rules and sending.

(1)  x(t) = acks(t) + dW/dt      what is sent is what the window W has left over: W - outstanding
(2)  dy/dt = acks x rule(y)      the controller's own ``on_ack``, with a real number of packets
(3)  y <- on_round(y)            when what was sent one round trip ago has returned
(4)  y <- on_loss(y)             when three packets beyond a lost one have returned

Losses and marks are whole packets of single flows, so y jumps; :mod:`.fluid_recovery` has the laws.
"""

import math

import numpy as np

from tcpcc.engine.jit import compiled, index_at, not_inlined, number_at
from tcpcc.engine.streams import uniform
from tcpcc.models.bit_sets import drop_member
from tcpcc.models.fluid.fluid_amounts import arrive_alone
from tcpcc.models.fluid.fluid_conversations import drain, forget, run_application
from tcpcc.models.fluid.fluid_fields import pass_words_on, words_of_flow
from tcpcc.models.fluid.fluid_records import (
    DRAINING,
    FINISHED,
    OPENING,
    ROUNDING,
    RUNNING,
    WAITING,
    flow_cell,
    hop_at,
    hop_cell,
    put_fluid,
    queue_at,
)
from tcpcc.models.fluid.fluid_recovery import (
    HALF,
    RACK,
    count_sent,
    detect_loss,
    enter_recovery,
    learn_of_losses,
    lost_duplicates,
    repair_losses,
    room_before_recovery,
    room_in_recovery,
    time_out,
    timeout,
    to_repair,
    uses_duplicates,
)
from tcpcc.models.fluid.fluid_sample import (
    fill_common,
    fill_packet_fields,
    fill_state,
    in_flight,
    measure_rtt,
    new_data,
    note_history,
    outstanding,
)
from tcpcc.models.header_layout import return_words, send_fields, words_at
from tcpcc.transport.flow_record import CBR, OPEN, RECOVERY, window_at
from tcpcc.transport.rules import apply_cut, apply_growth, is_limited, pause
from tcpcc.transport.sample import apply_rule

NEVER = 10**18  # steps
LITTLE = 3 * ROUNDING  # packets of a file: rounding errors of new data, of holes, and of the totals


@compiled
def step_sender(w, f, now):
    """What flow `f` does in step ``w.k``."""
    if f.rwnd != f.next_rwnd:
        move_window(f)
    if f.status == RUNNING:
        if f.kind == CBR:
            send_at_rate(w, f, now)
        else:
            if f.acted < w.k - 1 and f.n_history > 0:
                note_rest(w, f)
            acked = take_returned(w, f, now)
            if f.last_item != 0:
                run_application(w, f, now)
                if f.conversation != 0 and ends_now(w, f, now):
                    return
            act_on_timers(w, f, now)
            send_fluid(w, f, now, acked)
    elif f.status == DRAINING:
        drain(w, f)
    else:  # what returns is of no use
        for table in (w.acked, w.losses, w.marks):
            flow_cell(w, table, w.k, f.index).value = 0.0
        wait_to_open(w, f, now)


@compiled
def wait_to_open(w, f, now):
    """Open a flow whose time has come; before this and after its end it rests."""
    if f.status < RUNNING:
        if f.last_item != 0 and (f.status == OPENING or (f.conversation == 0 and now >= f.start)):
            run_application(w, f, now)
        if now >= f.start:
            open_flow(w, f, now)
        else:
            rest(w, f, min(f.start, f.write_at))
    else:
        rest(w, f, math.inf)


@not_inlined
def move_window(f):
    """As `transport.sender.learn_rwnd`: a larger receive window opens at once; the right edge of
    the present one does not move back, so that a smaller one is reached as packets return."""
    if f.next_rwnd > f.rwnd or f.status != RUNNING:
        f.rwnd = f.next_rwnd
        f.right_edge = 0.0
        return
    if f.right_edge == 0:
        f.right_edge = f.high_ack + f.rwnd if f.rwnd < math.inf else f.sent
    f.rwnd = max(f.right_edge - f.high_ack, f.next_rwnd)
    if f.rwnd == f.next_rwnd:
        f.right_edge = 0.0


@compiled
def rest(w, f, until):
    """If nothing returns, the flow acts again in the step before the time `until`."""
    k = int(min(until * w.per_second, float(NEVER))) - 1
    if k > w.k + 1:
        index_at(w.acts_at, f.index).at = k
        w.soonest = min(w.soonest, k)
        drop_member(w.awake, f.index)


@compiled
def rest_if_idle(w, f, out):
    """Window or application allow nothing to be sent, so only timers and new data change that."""
    if f.phase == RECOVERY or (f.law == RACK and f.pending > 0):
        return
    if out < usable_window(f) and new_data(f) + to_repair(f) > 0:
        return
    until = min(f.write_at, f.timer_from + timeout(f))
    if f.open != 0:
        until = min(until, f.stop)
    if f.wake != 0:
        until = min(until, number_at(f.state + f.wake, 0).value)
    rest(w, f, until)


@not_inlined
def note_rest(w, f):
    """Note the totals of the steps in which the flow did not act, as far back as what returns next
    may have been sent."""
    first = max(f.acted + 1, w.k - w.mask)
    if outstanding(f) <= ROUNDING:
        first = max(first, w.k - int(2 * (f.max_rtt + f.noise) * w.per_second) - 2)
    for k in range(first, w.k):
        if in_flight(f) <= ROUNDING:
            f.first_sent = k * w.step
        note_history(w, f, k, 1.0 if f.limited_until > f.delivered else 0.0)


@compiled
def ends_now(w, f, now):
    """Whether a conversation has come to its end."""
    if f.undone < f.last_item:
        return False
    close_flow(w, f, now)
    f.status = DRAINING
    return True


@compiled
def count_open(w, f, value):
    """A source opens (1) or closes (0); every link on its path counts it once."""
    for j in range(f.n_hops):
        hop = hop_at(w.hops, index_at(f.route, j).at)
        if hop.repeats == 0:
            x = queue_at(w.queues, hop.queue)
            x.flows += (value - f.open) * f.count
            if f.pacing != 0:
                x.paced += value - f.open
    f.open = value


@compiled
def open_flow(w, f, now):
    """Start; the SYN and its ACK take a round trip with the queues of this moment."""
    if f.kind == CBR:
        f.status = RUNNING
        send_at_rate(w, f, now)
        return
    if f.status == WAITING:
        f.status = OPENING
        count_open(w, f, 1.0)
        fill_common(f, now)
        if f.on_start != 0:
            apply_rule(f, f.on_start)
        if f.handshake != 0:
            f.syn_rtt = f.base + waits_now(w, f)
            f.start += f.syn_rtt
            if f.n_fields > 0:
                send_syn(w, f, now)
            return
    f.status = RUNNING
    if f.conversation != 0:
        forget(w, f)
    window_at(f.state, 0).cwnd = f.initial_window
    f.round_start = now
    fill_common(f, now).rtt = f.syn_rtt
    if f.n_fields > 0 and f.syn_rtt > 0:
        return_words(f, f.sample, words_at(w, w.syn_words, f.index))
    if f.on_open != 0:
        apply_rule(f, f.on_open)
    send_fluid(w, f, now, 0.0)


@compiled
def send_syn(w, f, now):
    """The routers on the path change the header fields of the SYN."""
    words = words_at(w, w.syn_words, f.index)
    send_fields(f, f.state, words)
    for j in range(f.n_hops):
        hop = hop_at(w.hops, index_at(f.route, j).at)
        x = queue_at(w.queues, hop.queue)
        if x.in_amounts != 0 and hop.is_ack == 0:
            arrive_alone(w, x, hop, now, words)


@compiled
def waits_now(w, f):
    """The queueing delays on a flow's path at this moment, s."""
    total = 0.0
    for j in range(f.n_hops):
        x = queue_at(w.queues, hop_at(w.hops, index_at(f.route, j).at).queue)
        if x.rate > 0:
            total += x.backlog_bits / x.rate
    return total


@compiled
def take_returned(w, f, now):
    """What has returned in this step: delivered, lost and marked packets. Returns the first."""
    acked_cell = flow_cell(w, w.acked, w.k, f.index)
    losses_cell = flow_cell(w, w.losses, w.k, f.index)
    marks_cell = flow_cell(w, w.marks, w.k, f.index)
    a, n, marks = acked_cell.value, losses_cell.value, marks_cell.value
    if a <= 0 and n <= 0:
        return 0.0
    acked_cell.value = 0.0
    if n > 0:  # what is not written needs no memory
        losses_cell.value = 0.0
    if marks > 0:
        marks_cell.value = 0.0
    before = f.high_ack
    f.high_ack += a + n
    old = 0.0  # delivered packets that were sent before a timeout
    if f.stale > 0:
        old = min(f.stale / (a + n), 1.0) * a
        f.stale = max(f.stale - a - n, 0.0)
    if a > 0:
        measure_rtt(w, f, now, a)
        f.probe_at = now + 2 * f.srtt
    missing = n
    if n > 0 and f.duplicates > 0:
        missing -= lost_duplicates(w, f, before, n)
    if missing > 0:
        behind = a - flow_cell(w, w.lost_at, w.k, f.index).value
        learn_of_losses(w, f, now, before, a, missing, behind)
    useful = a
    if f.duplicates > 0 and a > 0:
        useful -= min(a * f.duplicates / max(f.sent - before - n, a), f.duplicates, a)
        f.duplicates -= a - useful
        f.reached -= a - useful  # the receiver had them
    f.delivered += useful
    new = max(useful - old, 0.0)
    in_order = repair_losses(w, f, now, new)
    if f.every_ack != 0:  # the recovery's rules come before ``on_ack`` (`transport.sender`)
        detect_loss(f, now, new)
    if marks > 0:
        answer_marks(f, now, marks)
    if a > 0:
        if f.n_fields > 0:
            return_words(f, f.sample, words_of_flow(w, w.k, f.index))
        report_delivered(w, f, now, a, useful, in_order)
    detect_loss(f, now, new)
    is_done = f.delivered >= f.size - LITTLE and math.isnan(f.finished)
    if is_done and f.conversation == 0 and f.item == f.last_item:
        close_flow(w, f, now)
    return a


@compiled
def close_flow(w, f, now):
    f.finished = now
    f.status = FINISHED
    f.reached -= f.duplicates  # what is on its way for the second time
    f.duplicates = 0.0
    count_open(w, f, 0.0)


@compiled
def answer_marks(f, now, marks):
    """Marks return: the window is cut at most once in a round trip (RFC 3168, 6.1.2)."""
    f.unreported_marks += marks
    if f.phase != OPEN or f.high_ack <= f.mark_edge:
        return
    f.mark_edge = f.sent
    a = fill_common(f, now)
    a.marked, a.ce = f.unreported_marks, marks
    apply_cut(f, f.on_mark)


@compiled
def report_delivered(w, f, now, a, useful, in_order):
    """Call ``on_round`` and ``on_ack`` for `a` returned packets, of which the receiver did not have
    `useful` before and `in_order` are acknowledged in order; as `transport.rules.report_acked`."""
    since = f.sampled_at
    x = fill_state(f, now)
    x.rtt = f.rtt
    x.limited = 0.0
    x.acked = in_order * f.counted
    x.delivered = f.unreported + useful
    held = 0.0
    if f.every_ack != 0 and f.phase == OPEN and in_flight(f) > ROUNDING:
        held = x.delivered % f.per_ack  # what no ACK reports yet
        x.delivered -= held
    x.inflight += a
    x.marked, x.ce = f.unreported_marks, f.unreported_marks
    used = f.rwnd
    if new_data(f) <= ROUNDING:
        used = min(x.inflight, used)
    x.growing = x.delivered if f.every_ack != 0 else x.acked
    if is_limited(f, used):
        x.limited = 1.0
        x.growing = 0.0
        pause(f, x, since)
    if f.reads_packets != 0:
        fill_packet_fields(w, f, x)
    reports = in_order > 0 if f.every_ack == 0 else x.delivered > 0
    over = f.high_ack - f.round_end
    new = a  # packets of the round that has not ended
    if over > ROUNDING and reports:
        new = min(over, a)
        end_round(w, f, now, a, x, new)
    add_to_round(f, new)
    if reports:
        f.unreported_marks = 0.0
        f.unreported = held
        apply_growth(f, f.on_ack)
    else:
        f.unreported += useful


@compiled
def add_to_round(f, packets):
    f.round_sum += f.rtt * packets
    f.round_n += packets
    f.round_min = min(f.round_min, f.rtt)


@compiled
def end_round(w, f, now, a, x, over):
    """A round ends: the last `over` of `a` packets belong to the next one."""
    add_to_round(f, a - over)
    n = f.round_n
    x.round_rtt = f.round_sum / n if n > 0 else f.rtt
    x.round_min_rtt = f.round_min if n > 0 else f.rtt
    passed = now - over / a * w.step
    end = f.sent + a - over
    x.round_time = passed - f.round_start
    x.round_packets = end - f.round_end
    if f.on_round != 0:
        before = exact_window(f)
        apply_growth(f, f.on_round)
        if exact_window(f) > before:
            f.grown_by_round = 1 - over / a
    f.round_end = end
    f.round_start = passed
    f.round_sum = f.round_n = -0.0
    f.round_min = math.inf


@compiled
def repeat_acks(w, f, now):
    """The last ACKs were dropped at links of whole packets, and nothing else is missing: what is
    sent after a timeout brings another ACK, which says what they said."""
    for j in range(f.n_hops):
        hop = hop_at(w.hops, index_at(f.route, j).at)
        if hop.held > 0:
            amount = min(hop.held, 1 / hop.packets)
            hop.held -= amount
            hop.carry += amount
            hop.fed_at = now - hop.hold


@compiled
def act_on_timers(w, f, now):
    """The retransmission timer and the controller's own timer."""
    if now - f.timer_from >= f.min_rto and now - f.timer_from >= timeout(f):
        if outstanding(f) > ROUNDING or f.phase != OPEN:
            time_out(f, now)
            if to_repair(f) <= 0:
                repeat_acks(w, f, now)
        else:
            f.timer_from = math.inf
    if f.law == RACK and f.phase == OPEN and f.pending > 0 and now >= f.probe_at:
        enter_recovery(f, now, 0.0)  # a tail loss probe returns (RFC 8985, 7.2)
    if f.wake != 0:
        at = number_at(f.state + f.wake, 0)
        if at.value <= now:
            at.value = math.inf
            fill_common(f, now)
            apply_rule(f, f.on_timer)


@compiled
def usable_window(f):
    """Whole packets that may be outstanding, at least one."""
    return max(np.floor(min(window_at(f.state, 0).cwnd, f.rwnd) + ROUNDING), 1.0)


@compiled
def is_held_back(f, out):
    """Whether cwnd allows more than the `out` packets outstanding, but there are no more, or the
    receiver allows no more (not in Linux); as `transport.delivery.note_limited`."""
    s = window_at(f.state, 0)
    if out >= max(np.floor(s.cwnd + ROUNDING), 1.0):
        return False
    at_edge = f.window_decay == 0 and out >= np.floor(f.rwnd) - ROUNDING
    return at_edge or new_data(f) <= ROUNDING


@compiled
def send_fluid(w, f, now, acked):
    """Send what window, pacing and application allow; equation (1)."""
    cwnd = usable_window(f)
    out = outstanding(f)
    amount = max(cwnd - out, 0.0)
    if f.phase == RECOVERY:
        amount = room_in_recovery(f, cwnd, out, acked)
    elif f.pending > 0 and uses_duplicates(f):
        amount = min(amount, room_before_recovery(f, cwnd))
    if f.pacing != 0:
        rate = number_at(f.state + f.pacing, 0).value
        if rate < math.inf:
            f.tokens = min(f.tokens, 0.0) + rate * w.step
            amount = min(amount, max(f.tokens, 0.0))
            f.tokens -= amount
    if f.size < math.inf:
        amount = min(amount, new_data(f) + to_repair(f))
    if now >= f.stop:
        amount = min(amount, to_repair(f))
        if f.open != 0:
            count_open(w, f, 0.0)
    if amount <= ROUNDING:
        amount = 0.0
    if amount > f.most:
        raise FloatingPointError("a window of more packets than the path carries in the run")
    again = count_sent(f, now, amount, out)
    f.retransmitted += again
    if in_flight(f) <= ROUNDING:
        f.first_sent = now
    grown = note_growth(w, f, amount, acked)
    f.sent += amount
    if f.on_send != 0 and amount > 0:
        report_sent_fluid(f, now, amount, again)
    if f.reads_packets != 0 and to_repair(f) <= 0 and is_held_back(f, out + amount):
        f.limited_until = f.delivered + in_flight(f)
    if f.n_history > 0:
        note_history(w, f, w.k, 1.0 if f.limited_until > f.delivered else 0.0)
    f.acted = w.k
    if amount > 0:
        f.sent_at = now
        leave_host(w, f, amount, grown)
    else:
        rest_if_idle(w, f, out)


@compiled
def note_growth(w, f, amount, acked):
    """Note the place of the packet by which the window has grown: behind the ACK with which the
    window has become a whole number; with several in a step it is random, in a burst the end. A
    partial ACK releases it behind the retransmission. Returns the number of such packets."""
    window = exact_window(f)
    grown = amount - acked
    if f.phase == OPEN and grown > HALF:
        growth, over = window - f.window_before, window - np.floor(window)
        if acked <= 0:
            f.grown_part = 1.0
        elif f.grown_by_round >= 0:
            f.grown_part = f.grown_by_round
        elif grown < 1 + HALF and growth > over:
            f.grown_part = 1 - over / growth
        else:
            f.grown_part = uniform(w)
        if grown < 1 + HALF:
            f.grown_at = f.sent + f.grown_part * acked
    elif f.phase == RECOVERY and uses_duplicates(f) and f.repair_at == f.sent + 1:
        grown = amount - max(acked, 1.0)
        if grown > HALF:
            f.grown_part = 1 / (amount - 1)
    elif f.phase != OPEN:
        grown = 0.0
    f.window_before = window
    f.grown_by_round = -1.0
    return grown


@compiled
def exact_window(f):
    """The window with its fraction, packets."""
    return window_at(f.state, 0).cwnd + f.carried


@not_inlined
def report_sent_fluid(f, now, amount, again):
    """Call ``on_send`` for `amount` packets, of which `again` are retransmissions."""
    sampled_at = f.sampled_at
    a = fill_common(f, now)
    f.sampled_at = sampled_at
    a.sent, a.retransmitted = amount, again
    apply_rule(f, f.on_send)
    a.sent = a.retransmitted = 0.0


@compiled
def send_at_rate(w, f, now):
    """A source without feedback, in its on-intervals."""
    while f.on < f.n_on and now >= number_at(f.state, 2 * f.on + 1).value - ROUNDING:
        f.on += 1
    is_on = 0.0
    if f.on == f.n_on:
        f.status = FINISHED
    elif now >= number_at(f.state, 2 * f.on).value - ROUNDING:
        is_on = 1.0
    if f.open != is_on:
        count_open(w, f, is_on)
    if is_on == 0:
        rest(w, f, number_at(f.state, 2 * f.on).value if f.on < f.n_on else math.inf)
        return
    amount = f.rate * w.step
    f.sent += amount
    leave_host(w, f, amount, 0.0)


@compiled
def leave_host(w, f, amount, grown):
    """Put fluid on a flow's path; by `grown` of it the window has grown."""
    h, k = -1, w.k + f.to_sender  # of the sender itself
    if f.n_hops > 0:
        h, k = index_at(f.route, 0).at, w.k + f.to_first
    if f.n_fields > 0:
        send_fields(f, f.state, w.own_words)
        pass_words_on(w, w.own_words, amount, k, h, f.index)
    if f.n_hops > 0:
        put_fluid(f, k, amount)
        if grown > ROUNDING:
            x = queue_at(w.queues, hop_at(w.hops, h).queue)
            if x.clocked != 0:
                hop_cell(x, x.grown, k, h).value += grown
        return
    f.reached += amount
    if f.kind != CBR:
        put_fluid(f, k, amount)
