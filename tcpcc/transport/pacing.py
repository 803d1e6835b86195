"""Pacing, and the size of the pieces in which data leave.

Packets leave no faster than the controller's `pacing_rate`.

As in Linux (net/ipv4/tcp_output.c, earliest departure time): each packet moves the departure time
of the next one to 1/rate after its own, or after now if its own has passed. A retransmission sent
when a loss is detected does not wait, but counts. The driver calls ``on_release`` of :mod:`.sender`
at ``release_at`` to send waiting packets.

With GSO the packets of `gso_time` at the pacing rate leave as one piece (net/ipv4/tcp_output.c,
``tcp_tso_autosize``; draft-ietf-ccwg-bbr: the send quantum).
"""

import math

from tcpcc.engine.jit import compiled, not_inlined, number_at
from tcpcc.transport.flow_record import delivery_at, window_at


@not_inlined
def is_early(f, now):
    """Whether the next packet must wait; if so, sets ``release_at``."""
    d = delivery_at(f.delivery, 0)
    if now >= d.next_send:
        return False
    d.release_at = d.next_send
    return True


@compiled
def pace(f):
    """The controller's `pacing_rate`, packets/s."""
    rate = number_at(f.state + f.pacing_rate, 0).value
    if not rate > 0:
        raise FloatingPointError("a rule left a pacing_rate that is not a positive number")
    return rate


@compiled
def note_paced(f, now):
    """Record that a packet is sent."""
    d = delivery_at(f.delivery, 0)
    d.next_send = max(d.next_send, now) + 1 / pace(f)


#: Bytes of a piece: the largest IP packet less its headers (Linux).
LARGEST = 65535 - 320

#: Part of a piece's largest size that is added for a BaseRTT of 0; each time as long halves it, s
#: (``tcp_tso_rtt_log``).
HALVES_EVERY = 512e-6

#: Number of halvings after which nothing is added.
HALVINGS = 32


@compiled
def sending_rate(f):
    """The pacing rate, packets/s. Of a controller without one it only sets the size of pieces: 1.2
    windows per RTT, 2 in the first half of slow start (net/ipv4/tcp_input.c,
    ``tcp_update_pacing_rate``)."""
    if f.pacing_rate != 0:
        return pace(f)
    if f.srtt == 0:
        return math.inf
    s = window_at(f.state, 0)
    windows = 2.0 if s.cwnd < s.ssthresh / 2 else 1.2
    return windows * max(s.cwnd, float(f.max_seq - f.high_ack)) / f.srtt


@compiled
def more_on_short_paths(f):
    """Packets that the size of a piece is larger by if the BaseRTT is short."""
    if f.base_rtt >= HALVINGS * HALVES_EVERY:
        return 0.0
    return f.gso_most / 2.0 ** math.floor(f.base_rtt / HALVES_EVERY)


def piece_fields(settings, payload):
    """The fields of a sender's record that decide the size of its pieces.

    Args:
        settings: the Transport.
        payload: of a packet, bytes.
    """
    return {
        "gso_segments": settings.gso_segments,
        "gso_time": settings.gso_time,
        "gso_above": settings.gso_above / (8 * payload),
        "gso_most": LARGEST / payload,
    }


@compiled
def piece_at(f, rate):
    """Packets of a piece at the pacing rate `rate`: those of `gso_time`, at most `gso_most`, at
    least `gso_segments`, below the rate `gso_above` one."""
    least = float(f.gso_segments) if rate >= f.gso_above else 1.0
    paced = rate * f.gso_time if f.gso_time > 0 else 0.0
    return max(math.floor(min(paced, f.gso_most)), least)


@compiled
def full_piece(f):
    """Packets of a full piece that is sent now: those of `piece_at`, and more on a short path."""
    rate = sending_rate(f)
    piece = piece_at(f, rate)
    if f.delivery != 0:
        delivery_at(f.delivery, 0).piece = piece
    if f.gso_time > 0:
        piece = max(min(rate * f.gso_time + more_on_short_paths(f), f.gso_most), piece)
    return int(piece)
