"""TCP Tahoe: slow start after every loss.

Source: V. Jacobson, "Congestion avoidance and control", SIGCOMM 1988.

(1), (2)  increase as Reno's
(3)       loss or timeout:  ssthresh <- max(W/2, 2),  then W <- 1

Differences from ns-2: none in the window; the transport resumes at the first unacknowledged packet
(go-back-N), as ``Agent/TCP`` does.

Evidence (constants: paper)
    ns-2: to the packet
        external/test_against_ns2.py::test_equal_to_the_packet
"""

from tcpcc.controllers.reno import on_timeout, reno
from tcpcc.definition import register

tahoe = register(
    reno.variant(
        name="tahoe",
        summary="slow start from one packet after every loss",
        source="Jacobson 1988",
        on_loss=on_timeout,
        recovery="tahoe",
        look=("black", "o"),
    )
)
