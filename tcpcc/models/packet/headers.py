"""Packet headers: ECN bits, the receiver's echo, and header fields for routers.

A flow that uses headers takes a place in ``w.headers`` for each packet. The packet carries the
number of this place over every link to the receiver, and its ACK carries it back. The place becomes
free when the packet or the ACK is consumed or dropped. Number 0 means no header.
"""

from tcpcc.engine.jit import accessor, compiled, not_inlined, record_dtype
from tcpcc.models.header_layout import (
    hide_words,
    note_words,
    return_words,
    sees,
    send_fields,
    show_words,
    words_at,
)
from tcpcc.models.packet.packet_records import DROP, MARGIN, header_at
from tcpcc.models.packet.recorder import flow_bin, link_bin, trace
from tcpcc.transport import ecn
from tcpcc.transport.flow_record import CE, ECT, ECT1

place_at = accessor(record_dtype({"number": int}))


@compiled
def take_header(w):
    """Take a free place; returns its number."""
    w.n_spare_headers -= 1
    if w.n_spare_headers < 2 * MARGIN:
        w.need = 1
    return place_at(w.spare_headers, w.n_spare_headers).number


@compiled
def release_header(w, header):
    if header != 0:
        place_at(w.spare_headers, w.n_spare_headers).number = header
        w.n_spare_headers += 1


@not_inlined
def write_header(w, flow, tcp, seq, again):
    """Write the header of a segment at its sender; returns its place."""
    header = take_header(w)
    h = header_at(w.headers, header)
    h.ecn = ecn.bits_to_send(tcp, seq, again)
    h.echo = 0
    h.back = 0
    send_fields(flow, tcp.state, words_at(w, w.words, header))
    return header


@not_inlined
def read_at_receiver(w, flow, tcp, header, due):
    """A segment's header reaches the receiver; returns whether an ACK is due now.

    `due` is whether one would be due without ECN. The header returns with the ACK, now or later.
    """
    h = header_at(w.headers, header)
    due = ecn.on_bits(tcp, h.ecn, due)
    h.ecn = ecn.bits_of_ack(tcp)
    h.echo = ecn.echo_of_ack(tcp)
    h.back = 1
    release_header(w, flow.held_header)
    flow.held_header = 0 if due else header
    return due


@not_inlined
def read_at_sender(w, flow, tcp, ack, header):
    """An ACK's header reaches the sender, which reads and releases it."""
    h = header_at(w.headers, header)
    ecn.on_echo(tcp, ack, h.ecn, h.echo)
    return_words(flow, tcp.sample, words_at(w, w.words, header))
    release_header(w, header)


@compiled
def codepoint(bits):
    """The ECN field of a packet as a number (RFC 3168, section 5), from its bits as flags."""
    if bits & CE != 0:
        return 3.0
    if bits & ECT1 != 0:
        return 1.0
    return 2.0 if bits & ECT != 0 else 0.0


@compiled
def show_header(w, q, link, flow, header):
    """Copy a packet's header into a discipline's sample."""
    q.ecn = q.ect = q.words = 0.0
    if header != 0:
        h = header_at(w.headers, header)
        q.ecn = codepoint(h.ecn)
        q.ect = 1.0 if h.ecn & ECT != 0 else 0.0
        if sees(link, flow) and h.back == 0:
            q.words = 1.0
            show_words(link, words_at(w, w.words, header))
    if q.words == 0:
        hide_words(link)


@compiled
def count_marks(w, link, time, n):
    link.marked += n
    if link.recorded != 0 and time <= w.duration:
        link_bin(w, link, time).marks += n


@compiled
def take_verdict(w, q, link, header, time):
    """Apply a discipline's decision to a packet; returns whether the packet may pass.

    If the discipline asks for a mark, an ECN-capable packet is marked and any other is dropped.
    """
    if q.drop != 0 or (q.mark != 0 and q.ect == 0):
        return False
    if header != 0:
        h = header_at(w.headers, header)
        if q.mark != 0:
            h.ecn |= CE
            count_marks(w, link, time, 1)
        if q.words != 0:
            note_words(link, words_at(w, w.words, header))
    return True


@compiled
def drop_packet(w, flow, link, time, p, arrives):
    """Record a drop, and release the header; `arrives`: whether the record does not count
    the packet's arrival yet."""
    flow.dropped += 1
    if time <= w.duration:
        if p.hop < flow.n_forward:
            flow_bin(w, flow, time).dropped += 1
        else:
            flow_bin(w, flow, time).acks_dropped += 1
        if link.recorded != 0:
            b = link_bin(w, link, time)
            b.drops += flow.count
            if arrives:
                b.arrived += flow.count
    trace(w, flow, time, DROP, p.seq, float(link.ident))
    release_header(w, p.header)
