"""Vegas*: slow start that ends at the bandwidth estimated from the spacing of ACKs.

Source: L. Brakmo, L. Peterson, "TCP Vegas: end to end congestion avoidance on a global Internet",
IEEE JSAC 13(8), 1995, section III-C, the paper's experimental slow start, Vegas*.

In slow start, for `train` packets that were sent faster than their ACKs came (W = cwnd):

(1)  B <- (train - 1) / (t_last - t_first),  with the arrival times of their ACKs
(2)  ssthresh <- B RTTmin

W then stops where it fills the path. A train begins with the first ACK of a round. A packet was
sent one RTT before its ACK; "faster" means within `dispersion` times the duration of the ACKs. With
the controller "vegas" this is Vegas*; it works with other controllers too.

Differences from the paper
    Vegas* opens the window not with each of a round's n ACKs but n / B later, after the ACKs, so
    that packets are sent at rate B. This needs a timer in the sender; slow-start rules run on ACKs.
    Here the window opens at once. While W doubles, packets are sent at twice the rate of ACKs and
    cause a temporary queue of W/4.
"""

from tcpcc.definition import Param, State, register
from tcpcc.slow_start.start_up import StartUp


def begin_train(s, ack):
    """Begin a train with this ACK, if its packet's RTT is known."""
    s.train_began = ack.now
    s.train_sent = ack.now - ack.rtt
    s.train_acked = 0.0 if ack.rtt > 0 else -1.0


def on_round(s, p, ack):
    s.train_acked = -1.0


def on_ack(s, p, ack, before):
    if s.train_acked < 0 or ack.rtt == 0:
        begin_train(s, ack)
        return
    s.train_acked += ack.delivered
    if s.train_acked < p.train - 1:
        return
    came, went = ack.now - s.train_began, ack.now - ack.rtt - s.train_sent
    if came > 0 and went <= p.dispersion * came:
        bandwidth = s.train_acked / came  # (1)
        s.ssthresh = max(bandwidth * ack.base_rtt, 2.0)  # (2)
    begin_train(s, ack)


vegas_star = register(
    StartUp(
        name="vegas_star",
        summary="ends slow start at the bandwidth estimated from the spacing of ACKs",
        source="Brakmo, Peterson 1995, section III-C",
        on_ack=on_ack,
        on_round=on_round,
        params={
            "train": Param(4, "packets", "length of a train (JSAC: 4)", 2),
            "dispersion": Param(
                0.8, "", "largest ratio of a train's sending time to the time of its ACKs", 0, 1
            ),
        },
        state={
            "train_began": State(0, "s", "arrival time of the train's first ACK"),
            "train_sent": State(0, "s", "time at which its packet was sent"),
            "train_acked": State(-1, "packets", "acknowledged since then; negative: no train"),
        },
    )
)
