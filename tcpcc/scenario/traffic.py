"""The traffic of a scenario: congestion-controlled flows and constant-bit-rate sources."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Self

from tcpcc.errors import (
    ScenarioError,
    flag,
    nonnegative,
    one_of,
    positive,
    refuse,
    suggestion,
    text,
    unknown,
    whole,
)
from tcpcc.scenario import units
from tcpcc.scenario.frozen import Record, arguments, named
from tcpcc.scenario.network import name_and_params, node_name, node_path, number_pairs
from tcpcc.scenario.units import Quantity

if TYPE_CHECKING:
    from tcpcc.controllers.controller import Controller
    from tcpcc.slow_start import StartUp


def _setting(
    default: Any,
    check: Callable[..., Any] = nonnegative,
    unit: str = "",
    source: str = "",
    needs: str = "",
    **limits: Any,
) -> Any:
    """A field of Transport with the check of its value.

    Args:
        source: RFC that it follows unless it is off (0 or False).
        needs: attribute of a loss recovery without which it has no effect.
    """
    checked = partial(check, **limits)
    known = {"unit": unit, "check": checked, "source": source, "needs": needs}
    return field(default=default, metadata=known)


HIGHEST_CLASS = 63  # a DSCP has six bits (RFC 2474)

#: Kinds of ECN and their RFCs.
_ECN = {"off": "", "classic": "RFC 3168", "accurate": "RFC 3168", "l4s": "RFC 9331; RFC 9768"}

#: Slow start and timeouts as in ns-2 and 4.3BSD.
_CLASSIC = {
    "slow_start_rule": False, "rto_margin": 0.0, "hold_ssthresh": False, "frto": False,
    "flight_ssthresh": False,
    "timestamps": False, "dsack": False,
}  # fmt: skip


@named
@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
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
        flight_ssthresh: whether a loss or a timeout reduces from the packets in flight if they are
            fewer than the window because the application has no more to send (RFC 5681, equation
            4); False: from the window, as in Linux and ns-2.
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
            that need ECN (`Flow.linux("dctcp")`). At a marking threshold other SYNs are dropped.
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

    initial_window: float = _setting(10.0, positive, "packets")
    handshake: bool = _setting(True, flag)
    delay_growth: bool = _setting(False, flag)
    slow_start_rule: bool = _setting(True, flag)
    rwnd: float = _setting(math.inf, positive, "packets", inf=True)
    window_validation: bool = _setting(True, flag, source="RFC 7661")
    window_decay: bool = _setting(False, flag)
    initial_rto: float = _setting(1.0, positive, "s")
    min_rto: float = _setting(0.2, nonnegative, "s", source="RFC 6298")
    max_rto: float = _setting(60.0, positive, "s", inf=True)
    rto_margin: float = _setting(0.2, nonnegative, "s")
    hold_ssthresh: bool = _setting(True, flag)
    flight_ssthresh: bool = _setting(True, flag, source="RFC 5681")
    frto: bool = _setting(True, flag, source="RFC 5682", needs="on_alarm")
    tick: float = _setting(0.01, nonnegative, "s")
    clock_phase: float = _setting(0.0, nonnegative, "s")
    coarse_timer: bool = _setting(False, flag)
    backoff_limit: int = _setting(64, whole, low=1)
    dupack_threshold: int = _setting(3, whole, low=1)
    limited_transmit: bool = _setting(True, flag, source="RFC 3042")
    delayed_ack: float = _setting(0.0, nonnegative, "s")
    ack_every: int = _setting(2, whole, low=1)
    quick_acks: int = _setting(0, whole, low=0)
    push_acks: bool = _setting(True, flag)
    abc_limit: float = _setting(1.0, positive, "packets", inf=True)
    count_delivered: bool = _setting(False, flag)
    whole_window: bool = _setting(False, flag)
    partial_deflation: bool = _setting(True, flag)
    max_burst: float = _setting(math.inf, positive, "packets", inf=True)
    gso_segments: int = _setting(1, whole, low=1)
    gso_time: float = _setting(0.0, nonnegative, "s")
    gso_above: float = _setting(0.0, nonnegative, "bit/s")
    piece_wait: float = _setting(1e-3, positive, "s", inf=True)
    idle_restart: bool = _setting(True, flag, source="RFC 5681")
    timestamps: bool = _setting(True, flag, source="RFC 7323")
    syn_rtt: bool = _setting(False, flag)
    ecn: str = _setting("off", one_of, known=tuple(_ECN))
    ecn_retransmissions: bool = _setting(False, flag, source="RFC 8311")
    ecn_control: bool = _setting(False, flag)
    gradual_marks: bool = _setting(False, flag)
    dsack: bool = _setting(True, flag, source="RFC 2883; RFC 3708", needs="selective")
    eifel: bool = _setting(False, flag, source="RFC 3522; RFC 4015")

    def sources(self, recovery: str) -> list[str]:
        """The RFCs of the settings that are in effect with the loss recovery of this name."""
        from tcpcc.transport.recovery import RECOVERIES

        known = RECOVERIES.find(recovery)
        found = [
            f.metadata["source"]
            for f in fields(self)
            if getattr(self, f.name)
            and (not f.metadata["needs"] or getattr(known, f.metadata["needs"]))
        ]
        return [source for source in (*found, _ECN[self.ecn]) if source]

    @classmethod
    def ns2(cls, **changes: Any) -> Transport:
        """The sender of ns-2.35.

        Initial window of 2, standard slow start, first timeout of 3 s, timeouts of at least 0.2 s
        in total, ssthresh reduced at every timeout, no F-RTO, no D-SACK. `changes` add to these
        settings or override them.
        """
        return cls(**{**_CLASSIC, "initial_window": 2.0, "initial_rto": 3.0, **changes})

    @classmethod
    def bsd(cls, **changes: Any) -> Transport:
        """The sender of 4.3BSD-Reno.

        The retransmission timer runs on a clock of 500 ms: the smallest timeout, 2 ticks, expires
        after 0.5 to 1 s. Standard slow start, no limited transmit, no D-SACK; initial window of one
        packet. `changes` add to these settings or override them.
        """
        known: dict[str, Any] = {
            **_CLASSIC, "initial_window": 1.0, "tick": 0.5, "coarse_timer": True,
            "initial_rto": 6.0, "min_rto": 1.0, "max_rto": 64.0, "limited_transmit": False,
        }  # fmt: skip
        return cls(**{**known, **changes})

    @classmethod
    def linux(cls, **changes: Any) -> Transport:
        """The sender and the receiver of Linux 6.

        Initial window of 10 (RFC 6928), timestamps, clock of 4 ms, ACKs delayed by up to 40 ms
        after the first 16, windows in whole packets, pieces of a millisecond at the pacing rate and
        at least two segments, gradual response to marks, D-SACK, Eifel detection. Slow start is the
        controller's own; `Flow.linux` gives CUBIC its HyStart. To be used with the recovery
        "rack-tlp". `changes` add to these settings or override them.
        """
        known: dict[str, Any] = {
            "tick": 0.004, "slow_start_rule": False,
            "delayed_ack": 0.04, "quick_acks": 16, "abc_limit": math.inf, "count_delivered": True,
            "whole_window": True, "gso_segments": 2, "gso_time": 1 / 1024, "gradual_marks": True,
            "eifel": True, "window_decay": True, "flight_ssthresh": False,
        }  # fmt: skip
        return cls(**{**known, **changes})

    def __post_init__(self) -> None:
        for f in fields(self):
            value, unit = getattr(self, f.name), f.metadata["unit"]
            if convert := {"s": units.seconds, "bit/s": units.rate}.get(unit):
                value = convert(value, f.name)
            known_unit = {"unit": unit} if unit else {}
            self._store(**{f.name: f.metadata["check"](f.name, value, **known_unit)})
        for name in ("initial_window", "rwnd"):
            if getattr(self, name) < 1:
                raise ScenarioError(
                    f"{name} = {getattr(self, name):g}: must be at least 1 (packets)"
                )
        if self.delay_growth and self.handshake:
            raise ScenarioError("delay_growth = True: needs handshake = False")
        if self.min_rto > self.max_rto:
            raise ScenarioError(
                f"min_rto = {self.min_rto:g}: must be at most max_rto = {self.max_rto:g} (s)"
            )


STANDARD = "standard"  # the slow-start rule that changes nothing


@named
@dataclass(frozen=True, slots=True, init=False, repr=False)
class SlowStart(Record):
    """A slow-start rule, usable with any controller, and its parameters.

    Args:
        name: "standard", the controller's own; "limited" (RFC 3742), "hystart" (Linux' CUBIC),
            "hystart++" (RFC 9406) or "quick_start" (RFC 4782); see `tcpcc.slow_start`.
        params: parameters of the rule, here or as keywords: `SlowStart("limited",
            max_ssthresh=50)`.

    Raises:
        ScenarioError: an unknown name or parameter, or a parameter out of range.
    """

    name: str
    params: tuple[tuple[str, float], ...]

    def __init__(
        self,
        name: str = STANDARD,
        *,
        params: Mapping[str, float | bool] | Sequence[tuple[str, float | bool]] = (),
        **more_params: float | bool,
    ) -> None:
        known = _slow_start_rule(name).params if params or more_params else {}
        given = number_pairs(
            "slow_start", {**dict(number_pairs("params", params, known)), **more_params}, known
        )
        self._store(name=name, params=given)
        if name != STANDARD or given:  # avoids an import for the default
            self.rule.check(dict(given))

    @property
    def rule(self) -> StartUp:
        """The rule registered under `name`."""
        return _slow_start_rule(self.name)


def _slow_start_rule(name: str) -> StartUp:
    from tcpcc.slow_start import SLOW_STARTS

    return SLOW_STARTS.find(name)


@cache
def _start_named(name: str) -> SlowStart:
    return SlowStart(name)


def _slow_start(spec: object) -> SlowStart:
    """The rule for a `SlowStart`, a name, or a mapping with "name"."""
    if isinstance(spec, SlowStart):
        return spec
    if isinstance(spec, str):
        return SlowStart(spec)
    name, params = name_and_params("slow_start", spec, "a SlowStart(...)")
    return SlowStart(name, params=params)


#: Settings of `Flow` for each congestion control, by the kernel's name. ``tcp_cubic`` is the
#: authors' version of 2008 with the beta of RFC 9438.
LINUX: dict[str, Mapping[str, Any]] = {
    "cubic": {
        "controller": "cubic_2008", "beta": 717 / 1024, "early_growth": 1 / 20,
        "slow_start": "hystart",
    },
    "westwood": {"controller": "westwood_plus"},
    "highspeed": {"controller": "hstcp"},
    **{
        name: {"controller": name}
        for name in (
            "reno", "bbr", "vegas", "htcp", "hybla", "illinois", "veno", "yeah", "nv", "cdg", "lp",
            "bic", "scalable", "dctcp",
        )
    },
    "bbr2": {"controller": "bbr2"},
    "bbr3": {
        "controller": "bbr3", "drain_gain": 1000 / 2885, "down_gain": 0.91, "extra_time": 0.1,
        "startup_extra": False,
    },
    "prague": {"controller": "prague", "pacing_gain": 1500 / 1436, "header": 64},
}  # fmt: skip
_OF_BBR = {"gso_above": 1.2e6, "syn_rtt": True}
#: Settings of its transport: ECN; ``bbr_min_tso_rate``, ``bbr_init``; Prague's pieces of 1/4096 s.
#: L4STeam's kernel adds the AccECN option (12 bytes) to each packet, so that the receiver leaves
#: the fast path and ``__tcp_accecn_process`` demands an ACK at once. The sender paces by whole
#: packets, but counts their payload of 1436 bytes (``prague_update_pacing_rate``).
LINUX_TRANSPORT: Mapping[str, Mapping[str, Any]] = {
    "bbr": _OF_BBR,
    "bbr2": _OF_BBR,
    "bbr3": _OF_BBR,
    "dctcp": {"ecn": "accurate"},
    "prague": {"ecn": "l4s", "gso_time": 1 / 4096, "gso_segments": 1, "delayed_ack": 0.0},
}  # fmt: skip


def _names(record: str | Sequence[str]) -> bool | tuple[str, ...]:
    """The names of the variables to record; True if there are none."""
    names = (record,) if isinstance(record, str) else tuple(record)
    return tuple(dict.fromkeys(text("record", name) for name in names)) or True


@named
@dataclass(frozen=True, slots=True, init=False, repr=False)
class Flow(Record):
    """A TCP connection that sends an endless file or one of a given size.

    Args:
        controller: name of a registered controller, or a controller itself. Flows are compared
            and saved by the controller's name.
        start: time at which the connection opens, s.
        count: number of such flows, each with its own access links. The fluid
            model and the hybrid (for background flows) simulate at most 100 senders, each of which
            stands for several flows; the packet model simulates each flow. `senders` of `simulate`
            is another number. The row of such a sender in a run has the sums over its flows.
        jitter: time over which the starts of these flows are spread, s; random, from the
            scenario's seed.
        processing: longest time the host takes to send a packet, s. It is drawn for each packet
            between 0 and this value, from the scenario's seed; packets stay in order. Avoids
            traffic phase effects (Floyd and Jacobson, Internetworking 3(3), 1992: about the
            transmission time of a packet on the bottleneck).
        background: whether the hybrid model simulates the flow as background traffic: as trains,
            and with few senders if its `count` is large. Other models ignore this.
        stop: time from which the sender has no new data, s (outstanding packets are still
            retransmitted); None: never.
        size: packets to send, or bytes of payload with a unit ("1 MB", rounded up to packets);
            None: endless.
        writes: in place of a size, (time, size) pairs in order of time: what the application hands
            to the sender, and when, s after the connection opens. A last size of None or inf:
            endless. ``writes=[(0, "2 MB"), (20, None)]`` sends 2 MB, and after 20 s as much as it
            can. `Run.fct` has a row for each, unless ``record=False``.
        source: node where it enters the network; None: that of the network's default path.
        target: node where it leaves the network; None: that of the network's default path.
        path: the nodes from source to target; None: fewest hops, then least delay.
        ack_path: the nodes from target to source for ACKs; None: `path` in reverse.
        recovery: loss recovery ("newreno", "sack", ...); None: the controller's own.
        slow_start: rule that modifies the controller's slow start: "limited", "hystart",
            "hystart++", "quick_start", or a `SlowStart` with parameters; "standard": the
            controller's own slow start. None: the controller's default ("hystart++" for built-in
            controllers with Reno's slow start, else "standard");
            with `Transport(slow_start_rule=False)`, as in ns-2 and Linux, "standard".
        packet_size: bytes of a data packet on the wire.
        header: bytes of the packet that are not payload.
        ack_size: bytes of an ACK.
        access_delay: propagation delay of its access link at the source, in both directions, s;
            overrides the network's.
        access_rate: rate of its access links, bit/s; overrides the network's.
        traffic_class: class of its packets and ACKs, 0 to 63, as a DSCP; a queue discipline reads
            it as `q.traffic_class` (packet model).
        transport: further settings, a `Transport` or a mapping of its fields.
        group: name of the connection whose paths are the flows with this name, as in MPTCP; None:
            the flow is a connection. Coupled controllers ("lia", "olia", "balia") read each
            other's windows within a group. With a `count` of several, the first flows are one
            connection ("name.1"), the second ones another. Each flow has data of its own: a group
            neither splits nor reorders a common stream.
        name: default: the controller's name and the flow's number, "vegas1". With a `count` of
            several flows simulated individually the first is "vegas1.1". The name selects the
            flow's random numbers: give one to keep them when another flow is inserted before it.
        record: whether a run keeps the flow's time series. False saves memory: ten thousand flows
            with a thousand bins take a gigabyte. Sums remain in `Run.totals`, and the series of
            links include all flows. Names of state variables of the controller: their series, too
            (``record=("alpha",)``; see `Run.states`).
        params: parameters of the controller, here or as keywords: `Flow("vegas", alpha=1)`.
    """

    controller: str
    start: float
    count: int
    jitter: float
    processing: float
    background: bool
    stop: float | None
    size: int | None
    writes: tuple[tuple[float, int | None], ...]
    source: str | None
    target: str | None
    path: tuple[str, ...] | None
    ack_path: tuple[str, ...] | None
    recovery: str | None
    slow_start: SlowStart | None
    packet_size: int
    header: int
    ack_size: int
    access_delay: float | None
    access_rate: float | None
    traffic_class: int
    transport: Transport
    group: str | None
    name: str | None
    record: bool | tuple[str, ...]
    params: tuple[tuple[str, float], ...]
    _instance: Controller | None = field(init=False, compare=False)

    def __init__(
        self,
        controller: str | Controller,
        *,
        start: Quantity = 0.0,
        count: int = 1,
        jitter: Quantity = 0.0,
        processing: Quantity = 0.0,
        background: bool = False,
        stop: Quantity | None = None,
        size: Quantity | None = None,
        writes: Sequence[Sequence[Quantity | None]] = (),
        source: Hashable | None = None,
        target: Hashable | None = None,
        path: Sequence[Hashable] | None = None,
        ack_path: Sequence[Hashable] | None = None,
        recovery: str | None = None,
        slow_start: SlowStart | str | Mapping[str, Any] | None = None,
        packet_size: Quantity = 1000,
        header: Quantity = 0,
        ack_size: Quantity = 40,
        access_delay: Quantity | None = None,
        access_rate: Quantity | None = None,
        traffic_class: int = 0,
        transport: Transport | Mapping[str, Any] = Transport(),
        group: str | None = None,
        name: str | None = None,
        record: bool | Sequence[str] = True,
        params: Mapping[str, float | bool] | Sequence[tuple[str, float | bool]] = (),
        **more_params: float | bool,
    ) -> None:
        from tcpcc.controllers import CONTROLLERS, Controller

        named_only = isinstance(controller, str)
        if not isinstance(controller, str | Controller):
            raise refuse("controller", controller, "a controller or the name of one")
        algorithm = CONTROLLERS.find(controller)
        for keyword in more_params:
            if keyword not in algorithm.params:
                raise _unknown_keyword(keyword, algorithm)
        given = number_pairs(
            "params",
            {**dict(number_pairs("params", params, algorithm.params)), **more_params},
            algorithm.params,
        )
        algorithm.check(dict(given))
        _check_recovery(recovery)
        _check_recovery(algorithm.recovery, f"controller {algorithm.name!r}: ")
        _check_start(algorithm)
        if isinstance(transport, Mapping):
            transport = Transport(**transport)
        if not isinstance(transport, Transport):
            raise refuse("transport", transport, "a Transport(...)")
        begin = nonnegative("start", units.seconds(start, "start"), "s")
        spread = nonnegative("jitter", units.seconds(jitter, "jitter"), "s")
        end = None if stop is None else positive("stop", units.seconds(stop, "stop"), "s")
        if end is not None and end <= begin + spread:
            later = f"start = {begin:g}" + (f" + jitter = {spread:g}" if spread else "")
            raise ScenarioError(f"stop = {end:g}: must be later than {later} (s)")
        wire, overhead = _byte_count("packet_size", packet_size, 1), _byte_count("header", header)
        if overhead >= wire:
            raise ScenarioError(
                f"header = {overhead}: must be smaller than packet_size = {wire} (bytes)"
            )
        written = _writes(writes, wire - overhead)
        if written and size is not None:
            raise ScenarioError(f"size = {size!r}: must be left out with writes")
        if written and end is not None and end <= begin + spread + written[-1][0]:
            raise ScenarioError(
                f"stop = {end:g}: must be later than the last of writes,"
                f" {begin + spread + written[-1][0]:g} (s)"
            )
        self._store(
            controller=algorithm.name,
            start=begin,
            count=whole("count", count, "flows", low=1),
            jitter=spread,
            processing=nonnegative("processing", units.seconds(processing, "processing"), "s"),
            background=flag("background", background),
            stop=end,
            size=None if size is None else _packets("size", size, wire - overhead),
            writes=written,
            **_endpoints(source, target, path),
            ack_path=None if ack_path is None else node_path("ack_path", ack_path),
            recovery=recovery,
            slow_start=None if slow_start is None else _slow_start(slow_start),
            packet_size=wire,
            header=overhead,
            ack_size=_byte_count("ack_size", ack_size),
            **_own_access(access_delay, access_rate),
            traffic_class=_traffic_class(traffic_class),
            transport=transport,
            group=None if group is None else text("group", group),
            name=None if name is None else text("name", name),
            record=_names(record) if isinstance(record, str | Sequence) else flag("record", record),
            params=given,
            _instance=None if named_only else algorithm,
        )
        if isinstance(self.record, tuple):
            self._check_states(self.record)

    def _check_states(self, names: tuple[str, ...]) -> None:
        """Each name is a real number of the controller's state, or of its slow-start rule's."""
        from tcpcc.slow_start.start_up import composed

        known = composed(self.definition, self.starts_by.rule).numbers
        for name in names:
            if name not in known:
                raise unknown(f"record of controller {self.controller!r}", name, known)

    @classmethod
    def linux(
        cls, control: str, *, transport: Mapping[str, Any] | None = None, **settings: Any
    ) -> Flow:
        """The flow of a Linux 6 host whose congestion control is `control`.

        Its packets have 1500 bytes, of which 52 are headers; the recovery is RACK-TLP.

        Args:
            control: name in the kernel: "reno", "cubic", "bbr", "dctcp", "vegas",
                "htcp", "hybla", "illinois", "veno", "westwood", "yeah", "nv", "cdg", "lp", "bic",
                "highspeed", "scalable"; "bbr2" and "bbr3", version 3 of "bbr", of Google's
                kernels; and "prague", of L4STeam's.
            transport: settings that differ from those of `Transport.linux`.
            **settings: further settings of the flow; they override those of Linux.

        Raises:
            ScenarioError: an unknown congestion control, or an invalid setting.

        >>> import tcpcc as tc
        >>> tc.Flow.linux("cubic").controller
        'cubic_2008'
        """
        if control not in LINUX:
            raise unknown("congestion control of Linux", control, LINUX)
        known: dict[str, Any] = {
            "packet_size": 1500, "header": 52, "ack_size": 52, "recovery": "rack-tlp",
        }  # fmt: skip
        sender = Transport.linux(**{**LINUX_TRANSPORT.get(control, {}), **(transport or {})})
        return cls(**{**known, **LINUX[control], "transport": sender, **settings})

    @property
    def definition(self) -> Controller:
        """The controller: the given one, or the one currently registered under the name."""
        from tcpcc.controllers import CONTROLLERS

        return self._instance or CONTROLLERS.find(self.controller)

    @property
    def starts_by(self) -> SlowStart:
        """The slow-start rule in effect: `slow_start`, or the default that it describes."""
        if self.slow_start is not None:
            return self.slow_start
        return _start_named(
            self.definition.slow_start if self.transport.slow_start_rule else STANDARD
        )

    @property
    def total(self) -> float:
        """Packets that the application hands to the sender in the whole run; inf if endless."""
        sizes = [size for _, size in self.writes] or [self.size]
        return sum(math.inf if size is None else size for size in sizes)

    def replace(self, **changes: Any) -> Self:
        """A copy with some arguments changed, checked again."""
        if self._instance is not None:
            changes = {"controller": self._instance, **changes}
        return Record.replace(self, **changes)


@named
@dataclass(frozen=True, slots=True, init=False, repr=False)
class CBR(Record):
    """A constant-bit-rate source without feedback (UDP), with on and off times.

    Args:
        rate: bit/s on the wire.
        packet_size: bytes on the wire.
        on: (from, to) pairs in s, in order; to = None or inf: until the end of the run.
        source, target, path, access_delay, access_rate, traffic_class: as in `Flow`.
        name: default: "cbr" and the flow's number, "cbr3".
    """

    rate: float
    packet_size: int
    on: tuple[tuple[float, float | None], ...]
    source: str | None
    target: str | None
    path: tuple[str, ...] | None
    access_delay: float | None
    access_rate: float | None
    traffic_class: int
    name: str | None

    def __init__(
        self,
        rate: Quantity,
        *,
        packet_size: Quantity = 1000,
        on: Sequence[Sequence[Quantity | None]] = ((0.0, None),),
        source: Hashable | None = None,
        target: Hashable | None = None,
        path: Sequence[Hashable] | None = None,
        access_delay: Quantity | None = None,
        access_rate: Quantity | None = None,
        traffic_class: int = 0,
        name: str | None = None,
    ) -> None:
        self._store(
            rate=positive("rate", units.rate(rate), "bit/s"),
            packet_size=_byte_count("packet_size", packet_size, 1),
            on=_on_times(on),
            **_endpoints(source, target, path),
            **_own_access(access_delay, access_rate),
            traffic_class=_traffic_class(traffic_class),
            name=None if name is None else text("name", name),
        )

    @property
    def start(self) -> float:
        """Time of the first packet, s."""
        return self.on[0][0]

    @property
    def stop(self) -> float | None:
        """Time at which it stops, s; None: at the end of the run."""
        return self.on[-1][1]


def _unknown_keyword(keyword: str, algorithm: Controller) -> ScenarioError:
    """The error for a keyword that is neither a setting of Flow nor a controller's parameter."""
    settings = arguments(Flow)
    params = ", ".join(algorithm.params) or "none"
    hint = suggestion(keyword, [*algorithm.params, *settings]) or ";"
    return ScenarioError(
        f"unknown keyword {keyword!r} of Flow({algorithm.name!r}){hint} "
        f"parameters of {algorithm.name!r}: {params}; settings of Flow: {', '.join(settings)}"
    )


def _check_recovery(recovery: str | None, owner: str = "") -> None:
    from tcpcc.transport.recovery import RECOVERIES

    if recovery is None:
        return
    try:
        RECOVERIES.find(recovery)
    except ScenarioError as error:
        raise ScenarioError(f"{owner}{error}") from None


def _check_start(algorithm: Controller) -> None:
    try:
        _start_named(algorithm.slow_start)
    except ScenarioError as error:
        raise ScenarioError(f"controller {algorithm.name!r}: {error}") from None


def _endpoints(
    source: Hashable | None, target: Hashable | None, path: Sequence[Hashable] | None
) -> dict[str, Any]:
    """Checked source, target and path; a path determines the other two."""
    nodes = None if path is None else node_path("path", path)
    ends: dict[str, str | None] = {}
    for name, node, end in (("source", source, 0), ("target", target, -1)):
        ends[name] = None if node is None else node_name(name, node)
        if ends[name] is not None and nodes is not None and nodes[end] != ends[name]:
            raise ScenarioError(f"{name} = {node!r}: path has {nodes[end]!r} there")
    if source is not None and ends["source"] == ends["target"]:
        raise ScenarioError(f"target = {target!r}: must be another node than source")
    return {**ends, "path": nodes}


def _own_access(delay: Quantity | None, rate: Quantity | None) -> dict[str, float | None]:
    """Checked access_delay and access_rate."""
    checked: dict[str, float | None] = {"access_delay": None, "access_rate": None}
    if delay is not None:
        seconds = units.seconds(delay, "access_delay")
        checked["access_delay"] = nonnegative("access_delay", seconds, "s")
    if rate is not None:
        bits = units.rate(rate, "access_rate")
        checked["access_rate"] = positive("access_rate", bits, "bit/s", inf=True)
    return checked


def _traffic_class(value: int) -> int:
    number = whole("traffic_class", value)
    if number > HIGHEST_CLASS:
        raise refuse("traffic_class", value, f"a whole number in [0, {HIGHEST_CLASS}]")
    return number


def _byte_count(name: str, value: Quantity, low: int = 0) -> int:
    return whole(name, units.size_bytes(value, name), "bytes", low=low)


def _packets(name: str, value: Quantity, payload: int) -> int:
    """A file's size in packets; a partial last packet counts as one."""
    number, unit = units.packets_or_bytes(value, name)
    if unit == "bytes":
        number = math.ceil(positive(name, number, unit) / payload)
    return whole(name, number, "packets", low=1)


def _writes(writes: Any, payload: int) -> tuple[tuple[float, int | None], ...]:
    """Checked (time, size) pairs: in order of time, endless only at the end; sizes in packets."""
    shape = "a list of (time, size) pairs"
    if isinstance(writes, str) or not isinstance(writes, Sequence):
        raise refuse("writes", writes, shape)
    pairs: list[tuple[float, int | None]] = []
    for pair in writes:
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
            raise refuse("writes", writes, shape)
        time = nonnegative("writes: time", units.seconds(pair[0], "writes: time"), "s")
        if pairs and pairs[-1][1] is None:
            raise ScenarioError(f"writes: time = {time:g}: the size before it has no end")
        if pairs and time <= pairs[-1][0]:
            raise ScenarioError(
                f"writes: time = {time:g}: must be later than the one before it,"
                f" {pairs[-1][0]:g} (s)"
            )
        endless = pair[1] in (None, math.inf, "inf")
        pairs.append((time, None if endless else _packets("writes: size", pair[1], payload)))
    return tuple(pairs)


def _on_times(on: Any) -> tuple[tuple[float, float | None], ...]:
    """Checked (from, to) pairs: in order, without overlap, open only at the end."""
    shape = "a list of (from, to) pairs in s"
    if isinstance(on, str) or not isinstance(on, Sequence) or not on:
        raise refuse("on", on, shape)
    pairs: list[tuple[float, float | None]] = []
    last: float | None = 0.0
    for pair in on:
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
            raise refuse("on", on, shape)
        begin = nonnegative("on: from", units.seconds(pair[0], "on: from"), "s")
        end = None if pair[1] is None else units.seconds(pair[1], "on: to")
        if end == math.inf:
            end = None
        if end is not None and end <= begin:
            raise ScenarioError(f"on: ({begin:g}, {end:g}): must end later than it begins (s)")
        if last is None or begin < last:
            raise ScenarioError(
                f"on: from = {begin:g}: must not be before the end of the pair before it, "
                f"{'the end of the run' if last is None else f'{last:g}'} (s)"
            )
        pairs.append((begin, end))
        last = end
    return tuple(pairs)
