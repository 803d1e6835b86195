"""What leaves a link goes to the next one, or to its sender."""

from tcpcc.engine.jit import compiled, number_at
from tcpcc.models.fluid.fluid_records import hop_at

LEAST = 1e-12  # packets; less is rounding error


@compiled
def pass_fluid(w, hop, amount):
    """Add an amount of fluid to the table of the next hop, or of the sender, as late as it gets
    there."""
    number_at(hop.into, ((w.k + hop.delay) & w.mask) * hop.wide).value += amount


@compiled
def pass_gaps(w, hop, amount, hops, flows):
    """As `pass_fluid`, for dropped and marked packets."""
    row = (w.k + hop.delay) & w.mask
    if hop.next >= 0:
        number_at(hops, row * w.n_hops + hop.next).value += amount
        number_at(w.gaps, row * w.n_queues + hop_at(w.hops, hop.next).queue).value += 1
    elif hop.is_tcp != 0:
        number_at(flows, row * w.n_flows + hop.flow).value += amount
