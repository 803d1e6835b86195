"""What is recorded: drops and marks, and flows at the end of an interval."""

from tcpcc.engine.jit import compiled
from tcpcc.models.fluid.fluid_records import RUNNING, flow_at
from tcpcc.models.notes import note_state
from tcpcc.models.recorded_fields import flow_bin_at, link_bin_at
from tcpcc.transport.flow_record import CBR, window_at


@compiled
def count_mark(w, x, hop):
    if x.bins != 0:
        link_bin_at(x.bins, w.b).marks += hop.count


@compiled
def count_drop(w, x, hop):
    if x.bins != 0:
        link_bin_at(x.bins, w.b).drops += hop.count
    b = flow_bin_at(flow_at(w.flows, hop.flow).bins, w.b)
    if hop.is_ack != 0:
        b.acks_dropped += 1
    else:
        b.dropped += 1


@compiled
def add_amounts(w, f):
    """Add what a flow has sent and delivered since the last call to its row; the row of a kind of
    conversation has the sums. What has arrived twice is known later: an interval may lack it; but
    never is there more than was written."""
    b = flow_bin_at(f.bins, w.b)
    b.sent += f.sent - f.sent_before
    b.retransmitted += f.retransmitted - f.repaired_before
    delivered = max(min(f.reached, f.size) - f.reached_before, 0.0)
    b.delivered += delivered
    f.reached_before += delivered
    f.sent_before, f.repaired_before = f.sent, f.retransmitted


@compiled
def close_bin(w, f):
    """Record a flow at the end of an interval."""
    add_amounts(w, f)
    if f.status == RUNNING and f.kind != CBR and f.conversation == 0:
        b = flow_bin_at(f.bins, w.b)
        s = window_at(f.state, 0)
        b.cwnd = s.cwnd
        b.ssthresh = s.ssthresh
        if f.rtt > 0:
            b.rtt = f.rtt
        note_state(f, f.state, w.b)
