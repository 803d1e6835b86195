"""A sender of BBR, version 2 or 3, that is told of one packet after the other."""

from by_hand import rules_of

from tcpcc.controllers import CONTROLLERS
from tcpcc.controllers.bbr3 import STARTUP

BBR3 = CONTROLLERS.find("bbr3")
BDP = 100  # packets, of the sender below


class Sender:
    """The rules on a path of 1000 packets/s and 0.1 s, told of one packet after the other."""

    def __init__(self, mode, controller=BBR3, **state):
        self.rules = controller
        known = {
            "cwnd": 2.0 * BDP, "bw": 1000.0, "max_bw": 1000.0, "bw_now": 1000.0, "base_rtt": 0.1,
            "base_rtt_at": 10.0, "probed_rtt": 0.1, "probed_rtt_at": 10.0, "cycle_at": 10.0,
            "probe_wait": 2.5, "full": float(mode != STARTUP), "full_bw": 1000.0, "measured": 1.0,
            "pacing_rate": 1000.0, "round_end": 990.0, "loss_round_end": 990.0,
        }  # fmt: skip
        state = {**known, **state, "mode": mode}
        _, self.s, self.p, self.a = rules_of(controller, **state)
        self.now, self.total = 10.0, 1000.0

    def sample(self, *, rate=1000.0, rtt=0.11, pipe=130, lost=0, inflight=BDP, phase=0, **more):
        """What an ACK tells; `round_ends` if of a packet sent after the present round began."""
        ends = more.pop("round_ends", False)
        self.now += more.pop("after", 0.001)
        self.total += 1
        edge = max(self.s.round_end, self.s.loss_round_end)
        prior = edge if ends else min(self.s.round_end, self.s.loss_round_end) - 1
        sample = {
            "now": self.now, "delivered": 1.0, "total_delivered": self.total, "rtt": rtt,
            "srtt": 0.11, "pipe": pipe, "lost": lost, "lost_inflight": inflight, "phase": phase,
            "delivery_rate": rate, "rate_interval": 0.11, "rate_delivered": self.total - prior,
            "app_limited": 0.0, "inflight": pipe,
        }  # fmt: skip
        vars(self.a).update({k: float(v) for k, v in (sample | more).items()})
        return self.s, self.p, self.a

    def ack(self, **told):
        self.rules.on_ack(*self.sample(**told))
        return self.s

    def round(self, **told):
        return self.ack(round_ends=True, **told)

    def lose(self, **told):
        self.rules.on_lost_packet(*self.sample(**told))
        return self.s
