"""Undo of spurious window cuts: D-SACK and Eifel detection show that nothing was lost.

Sources: RFC 2883 (D-SACK: the receiver reports duplicate segments), RFC 3708 (how a sender uses
these reports), RFC 3522 (Eifel detection), RFC 4015 (its response), Linux' net/ipv4/tcp_input.c
(``tcp_init_undo``, ``tcp_try_undo_dsack``, ``tcp_packet_delayed``).

An episode begins with the window cut for a loss or a timeout, and lasts until all packets that were
outstanding then are acknowledged; later cuts belong to it. Each retransmission in the episode adds
one to a counter, and each D-SACK report takes one off. At zero no packet was lost
(:func:`tcpcc.transport.rules.reported_twice`). The network never duplicates packets, so a report
has no other cause (RFC 3708 covers duplication too). If a report is lost, the cut stays.

Eifel detection is a round trip faster. The ACK of a segment echoes its timestamp, so the first ACK
of new data after a retransmission shows whether the original or the retransmission has arrived
(:func:`tcpcc.transport.sender.judge_echo`). Then the recovery ends too, and packets marked lost and
not retransmitted count as in the network again.

Differences from RFC 3522 and 4015
    The packets carry one bit, original or retransmission, instead of a timestamp. Step 5, which
    waits for a D-SACK if an ACK covers everything outstanding, is for receivers older than RFC
    7323. The late ACK is not a sample for the timer (RFC 4015, step 8).
Differences from Linux
    Linux compares timestamps on every partial ACK of a recovery, not on the first one only.
"""

from tcpcc.engine.jit import compiled
from tcpcc.transport.flow_record import OPEN, window_at

NO_REPAIR = -1  # nothing has been retransmitted yet
NOT_DUE, DUE, AT_NEXT = 0, 1, 2  # whether the next ACK of new data decides; after a retransmission


@compiled
def note_answer(f, transmits):
    """Record the window before a cut. A cut outside recovery (a loss that a tail loss probe
    repaired) cannot be undone: no report shows whether the repair was needed. If the lost packet
    was sent more than once (`transmits`), its earlier retransmissions must be reported too (Linux
    counts all that are outstanding)."""
    if f.undo == 0 or (f.undo_from >= 0 and f.high_ack < f.undo_until):
        return
    s = window_at(f.state, 0)
    f.undo_from = -1 if f.phase == OPEN else f.high_ack + 1
    f.undo_until = f.max_seq
    f.undo_repairs = transmits - 1 if transmits > 1 else NO_REPAIR
    f.echo_due = AT_NEXT if f.eifel != 0 else NOT_DUE
    f.undo_cwnd = s.cwnd
    f.undo_ssthresh = s.ssthresh


@compiled
def note_retransmission(f):
    """Count a retransmission. The first one of an episode is what Eifel detection asks about."""
    if f.undo_from < 0:
        return
    f.undo_repairs = max(f.undo_repairs, 0) + 1
    if f.echo_due == AT_NEXT:
        f.echo_due = DUE


@compiled
def was_the_last(f, seq):
    """Handle a report that segment `seq` arrived twice; returns whether every retransmission of the
    episode is now known to be unneeded."""
    if f.undo_from < 0 or seq < f.undo_from or f.undo_repairs <= 0:
        return False
    f.undo_repairs -= 1
    return f.undo_repairs == 0
