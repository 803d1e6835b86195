"""A sender of Vegas or of one of its relatives, that is told of one round after the other."""

from by_hand import Rules


class Sender(Rules):
    def full(self, delta, window, base=0.1):
        """The sample of a round in which a full window's backlog was `delta` packets:
        W - W BaseRTT / RTT = delta."""
        self.a.inflight = self.a.round_packets = window
        self.a.base_rtt, self.a.round_rtt = base, base * window / (window - delta)
        return self

    def end_round(self, delta, window=100.0, **sample):
        """End a round in which a full window's backlog was `delta`; returns the step of the window,
        an increase being complete at the next round's end."""
        before = self.s.cwnd
        self.full(delta, window).round(**sample)
        return self.s.cwnd - before + round(self.s.incr * self.s.cwnd)
