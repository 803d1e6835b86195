"""A step of the fluid beside packets, and what packets then find at its links."""

from tcpcc.engine.jit import accessor, compiled, entry, record_dtype
from tcpcc.models.fluid.fluid_records import BETWEEN, BITS, NUMBER, present, queue_at, world_at
from tcpcc.models.fluid.fluid_step import step_world
from tcpcc.models.packet.packet_records import fluid_link_at, link_at
from tcpcc.models.queue_memory import queue_sample_at

#: Addresses of the fluid's world, of the FLUID_LINKs and their number, and of the packets' links.
COUPLING = record_dtype({"world": int, "fluid_links": int, "n": int, "links": int})
coupling_at = accessor(COUPLING)


@entry
def run_fluid_step(coupling):
    """Run the next step of the fluid; returns whether its tables must become longer."""
    c = coupling_at(coupling, 0)
    w = world_at(c.world, 0)
    if w.k >= w.end:
        return False
    for i in range(c.n):
        begin_step(w, c, fluid_link_at(c.fluid_links, i))
    step_world(w)
    for i in range(c.n):
        describe_link(w, fluid_link_at(c.fluid_links, i))
    return w.need != 0


@entry
def find_arrivals(coupling):
    """The tables of the fluid have moved."""
    c = coupling_at(coupling, 0)
    w = world_at(c.world, 0)
    for i in range(c.n):
        fluid = fluid_link_at(c.fluid_links, i)
        show_row(w, queue_at(w.queues, fluid.queue), fluid)


@compiled
def show_row(w, x, fluid):
    """Where packets of the next step arrive."""
    fluid.arrivals = x.fluid + NUMBER * (w.k & x.mask)
    fluid.stride = x.mask + BETWEEN
    fluid.present = present(x, w.k)


@compiled
def begin_step(w, c, fluid):
    """Count the open flows of both models; the packets of the last step have arrived."""
    x = queue_at(w.queues, fluid.queue)
    open_now = link_at(c.links, fluid.link).open
    x.flows += open_now - fluid.open
    fluid.open = open_now
    fluid.begin = w.k * w.step
    fluid.bits = x.backlog_bits + fluid.added
    fluid.added = 0.0
    x.due = fluid.due if x.backlog > 0 else 0.0


@compiled
def describe_link(w, fluid):
    """What packets find at a link in the step that has been computed.

    A full buffer sends as much as it accepts, so a part 1 - C/x of the arrivals has no room. If
    nothing but packets has arrived, as many are refused as were too many.
    """
    x = queue_at(w.queues, fluid.queue)
    fluid.slope = (x.backlog_bits - fluid.bits) * w.per_second
    show_row(w, x, fluid)
    fluid.due = x.due
    fluid.refused = 0.0
    if x.due > 0:
        fluid.refused = x.due / max(x.outside, x.due)
    elif x.draws > 0 and x.backlog - x.owed > x.room - x.arrived / x.draws / 2:
        fluid.refused = max(1 - x.rate * w.step / (BITS * x.size * x.arrived), 0.0)
    if x.rule != 0:
        fluid.early = x.early
        fluid.early_l4s = x.early_l4s
        fluid.marks = min(queue_sample_at(x.sample, 0).marks, 1.0)
