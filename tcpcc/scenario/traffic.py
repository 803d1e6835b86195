"""The traffic of a scenario: congestion-controlled flows and constant-bit-rate sources."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
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
from tcpcc.scenario.network import node_name, node_path, number_pairs
from tcpcc.scenario.units import Quantity

if TYPE_CHECKING:
    from tcpcc.controllers.controller import Controller
    from tcpcc.slow_start import StartUp


def _setting(
    default: Any, check: Callable[..., Any] = nonnegative, unit: str = "", **limits: Any
) -> Any:
    """A field of Transport with the check of its values."""
    return field(default=default, metadata={"unit": unit, "check": partial(check, **limits)})


#: Timeouts as before 2000: ns-2's and 4.3BSD's.
_CLASSIC = {"rto_margin": 0.0, "hold_ssthresh": False, "frto": False, "timestamps": False}


@named
@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Transport(Record):
    """What a sender and its receiver do beside congestion control and loss recovery.

    Times in s (strings with units too), windows in packets.

    Args:
        initial_window: window at the start, and after a timeout no less than 1.
        handshake: whether one round trip of a SYN goes before the data.
        delay_growth: instead of a handshake: the window is one packet and becomes `initial_window`
            with the ACK after the first, as with ns-2.35's Vegas (``delay_growth_``, an ACK late).
        rwnd: the receiver's window, at least 1.
        window_validation: whether a window that the receiver or the application limits stops
            growing, as in Linux (RFC 7661); False: it grows for ever, as in ns-2.
        initial_rto: retransmission timeout before the first round-trip time is measured.
        min_rto: smallest retransmission timeout.
        max_rto: largest retransmission timeout.
        rto_margin: least distance of the timeout from the smoothed RTT. Linux has 0.2 s there, not
            in `min_rto`.
        hold_ssthresh: whether a timeout keeps ssthresh where the same loss has cut it already: in
            recovery (Linux), or if the timer repairs the same segment again (RFC 5681, 3.1).
        frto: whether the sender takes back the answer to a spurious timeout (F-RTO, RFC 5682); with
            the recovery "rack-tlp" (packet model).
        tick: clock granularity that the timeout is rounded to; 0 for none.
        clock_phase: how long before time 0 the clock has ticked. ns-2 draws it for each flow.
        coarse_timer: whether the timer expires at a tick of that clock and measures by its ticks,
            as 4.3BSD's does; see `bsd`.
        backoff_limit: largest factor by which repeated timeouts lengthen the timeout.
        dupack_threshold: duplicate ACKs that tell a loss.
        limited_transmit: whether the first two duplicate ACKs send new data (RFC 3042). With SACK
            they always do, as packets leave the pipe; with the recovery "vegas" they never do.
        delayed_ack: how long the receiver may hold back an ACK; 0: it acknowledges each packet.
        ack_every: with delayed ACKs, packets that bring an ACK at once.
        quick_acks: with delayed ACKs, packets at the beginning of a connection each of which brings
            an ACK at once (packet model). Linux sends 16 so, and as long as its window still opens,
            by two packets with each that comes (``tcp_incr_quickack``, ``__tcp_grow_window``).
        abc_limit: largest number of packets that one ACK counts for (RFC 3465).
        count_delivered: whether an ACK of new data counts for all packets that it tells of first,
            as in Linux: selectively acknowledged ones now, and never again; False: for those that
            it acknowledges cumulatively (packet model).
        whole_window: whether the window grows by whole packets, as in Linux: what the controller
            adds is put by until it makes one, and a cut rounds down (packet model).
        partial_deflation: whether a partial ACK deflates the window (RFC 6582).
        max_burst: largest number of packets sent at once.
        gso_segments: packets that leave in one piece where the window lets so many go, as with
            Linux' GSO (2 at least, more where a millisecond holds more): pacing spaces pieces, the
            last packet of one is acknowledged at once, and a rest waits for an ACK that is near
            (packet model).
        idle_restart: whether the window falls back to the initial one after a silence of more than
            a retransmission timeout (RFC 5681, 4.1); concerns conversations with pauses.
        timestamps: whether every ACK gives the timer a round-trip time, not one per round trip.
        syn_rtt: whether the handshake's round-trip time, that of a small packet, is among those
            that the controller sees: then it is likely to be the BaseRTT.
        ecn: "off", "classic" (RFC 3168: one reaction per round trip can be told) or "accurate"
            (the number of marked packets comes back); packet model.
        gradual_marks: whether the window comes down over the round trip that follows a mark, as
            after a loss, and does not grow until that is over, as in Linux (its state CWR); False:
            at once. With a recovery that reduces in proportion, "sack-prr" or "rack-tlp".
        dsack: whether the receiver reports what came twice (D-SACK, RFC 2883), so that the sender
            takes back the answer to a loss that was none, as Linux does (its undo; RFC 3708): cwnd
            and ssthresh are at least what they were before, and the controller's `on_undo` is
            called. RACK's reordering window then grows with repairs that were not needed. Packet
            model; in the others nothing overtakes, so no loss is none.
    """

    initial_window: float = _setting(10.0, positive, "packets")
    handshake: bool = _setting(True, flag)
    delay_growth: bool = _setting(False, flag)
    rwnd: float = _setting(math.inf, positive, "packets", inf=True)
    window_validation: bool = _setting(True, flag)
    initial_rto: float = _setting(1.0, positive, "s")
    min_rto: float = _setting(0.2, nonnegative, "s")
    max_rto: float = _setting(60.0, positive, "s", inf=True)
    rto_margin: float = _setting(0.2, nonnegative, "s")
    hold_ssthresh: bool = _setting(True, flag)
    frto: bool = _setting(True, flag)
    tick: float = _setting(0.01, nonnegative, "s")
    clock_phase: float = _setting(0.0, nonnegative, "s")
    coarse_timer: bool = _setting(False, flag)
    backoff_limit: int = _setting(64, whole, low=1)
    dupack_threshold: int = _setting(3, whole, low=1)
    limited_transmit: bool = _setting(True, flag)
    delayed_ack: float = _setting(0.0, nonnegative, "s")
    ack_every: int = _setting(2, whole, low=1)
    quick_acks: int = _setting(0, whole, low=0)
    abc_limit: float = _setting(1.0, positive, "packets", inf=True)
    count_delivered: bool = _setting(False, flag)
    whole_window: bool = _setting(False, flag)
    partial_deflation: bool = _setting(True, flag)
    max_burst: float = _setting(math.inf, positive, "packets", inf=True)
    gso_segments: int = _setting(1, whole, low=1)
    idle_restart: bool = _setting(True, flag)
    timestamps: bool = _setting(True, flag)
    syn_rtt: bool = _setting(False, flag)
    ecn: str = _setting("off", one_of, known=("off", "classic", "accurate"))
    gradual_marks: bool = _setting(False, flag)
    dsack: bool = _setting(False, flag)

    @classmethod
    def ns2(cls, **changes: Any) -> Transport:
        """The sender of ns-2.35: an initial window of 2, a first timeout of 3 s, a floor of 0.2 s
        for the whole timeout, ssthresh cut at every timeout, no F-RTO. `changes` are further
        settings, or others in their place.
        """
        return cls(**{**_CLASSIC, "initial_window": 2.0, "initial_rto": 3.0, **changes})

    @classmethod
    def bsd(cls, **changes: Any) -> Transport:
        """The sender of 4.3BSD-Reno: a clock of 500 ms that the retransmission timer is checked
        by, so that a timeout of 2 ticks, the least, comes after 0.5 to 1 s; no limited transmit;
        an initial window of one packet. `changes` are further settings, or others in their place.
        """
        known: dict[str, Any] = {
            **_CLASSIC, "initial_window": 1.0, "tick": 0.5, "coarse_timer": True,
            "initial_rto": 6.0, "min_rto": 1.0, "max_rto": 64.0, "limited_transmit": False,
        }  # fmt: skip
        return cls(**{**known, **changes})

    @classmethod
    def linux(cls, **changes: Any) -> Transport:
        """The sender and the receiver of Linux 6, on a path of some 10 Mb/s: initial window of 10
        (RFC 6928), timestamps, a clock of 4 ms, ACKs held back for 40 ms at most but for the first
        16, windows in whole packets, pieces of two segments, marks answered gradually, D-SACK. It
        goes with the recovery "rack-tlp". `changes` are further settings, or others in their place.
        """
        known: dict[str, Any] = {
            "tick": 0.004,
            "delayed_ack": 0.04, "quick_acks": 16, "abc_limit": math.inf, "count_delivered": True,
            "whole_window": True, "gso_segments": 2, "gradual_marks": True, "dsack": True,
        }  # fmt: skip
        return cls(**{**known, **changes})

    def __post_init__(self) -> None:
        for f in fields(self):
            value, unit = getattr(self, f.name), f.metadata["unit"]
            if unit == "s":
                value = units.seconds(value, f.name)
            known_unit = {"unit": unit} if unit else {}
            self._store(**{f.name: f.metadata["check"](f.name, value, **known_unit)})
        for name in ("initial_window", "rwnd"):
            if getattr(self, name) < 1:
                raise ScenarioError(
                    f"{name} = {getattr(self, name):g}: must be at least 1 (packets)"
                )
        if self.delay_growth and self.handshake:
            raise ScenarioError("delay_growth = True: goes with handshake = False only")
        if self.min_rto > self.max_rto:
            raise ScenarioError(
                f"min_rto = {self.min_rto:g}: must be at most max_rto = {self.max_rto:g} (s)"
            )


@named
@dataclass(frozen=True, slots=True, init=False, repr=False)
class SlowStart(Record):
    """A slow-start rule, which goes with any controller, and its parameters.

    Args:
        name: "standard", the controller's own; "limited" (RFC 3742), "hystart" (Linux' CUBIC),
            "hystart++" (RFC 9406) or "quick_start" (RFC 4782); see `tcpcc.slow_start`.
        params: parameters of the rule, here or as keywords: `SlowStart("limited",
            max_ssthresh=50)`.

    Raises `ScenarioError` for a name or a parameter that is not known, or out of its range.
    """

    name: str
    params: tuple[tuple[str, float], ...]

    def __init__(
        self,
        name: str = "standard",
        *,
        params: Mapping[str, float] | Sequence[tuple[str, float]] = (),
        **more_params: float,
    ) -> None:
        given = number_pairs("slow_start", {**dict(number_pairs("params", params)), **more_params})
        self._store(name=name, params=given)
        if name != "standard" or given:  # the default asks for no import
            self.rule.check(dict(given))

    @property
    def rule(self) -> StartUp:
        """The rule of that name."""
        from tcpcc.slow_start import SLOW_STARTS

        return SLOW_STARTS.find(self.name)


def _slow_start(spec: object) -> SlowStart:
    """The rule meant by a `SlowStart`, a name, or a mapping with "name"."""
    if isinstance(spec, SlowStart):
        return spec
    if isinstance(spec, str):
        return SlowStart(spec)
    if isinstance(spec, Mapping) and "name" in spec:
        return SlowStart(spec["name"], params={k: v for k, v in spec.items() if k != "name"})
    raise refuse("slow_start", spec, 'a SlowStart(...), its name, or a mapping with "name"')


#: Settings of `Flow` by the kernel's name of a congestion control, where ours has another name or
#: another default. ``tcp_cubic`` is its authors' of 2008 with RFC 9438's beta. ``tcp_bbr`` adds
#: three pieces of two segments to its window.
LINUX: dict[str, Mapping[str, Any]] = {
    "cubic": {
        "controller": "cubic_2008", "beta": 717 / 1024, "early_growth": 1 / 20,
        "slow_start": "hystart",
    },
    "bbr": {"controller": "bbr", "quantum": 6},
    "westwood": {"controller": "westwood_plus"},
    "highspeed": {"controller": "hstcp"},
    **{
        name: {"controller": name}
        for name in (
            "reno", "vegas", "htcp", "hybla", "illinois", "veno", "yeah", "nv", "cdg", "lp", "bic",
            "scalable", "dctcp",
        )
    },
}  # fmt: skip
LINUX_TRANSPORT: Mapping[str, Mapping[str, Any]] = {"dctcp": {"ecn": "accurate"}}


@named
@dataclass(frozen=True, slots=True, init=False, repr=False)
class Flow(Record):
    """One TCP connection with an endless file to send, or one of a given size.

    Args:
        controller: name of a registered controller, or a controller itself. Flows compare, and
            are saved, by its name.
        start: s, when the connection opens.
        count: how many such flows there are, each with access links of its own.
        jitter: s, over which the starts of these are spread, at random from the scenario's seed.
        processing: s; its host takes between 0 and this, at random from the scenario's seed, to
            send each packet, in order, as experimenters do against traffic phases (Floyd and
            Jacobson, Internetworking 3(3), 1992: about a packet's time on the bottleneck).
        background: whether the hybrid model runs it as fluid, behind the packets of the others;
            other models make no difference.
        stop: s, when the sender has no new data any more (what is outstanding is still
            repaired); None: never.
        size: packets to send, or bytes of payload with a unit ("1 MB", rounded up to packets);
            None: endless.
        source: node where it enters the network; None: that of the network's default path.
        target: node where it leaves, likewise.
        path: the nodes from source to target; None: fewest hops, then least delay.
        ack_path: the nodes of the way back; None: the same ones in reverse.
        recovery: loss recovery ("newreno", "sack", ...); None: the controller's own.
        slow_start: rule that watches the controller's slow start: "limited", "hystart",
            "hystart++", "quick_start", or a `SlowStart` with parameters; default "standard": none.
        packet_size: bytes of a data packet on the wire.
        header: bytes of these that are not payload.
        ack_size: bytes of an ACK.
        access_delay: s, propagation delay of its access link at the source, in both directions,
            in place of the network's.
        access_rate: bit/s of its access links, in place of the network's.
        transport: further settings, a `Transport` or a mapping of its fields.
        name: default the controller's name and the flow's number, "vegas1". Of several flows,
            simulated one by one, the first is then "vegas1.1".
        record: whether a run keeps its series. False: of ten thousand flows a thousand bins each
            take a gigabyte; what they sum up to is in `Run.totals`, and links know all of them.
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
    source: str | None
    target: str | None
    path: tuple[str, ...] | None
    ack_path: tuple[str, ...] | None
    recovery: str | None
    slow_start: SlowStart
    packet_size: int
    header: int
    ack_size: int
    access_delay: float | None
    access_rate: float | None
    transport: Transport
    name: str | None
    record: bool
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
        source: Hashable | None = None,
        target: Hashable | None = None,
        path: Sequence[Hashable] | None = None,
        ack_path: Sequence[Hashable] | None = None,
        recovery: str | None = None,
        slow_start: SlowStart | str | Mapping[str, Any] = SlowStart(),
        packet_size: Quantity = 1000,
        header: Quantity = 0,
        ack_size: Quantity = 40,
        access_delay: Quantity | None = None,
        access_rate: Quantity | None = None,
        transport: Transport | Mapping[str, Any] = Transport(),
        name: str | None = None,
        record: bool = True,
        params: Mapping[str, float] | Sequence[tuple[str, float]] = (),
        **more_params: float,
    ) -> None:
        from tcpcc.controllers import Controller, get

        named_only = isinstance(controller, str)
        if not isinstance(controller, str | Controller):
            raise refuse("controller", controller, "a controller or the name of one")
        algorithm = get(controller)
        for keyword in more_params:
            if keyword not in algorithm.params:
                raise _unknown_keyword(keyword, algorithm)
        given = number_pairs("params", {**dict(number_pairs("params", params)), **more_params})
        algorithm.check(dict(given))
        _check_recovery(recovery)
        _check_recovery(algorithm.recovery, f"controller {algorithm.name!r}: ")
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
        self._store(
            controller=algorithm.name,
            start=begin,
            count=whole("count", count, "flows", low=1),
            jitter=spread,
            processing=nonnegative("processing", units.seconds(processing, "processing"), "s"),
            background=flag("background", background),
            stop=end,
            size=None if size is None else _packets("size", size, wire - overhead),
            **_endpoints(source, target, path),
            ack_path=None if ack_path is None else node_path("ack_path", ack_path),
            recovery=recovery,
            slow_start=_slow_start(slow_start),
            packet_size=wire,
            header=overhead,
            ack_size=_byte_count("ack_size", ack_size),
            **_own_access(access_delay, access_rate),
            transport=transport,
            name=None if name is None else text("name", name),
            record=flag("record", record),
            params=given,
            _instance=None if named_only else algorithm,
        )

    @classmethod
    def linux(
        cls, control: str, *, transport: Mapping[str, Any] | None = None, **settings: Any
    ) -> Flow:
        """The flow of a Linux 6 host whose congestion control is `control`.

        Its packets have 1500 bytes, of which 52 are headers; the recovery is RACK-TLP.

        Args:
            control: as the kernel calls it: "reno", "cubic", "bbr", "dctcp", "vegas",
                "htcp", "hybla", "illinois", "veno", "westwood", "yeah", "nv", "cdg", "lp", "bic",
                "highspeed", "scalable".
            transport: settings that differ from those of `Transport.linux`.
            **settings: further settings of the flow, or others in place of Linux'.

        Raises:
            ScenarioError: the kernel has no congestion control of that name, or a bad setting.

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
        """The controller: the one given, or the one registered by the name at present."""
        from tcpcc.controllers import get

        return self._instance or get(self.controller)

    def replace(self, **changes: Any) -> Self:
        """A copy with some arguments changed, checked anew."""
        if self._instance is not None:
            changes = {"controller": self._instance, **changes}
        return Record.replace(self, **changes)


@named
@dataclass(frozen=True, slots=True, init=False, repr=False)
class CBR(Record):
    """A source that sends packets at a constant rate while it is on, and hears nothing back (UDP).

    Args:
        rate: bit/s on the wire.
        packet_size: bytes on the wire.
        on: (from, to) pairs in s, in order; to = None or inf: till the end of the run.
        source, target, path, access_delay, access_rate: as in `Flow`.
        name: default "cbr" and the flow's number, "cbr3".
    """

    rate: float
    packet_size: int
    on: tuple[tuple[float, float | None], ...]
    source: str | None
    target: str | None
    path: tuple[str, ...] | None
    access_delay: float | None
    access_rate: float | None
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
        name: str | None = None,
    ) -> None:
        self._store(
            rate=positive("rate", units.rate(rate), "bit/s"),
            packet_size=_byte_count("packet_size", packet_size, 1),
            on=_on_times(on),
            **_endpoints(source, target, path),
            **_own_access(access_delay, access_rate),
            name=None if name is None else text("name", name),
        )

    @property
    def start(self) -> float:
        """When it first sends, s."""
        return self.on[0][0]

    @property
    def stop(self) -> float | None:
        """When it sends no more, s; None: at the end of the run."""
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


def _endpoints(
    source: Hashable | None, target: Hashable | None, path: Sequence[Hashable] | None
) -> dict[str, Any]:
    """Checked source, target and path; a path tells the other two."""
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


def _byte_count(name: str, value: Quantity, low: int = 0) -> int:
    return whole(name, units.size_bytes(value, name), "bytes", low=low)


def _packets(name: str, value: Quantity, payload: int) -> int:
    """A file's size in packets; a last packet that is not full is one more."""
    number, unit = units.packets_or_bytes(value, name)
    if unit == "bytes":
        number = math.ceil(positive(name, number, unit) / payload)
    return whole(name, number, "packets", low=1)


def _on_times(on: Any) -> tuple[tuple[float, float | None], ...]:
    """Checked (from, to) pairs: in order, apart from each other, open only at the end."""
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
