"""The traffic of a scenario: congestion-controlled flows and constant-bit-rate sources."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Self

from tcpcc.errors import ScenarioError, flag, positive, refuse, suggestion, text, unknown, whole
from tcpcc.scenario import units
from tcpcc.scenario.frozen import (
    BitRate,
    BitRateOrNone,
    Bytes,
    Record,
    SecondsOrNone,
    Setting,
    arguments,
    as_given,
    bit_rate,
    instance,
    named,
    optional,
    propagation,
    record,
    seconds,
    setting,
    whole_bytes,
)
from tcpcc.scenario.host_presets import LINUX, LINUX_HOST, LINUX_TRANSPORT
from tcpcc.scenario.network import Numbers, name_and_params, node_name, node_path, number_pairs
from tcpcc.scenario.transport_settings import Transport
from tcpcc.scenario.units import Quantity

if TYPE_CHECKING:
    from tcpcc.controllers.controller import Controller
    from tcpcc.slow_start import StartUp


HIGHEST_CLASS = 63  # a DSCP has six bits (RFC 2474)

USUAL = Transport()
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
        params: Numbers = (),
        **more_params: float | bool,
    ) -> None:
        declared = _slow_start_rule(name).params if params or more_params else {}
        pairs = number_pairs(
            "slow_start",
            {**dict(number_pairs("params", params, declared)), **more_params},
            declared,
        )
        self._store(name=name, params=pairs)
        if name != STANDARD or pairs:  # avoids an import for the default
            self.rule.check(dict(pairs))

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


def _slow_start(field: str, spec: object) -> SlowStart:
    """The rule for a `SlowStart`, a name, or a mapping with "name"."""
    if isinstance(spec, SlowStart):
        return spec
    if isinstance(spec, str):
        return SlowStart(spec)
    name, params = name_and_params(field, spec, "a SlowStart(...)")
    return SlowStart(name, params=params)


Node = Setting[Hashable | None, str | None]


def _recovery(name: str, recovery: str) -> str:
    from tcpcc.transport.recovery import RECOVERIES

    RECOVERIES.find(recovery)
    return recovery


def _transport(name: str, transport: Transport | Mapping[str, Any]) -> Transport:
    if isinstance(transport, Mapping):
        return Transport(**transport)
    return instance(name, transport, kind=Transport, allowed="a Transport(...)")


def _recorded(name: str, record: bool | Sequence[str]) -> bool | tuple[str, ...]:
    """The names of the variables to record; True if there are none."""
    if not isinstance(record, str | Sequence):
        return flag(name, record)
    names = (record,) if isinstance(record, str) else record
    return tuple(dict.fromkeys(text(name, variable) for variable in names)) or True


def _traffic_class(name: str, value: int) -> int:
    number = whole(name, value)
    if number > HIGHEST_CLASS:
        raise refuse(name, value, f"a whole number in [0, {HIGHEST_CLASS}]")
    return number


def _pairs(name: str, values: Any, shape: str, least: int) -> Sequence[Sequence[Any]]:
    """The values, if they are at least so many pairs."""
    lists = [values, *values] if isinstance(values, Sequence) else [values]
    if (
        any(isinstance(item, str) or not isinstance(item, Sequence) for item in lists)
        or any(len(pair) != 2 for pair in values)
        or len(values) < least
    ):
        raise refuse(name, values, shape)
    return lists[1:]


def _on_times(name: str, on: Any) -> tuple[tuple[float, float | None], ...]:
    """Checked (from, to) pairs: in order, without overlap, open only at the end."""
    pairs: list[tuple[float, float | None]] = []
    last: float | None = 0.0
    for pair in _pairs("on", on, "a list of (from, to) pairs in s", least=1):
        begin = seconds("on: from", pair[0])
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


@record
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

    controller: str = setting(as_given)
    start: float = setting(seconds)
    count: int = setting(whole, unit="flows", low=1)
    jitter: float = setting(seconds)
    processing: float = setting(seconds)
    background: bool = setting(flag)
    stop: float | None = setting(optional(seconds), check=positive)
    size: int | None = setting(as_given)
    writes: tuple[tuple[float, int | None], ...] = setting(as_given)
    source: str | None = setting(optional(node_name))
    target: str | None = setting(optional(node_name))
    path: tuple[str, ...] | None = setting(optional(node_path))
    ack_path: tuple[str, ...] | None = setting(optional(node_path))
    recovery: str | None = setting(optional(_recovery))
    slow_start: SlowStart | None = setting(optional(_slow_start))
    packet_size: int = setting(whole_bytes, low=1)
    header: int = setting(whole_bytes)
    ack_size: int = setting(whole_bytes)
    access_delay: float | None = setting(optional(propagation))
    access_rate: float | None = setting(optional(bit_rate), inf=True)
    traffic_class: int = setting(_traffic_class)
    transport: Transport = setting(_transport)
    group: str | None = setting(optional(text))
    name: str | None = setting(optional(text))
    record: bool | tuple[str, ...] = setting(_recorded)
    params: tuple[tuple[str, float], ...] = setting(as_given)
    _instance: Controller | None = field(init=False, compare=False)

    # written out, since parameters of the controller are keywords too
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
        transport: Transport | Mapping[str, Any] = USUAL,
        group: str | None = None,
        name: str | None = None,
        record: bool | Sequence[str] = True,
        params: Numbers = (),
        **more_params: float | bool,
    ) -> None:
        settings = dict(locals())
        from tcpcc.controllers import CONTROLLERS, Controller

        if not isinstance(controller, str | Controller):
            raise refuse("controller", controller, "a controller or the name of one")
        algorithm = CONTROLLERS.find(controller)
        for keyword in more_params:
            if keyword not in algorithm.params:
                raise _unknown_keyword(keyword, algorithm)
        numbers = {**dict(number_pairs("params", params, algorithm.params)), **more_params}
        pairs = number_pairs("params", numbers, algorithm.params)
        algorithm.check(dict(pairs))
        _check_defaults(algorithm)
        self._store(_instance=None if isinstance(controller, str) else algorithm)
        self._keep({**settings, "controller": algorithm.name, "params": pairs})

    def _check(self) -> None:
        if self.header >= self.packet_size:
            raise ScenarioError(
                f"header = {self.header}: must be smaller than packet_size ="
                f" {self.packet_size} (bytes)"
            )
        payload = self.packet_size - self.header
        if self.size is not None:
            self._store(size=_packets("size", self.size, payload))
        if self.writes is not self._defaults["writes"]:
            self._store(writes=_writes(self.writes, payload))
        if self.writes and self.size is not None:
            raise ScenarioError(f"size = {self.size!r}: must be left out with writes")
        last = self.start + self.jitter
        if self.stop is not None and self.stop <= last:
            later = f"start = {self.start:g}"
            later += f" + jitter = {self.jitter:g}" if self.jitter else ""
            raise ScenarioError(f"stop = {self.stop:g}: must be later than {later} (s)")
        if self.writes and self.stop is not None and self.stop <= last + self.writes[-1][0]:
            raise ScenarioError(
                f"stop = {self.stop:g}: must be later than the last of writes,"
                f" {last + self.writes[-1][0]:g} (s)"
            )
        _check_ends(self)
        if isinstance(self.record, tuple):
            self._check_states(self.record)

    def _check_states(self, names: tuple[str, ...]) -> None:
        """Each name is a real number of the controller's state, or of its slow-start rule's."""
        from tcpcc.slow_start.start_up import composed

        states = composed(self.definition, self.starts_by.rule).numbers
        for name in names:
            if name not in states:
                raise unknown(f"record of controller {self.controller!r}", name, states)

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
        sender = Transport.linux(**{**LINUX_TRANSPORT.get(control, {}), **(transport or {})})
        return cls(**{**LINUX_HOST, **LINUX[control], "transport": sender, **settings})

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


@record
class CBR(Record):
    """A constant-bit-rate source without feedback (UDP), with on and off times.

    Args:
        rate: bit/s on the wire.
        packet_size: bytes on the wire.
        on: (from, to) pairs in s, in order; to = None or inf: until the end of the run.
        source, target, path, access_delay, access_rate, traffic_class: as in `Flow`.
        name: default: "cbr" and the flow's number, "cbr3".
    """

    rate: BitRate = setting(bit_rate)
    _: KW_ONLY
    packet_size: Bytes = setting(whole_bytes, default=1000, low=1)
    on: Setting[Sequence[Sequence[Quantity | None]], tuple[tuple[float, float | None], ...]] = (
        setting(_on_times, default=((0.0, None),))
    )
    source: Node = setting(optional(node_name), default=None)
    target: Node = setting(optional(node_name), default=None)
    path: Setting[Sequence[Hashable] | None, tuple[str, ...] | None] = setting(
        optional(node_path), default=None
    )
    access_delay: SecondsOrNone = setting(optional(propagation), default=None)
    access_rate: BitRateOrNone = setting(optional(bit_rate), default=None, inf=True)
    traffic_class: int = setting(_traffic_class, default=0)
    name: str | None = setting(optional(text), default=None)

    # what it has as a source of packets beside flows
    controller: ClassVar[str] = "cbr"
    count: ClassVar[int] = 1
    jitter: ClassVar[float] = 0.0
    processing: ClassVar[float] = 0.0
    background: ClassVar[bool] = False
    size: ClassVar[None] = None
    writes: ClassVar[tuple[()]] = ()
    ack_size: ClassVar[int] = 0
    group: ClassVar[None] = None
    record: ClassVar[bool] = True

    def _check(self) -> None:
        _check_ends(self)

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


def _check_defaults(algorithm: Controller) -> None:
    """Checks the controller's own loss recovery and slow start."""
    try:
        if algorithm.recovery is not None:
            _recovery("recovery", algorithm.recovery)
        _start_named(algorithm.slow_start)
    except ScenarioError as error:
        raise ScenarioError(f"controller {algorithm.name!r}: {error}") from None


def _check_ends(flow: Flow | CBR) -> None:
    """A path determines source and target."""
    for name, node, end in (("source", flow.source, 0), ("target", flow.target, -1)):
        if node is not None and flow.path is not None and flow.path[end] != node:
            raise ScenarioError(f"{name} = {node!r}: path has {flow.path[end]!r} there")
    if flow.source is not None and flow.source == flow.target:
        raise ScenarioError(f"target = {flow.target!r}: must be another node than source")


def _packets(name: str, value: Quantity, payload: int) -> int:
    """A file's size in packets; a partial last packet counts as one."""
    number, unit = units.packets_or_bytes(value, name)
    if unit == "bytes":
        number = math.ceil(positive(name, number, unit) / payload)
    return whole(name, number, "packets", low=1)


def _writes(writes: Any, payload: int) -> tuple[tuple[float, int | None], ...]:
    """Checked (time, size) pairs: in order of time, endless only at the end; sizes in packets."""
    pairs: list[tuple[float, int | None]] = []
    for pair in _pairs("writes", writes, "a list of (time, size) pairs", least=0):
        time = seconds("writes: time", pair[0])
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
