"""The steps of the fluid model: senders, then links in the order in which data pass them."""

from tcpcc.engine.jit import compiled, entry, index_at, not_inlined, number_at
from tcpcc.models.bit_sets import clear, members_of, put_all, put_member
from tcpcc.models.fluid.fluid_bins import close_bin
from tcpcc.models.fluid.fluid_conversations import begin_conversations, follow_paths
from tcpcc.models.fluid.fluid_links import step_queue
from tcpcc.models.fluid.fluid_packets import step_packets
from tcpcc.models.fluid.fluid_records import change_at, flow_at, queue_at, returned, world_at
from tcpcc.models.fluid.fluid_sender import NEVER, step_sender


@compiled
def step_world(w):
    now = w.k * w.step
    before = w.next_change
    while w.next_change < w.n_changes:
        c = change_at(w.changes, w.next_change)
        if c.k > w.k:
            break
        if c.is_whole != 0:
            index_at(c.address, 0).at = c.whole
        else:
            number_at(c.address, 0).value = c.value
        w.next_change += 1
        w.soonest = 0
    if w.next_change > before and w.n_conversations > 0:
        follow_paths(w)
    if w.k >= w.soonest:
        wake_flows(w)
    flow_set = returned(w, w.k)
    put_all(w.awake, flow_set, w.n_flows)
    clear(flow_set, w.n_flows)
    for i in members_of(w.awake, w.n_flows):
        step_sender(w, flow_at(w.flows, i), now)
    for i in range(w.n_queues):
        x = queue_at(w.queues, i)
        if x.packets != 0:
            step_packets(w, x, now)
        else:
            step_queue(w, x, now)
    w.k += 1
    if w.k == w.bin_end or w.k == w.end:
        for i in range(w.n_flows):
            close_bin(w, flow_at(w.flows, i))
        w.b += 1
        w.bin_end += w.steps_per_bin


@not_inlined
def wake_flows(w):
    """Wake the flows whose time has come, and find the time of the next one."""
    w.soonest = NEVER
    for i in range(w.n_flows):
        at = index_at(w.acts_at, i).at
        if at <= w.k:
            put_member(w.awake, i)
        else:
            w.soonest = min(w.soonest, at)


@entry
def run_steps(worlds, n, until):
    """Advance the worlds at `n` addresses to step `until`, or until one needs room (``w.need``)."""
    for i in range(n):
        w = world_at(index_at(worlds, i).at, 0)
        while w.k < until and w.need == 0:
            begin_conversations(w, w.k * w.step)
            if w.need != 0:
                break
            step_world(w)
