"""Vegas*: slow start that ends at the bandwidth told by the spacing of ACKs.

Source: L. Brakmo, L. Peterson, "TCP Vegas: end to end congestion avoidance on a global Internet",
IEEE JSAC 13(8), 1995, section III-C, the experimental slow start that it calls Vegas*.

In slow start, of `train` packets that were sent faster than they came back (W = cwnd):

(1)  B <- (train - 1) / (t_last - t_first),  by the times at which their ACKs came
(2)  ssthresh <- B RTTmin

so that W stops where it fills the path, and overshoots by no more than it did on the way. A train
begins with the first ACK of a round. A packet's ACK tells when it was sent, its round-trip time
before; "faster" is at most `dispersion` of the time in which the ACKs came. With "vegas" it is
Vegas*; it goes with other controllers as well.

Differences from the paper
    Vegas* opens its window not with each of a round's n ACKs but n / B later, when none comes any
    more, so that packets leave at rate B. That takes a timer in the sender, and rules run on ACKs:
    here the window opens at once, packets leave at twice the rate of ACKs while it doubles, and
    leave a queue of W/4 in passing.
"""

from tcpcc.definition import Param, State, register
from tcpcc.slow_start.start_up import StartUp


def begin_train(s, ack):
    """With this ACK, if the packet's round-trip time is known."""
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
        summary="ends slow start at the bandwidth told by the spacing of ACKs",
        source="Brakmo, Peterson 1995, section III-C",
        on_ack=on_ack,
        on_round=on_round,
        params={
            "train": Param(4, "packets", "whose ACKs give an estimate (JSAC: 4)", 2),
            "dispersion": Param(
                0.8, "", "longest time that sending them took, over that of their ACKs", 0, 1
            ),
        },
        state={
            "train_began": State(0, "s", "when the train's first ACK came"),
            "train_sent": State(0, "s", "when its packet was sent"),
            "train_acked": State(-1, "packets", "acknowledged since then; negative: no train"),
        },
    )
)
