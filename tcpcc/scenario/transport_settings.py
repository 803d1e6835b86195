"""Settings of the senders and receivers of a scenario's flows."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, fields
from typing import Any

from tcpcc.errors import ScenarioError, flag, nonnegative, one_of, positive, whole
from tcpcc.scenario import host_presets
from tcpcc.scenario.frozen import (
    BitRate,
    Record,
    Seconds,
    bit_rate,
    record,
    seconds,
    setting,
    window,
)

#: Kinds of ECN and their RFCs.
_ECN = {"off": "", "classic": "RFC 3168", "accurate": "RFC 3168", "l4s": "RFC 9331; RFC 9768"}


@record
class Transport(Record):
    """Settings of sender and receiver, apart from congestion control and loss recovery.

    Times are in s (or strings with units), windows in packets.

    Args:
        initial_window: window at the start, at least 1. After a retransmitted SYN the window is 1.
        handshake: whether a SYN takes one round trip before the data.
        delay_growth: an alternative to a handshake: the window is one packet and becomes
            `initial_window` with the second ACK, as in ns-2.35's Vegas (``delay_growth_``, which
            acts one ACK late).
        slow_start_rule: whether a flow without a `slow_start` starts by its controller's default
            rule, HyStart++ (RFC 9406) for controllers with Reno's slow start; False: by the
            controller's own rules only.
        rwnd: receiver's window, at least 1.
        window_validation: whether the window stops growing while the receiver or the application
            limits the sender, as in Linux (RFC 7661); False: it keeps growing, as in ns-2.
        window_decay: whether an unused window behaves as in Linux: it halves for each
            retransmission timeout of idle time, when ssthresh becomes at least 3/4 of it, and grows
            if it was in full use when data were last sent. The clock of the sample stops only while
            idle, and rates are `app_limited` from the writes on that find room. Not with a
            controller's ``window="own"``. False: the window falls to the initial window at the end
            of an idle period (`idle_restart`).
        initial_rto: retransmission timeout before the first RTT is measured.
        min_rto: smallest retransmission timeout.
        max_rto: largest retransmission timeout.
        rto_margin: smallest difference between the timeout and the smoothed RTT. Linux has its
            bound of 0.2 s here, not in `min_rto`.
        hold_ssthresh: whether a timeout keeps ssthresh if the same loss has already reduced it: in
            recovery (Linux), or if the timer retransmits the same segment again (RFC 5681, 3.1).
        flight_ssthresh: whether a loss or a timeout reduces from the packets in flight if all that
            the application has written and that is not acknowledged fits in the window (RFC 5681,
            equation 4; packet model); False: from the window, as in Linux and ns-2.
        frto: whether the sender undoes the response to a spurious timeout (F-RTO, RFC 5682); only
            with the recovery "rack-tlp" (packet model).
        tick: clock granularity to which the timeout is rounded; 0: no rounding.
        clock_phase: time of the clock's last tick before time 0, as a positive number. ns-2 draws
            it for each flow.
        coarse_timer: whether the timer expires at a tick of that clock and RTTs are measured in
            ticks, as in 4.3BSD; see `bsd`.
        backoff_limit: largest factor by which repeated timeouts lengthen the timeout.
        dupack_threshold: number of duplicate ACKs that indicate a loss.
        limited_transmit: whether the first two duplicate ACKs release new data (RFC 3042). With
            SACK they always do, as packets leave the pipe; with the recovery "vegas" they never do.
        delayed_ack: longest time the receiver delays an ACK; 0: it acknowledges each packet.
        ack_every: with delayed ACKs, number of packets that are acknowledged at once.
        quick_acks: with delayed ACKs, number of packets at the start of a connection that are
            acknowledged without delay (packet model). Linux does so for 16 packets, and as long as
            its receive window grows, by two packets per arriving packet (``tcp_incr_quickack``,
            ``__tcp_grow_window``).
        push_acks: with delayed ACKs, whether the last packet of a piece (`gso_segments`; it carries
            PSH) is acknowledged without delay, as in Linux from 6.6 on; False: as in Linux before.
            Matters for windows of a few packets (packet model).
        abc_limit: largest number of packets that one ACK counts for (RFC 3465).
        count_delivered: whether an ACK of new data counts all packets that it newly reports, as in
            Linux: SACKed packets count when they are SACKed and not again later. False: it counts
            the packets that it acknowledges cumulatively (packet model).
        whole_window: whether the window grows in whole packets, as in Linux: fractions accumulate
            until they make a packet, and a reduction rounds down (packet model; not with a
            controller's `every_ack`).
        partial_deflation: whether a partial ACK deflates the window (RFC 6582).
        max_burst: largest number of packets sent at once.
        gso_segments: smallest number of packets that leave as one piece if the window allows, as in
            Linux with GSO (there 2): pacing separates pieces, the last packet of a piece is
            acknowledged without delay (`push_acks`), and a partial piece waits if an ACK is
            expected soon (packet model).
        gso_time: a piece has the packets of this time at the pacing rate, if they are more than
            `gso_segments`, at most 64 KB; 0: pieces of `gso_segments`. Linux: 1/1024 s, with a
            pacing rate of 1.2 windows per RTT (slow start: 2) for a controller without one, and
            larger pieces with a BaseRTT below 3 ms (packet model).
        gso_above: smallest pacing rate (of payload) with pieces of at least `gso_segments`; below
            it a piece may be one packet (packet model). Linux' BBR: 1.2 Mb/s.
        piece_wait: longest time that a part of a piece waits for an ACK that may complete it, but
            at most half an RTT (packet model). Linux before 6.18: half an RTT, `math.inf` here.
        idle_restart: whether the window falls back to the initial window after an idle time longer
            than the retransmission timeout (RFC 5681, 4.1); matters for conversations with pauses.
        timestamps: whether every ACK gives an RTT sample to the timer; False: one per round trip.
        syn_rtt: whether the handshake's RTT is a sample for the controller. The SYN is small, so
            its RTT is likely to become the BaseRTT.
        ecn: "off", "classic" (RFC 3168: at most one reaction per round trip), "accurate" (the
            receiver reports the number of marked packets) or "l4s" (packets are ECT(1), RFC 9331,
            and ACKs carry the number of marked packets modulo 8, RFC 9768).
        ecn_retransmissions: whether retransmissions are ECN-capable too (RFC 8311, 4.3); with
            "l4s" always.
        ecn_control: whether the SYN and pure ACKs are ECN-capable too, as in Linux for controllers
            that need ECN (`Flow.linux("dctcp")`, `Flow.linux("prague")`). At a marking threshold
            other SYNs are dropped (packet model; the fluid model drops no SYN, and its
            ACKs are never ECN-capable).
        gradual_marks: whether the window shrinks over the round trip after a mark, as after a loss,
            and does not grow meanwhile, as in Linux (state CWR); False: it shrinks at once. Needs
            a recovery with proportional rate reduction, "sack-prr" or "rack-tlp".
        dsack: whether the receiver reports duplicate packets (D-SACK, RFC 2883), so that the sender
            undoes the response to a spurious loss, as in Linux (undo; RFC 3708): cwnd and ssthresh
            are at least their earlier values, and the controller's `on_undo` is called. RACK's
            reordering window then grows with unnecessary retransmissions. Only with a recovery that
            reads selective acknowledgements. Packet model; the other models have no reordering, so
            no loss is spurious.
        eifel: whether the sender undoes the response to a loss or a timeout if the first ACK after
            the retransmission echoes the timestamp of the original packet (Eifel, RFC 3522 and
            4015), as in Linux: as with `dsack`, a round trip earlier, and the recovery ends. With
            "rack-tlp" the retransmission timer then has an RTT sample of a retransmission
            too (packet model).
    """

    _: KW_ONLY
    initial_window: float = setting(window, default=10.0)
    handshake: bool = setting(flag, default=True)
    delay_growth: bool = setting(flag, default=False)
    slow_start_rule: bool = setting(flag, default=True)
    rwnd: float = setting(window, default=math.inf, inf=True)
    window_validation: bool = setting(flag, default=True, source="RFC 7661")
    window_decay: bool = setting(flag, default=False)
    initial_rto: Seconds = setting(seconds, default=1.0, check=positive)
    min_rto: Seconds = setting(seconds, default=0.2, source="RFC 6298")
    max_rto: Seconds = setting(seconds, default=60.0, check=positive, inf=True)
    rto_margin: Seconds = setting(seconds, default=0.2)
    hold_ssthresh: bool = setting(flag, default=True)
    flight_ssthresh: bool = setting(flag, default=True, source="RFC 5681")
    frto: bool = setting(flag, default=True, source="RFC 5682", needs="on_alarm")
    tick: Seconds = setting(seconds, default=0.01)
    clock_phase: Seconds = setting(seconds, default=0.0)
    coarse_timer: bool = setting(flag, default=False)
    backoff_limit: int = setting(whole, default=64, low=1)
    dupack_threshold: int = setting(whole, default=3, low=1)
    limited_transmit: bool = setting(flag, default=True, source="RFC 3042")
    delayed_ack: Seconds = setting(seconds, default=0.0)
    ack_every: int = setting(whole, default=2, low=1)
    quick_acks: int = setting(whole, default=0, low=0)
    push_acks: bool = setting(flag, default=True)
    abc_limit: float = setting(positive, default=1.0, unit="packets", inf=True)
    count_delivered: bool = setting(flag, default=False)
    whole_window: bool = setting(flag, default=False)
    partial_deflation: bool = setting(flag, default=True)
    max_burst: float = setting(positive, default=math.inf, unit="packets", inf=True)
    gso_segments: int = setting(whole, default=1, low=1)
    gso_time: Seconds = setting(seconds, default=0.0)
    gso_above: BitRate = setting(bit_rate, default=0.0, check=nonnegative)
    piece_wait: Seconds = setting(seconds, default=1e-3, check=positive, inf=True)
    idle_restart: bool = setting(flag, default=True, source="RFC 5681")
    timestamps: bool = setting(flag, default=True, source="RFC 7323")
    syn_rtt: bool = setting(flag, default=False)
    ecn: str = setting(one_of, default="off", known=tuple(_ECN))
    ecn_retransmissions: bool = setting(flag, default=False, source="RFC 8311")
    ecn_control: bool = setting(flag, default=False)
    gradual_marks: bool = setting(flag, default=False)
    dsack: bool = setting(flag, default=True, source="RFC 2883; RFC 3708", needs="selective")
    eifel: bool = setting(flag, default=False, source="RFC 3522; RFC 4015")

    def sources(self, recovery: str) -> list[str]:
        """The RFCs of the settings that are in effect with the loss recovery of this name."""
        from tcpcc.transport.recovery import RECOVERIES

        definition = RECOVERIES.find(recovery)
        rfcs = [
            f.metadata["source"]
            for f in fields(self)
            if getattr(self, f.name)
            and (not f.metadata["needs"] or getattr(definition, f.metadata["needs"]))
        ]
        return [source for source in (*rfcs, _ECN[self.ecn]) if source]

    @classmethod
    def ns2(cls, **changes: Any) -> Transport:
        """The sender of ns-2.35.

        Initial window of 2, standard slow start, first timeout of 3 s, timeouts of at least 0.2 s
        in total, ssthresh reduced at every timeout, no F-RTO, no D-SACK. `changes` add to these
        settings or override them.
        """
        return cls(**{**host_presets.NS2, **changes})

    @classmethod
    def bsd(cls, **changes: Any) -> Transport:
        """The sender of 4.3BSD-Reno.

        The retransmission timer runs on a clock of 500 ms: the smallest timeout, 2 ticks, expires
        after 0.5 to 1 s. Standard slow start, no limited transmit, no D-SACK; initial window of one
        packet. `changes` add to these settings or override them.
        """
        return cls(**{**host_presets.BSD, **changes})

    @classmethod
    def linux(cls, **changes: Any) -> Transport:
        """The sender and the receiver of Linux 6.

        Initial window of 10 (RFC 6928), timestamps, clock of 4 ms, ACKs delayed by up to 40 ms
        after the first 16, windows in whole packets, pieces of a millisecond at the pacing rate and
        at least two segments, gradual response to marks, D-SACK, Eifel detection. Slow start is the
        controller's own; `Flow.linux` gives CUBIC its HyStart. To be used with the recovery
        "rack-tlp". `changes` add to these settings or override them.
        """
        return cls(**{**host_presets.LINUX_6, **changes})

    def _check(self) -> None:
        if self.delay_growth and self.handshake:
            raise ScenarioError("delay_growth = True: needs handshake = False")
        if self.min_rto > self.max_rto:
            raise ScenarioError(
                f"min_rto = {self.min_rto:g}: must be at most max_rto = {self.max_rto:g} (s)"
            )
