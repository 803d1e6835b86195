"""TCP NewReno: Reno's window under NewReno's loss recovery.

Source: J. Hoe, "Start-up dynamics of TCP's congestion control and avoidance schemes", MIT 1995;
RFC 6582. The window rules (1)-(4) are Reno's. NewReno changes how the transport handles a partial
ACK, so this file only selects the recovery.

The default recovery ``newreno`` is the impatient variant (the first partial ACK alone restarts the
retransmission timer), ns-2's default; ``newreno-steady`` is the slow-but-steady one (each partial
ACK restarts it). On large windows their results differ by a factor: state which one was used.

Evidence (constants: RFC)
    ns-2: to the packet
        external/test_against_ns2.py::test_equal_to_the_packet
    vector: a loss halves the window
        controllers/test_controllers.py::test_a_loss_halves_the_window_in_force
"""

from tcpcc.controllers.reno import reno
from tcpcc.definition import register

newreno = register(
    reno.variant(
        name="newreno",
        summary="Reno's window, with recovery from several losses per window",
        source="Hoe 1995; RFC 6582",
        recovery="newreno",
        look=("orange", "o"),
    )
)
