"""The definitions that a scenario uses, and the literature that they come from, as BibTeX.

A definition names its sources in a few words, separated by semicolons ("Hoe 1995; RFC 6582").
``references.bib`` has an entry for each.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from tcpcc.errors import unknown
from tcpcc.scenario import tcplib
from tcpcc.scenario.distributions import Distribution
from tcpcc.scenario.traffic import Flow
from tcpcc.scenario.workloads import WEB_SIZE, WEB_SOURCE

if TYPE_CHECKING:
    from tcpcc.definition import Definition
    from tcpcc.scenario.spec import Scenario


def definitions(scenario: Scenario) -> list[Definition]:
    """The controllers, slow-start rules, loss recoveries and queue disciplines that a scenario
    uses, each once."""
    from tcpcc.transport.recovery import RECOVERIES

    used: dict[Definition, None] = {}
    for flow in _flows(scenario):
        controller = flow.definition
        recovery = RECOVERIES.find(flow.recovery or controller.recovery)
        used |= dict.fromkeys((controller, flow.starts_by.rule, recovery))
    return list(used | dict.fromkeys(link.queue.discipline for link in scenario.net.links))


def cite(scenario: Scenario | None, more: Iterable[str] = ()) -> str:
    """BibTeX entries as `Scenario.cite` returns them; without a scenario those of this package and
    of `more`."""
    used = [] if scenario is None else list(_used(scenario))
    for source in more:
        if key_of(source) is None:
            raise unknown("source", source, bibliography())
        used.append(("also", source))
    uses: dict[str, list[str]] = {}
    entries: dict[str, str] = {}
    notes = []
    for what, sources in used:
        if not sources:
            notes.append(f"% {what}: names no source\n")
        for source in filter(None, map(str.strip, sources.split(";"))):
            key = key_of(source) or _slug(source)
            entries[key] = bibliography().get(key) or f"@misc{{{key},\n  note = {{{source}}}\n}}\n"
            uses.setdefault(key, []).append(what)
    if scenario is not None and any(change.rate is not None for change in scenario.changes):
        notes.append(
            "% rates that change: cite the trace; mahimahi: netravali-et-al-2015, cellular:"
            " winstein-sivaraman-balakrishnan-2013\n"
        )
    cited = [f"% {', '.join(dict.fromkeys(uses[key]))}\n{entries[key]}" for key in entries]
    return "\n".join([_software(), *cited, *dict.fromkeys(notes)])


@cache
def bibliography() -> dict[str, str]:
    """The entries of ``references.bib`` by key."""
    text = files("tcpcc.scenario").joinpath("references.bib").read_text(encoding="utf-8")
    entries = re.finditer(r"^@\w+\{(.+?),\n.*?^\}\n", text, re.DOTALL | re.MULTILINE)
    return {entry[1]: entry[0] for entry in entries}


def key_of(source: str) -> str | None:
    """The key of a source: the longest one with which it begins, in whole words, so that a section
    or a version may follow."""
    words = _slug(source)
    keys = [key for key in bibliography() if f"{words}-".startswith(f"{key}-")]
    return max(keys, key=len, default=None)


def _slug(source: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", source.lower()).strip("-")


def _software() -> str:
    from tcpcc import __version__

    return (
        "% the simulator\n@software{tcpcc,\n  author = {{The tcpcc developers}},\n"
        "  title = {{tcpcc: TCP congestion control written once, simulated as packets and as"
        f" fluid}}}},\n  version = {{{__version__}}}\n}}\n"
    )


def _flows(scenario: Scenario) -> list[Flow]:
    every = (*scenario.flows, *(load.flow for load in scenario.workloads))
    return [flow for flow in every if isinstance(flow, Flow)]


def _used(scenario: Scenario) -> Iterator[tuple[str, str]]:
    """What a scenario uses, in words, and its sources."""
    for definition in definitions(scenario):
        yield f"{type(definition).registry.kind} {definition.name}", definition.source
    for flow in _flows(scenario):
        for setting in flow.transport.sources(flow.recovery or flow.definition.recovery):
            yield "sender", setting
    for load in scenario.workloads:
        sizes = {kind.size for kind in load.conversations}
        if sizes & {kind.size for kind in tcplib.CONVERSATIONS}:
            yield f"workload {load.name or 'of tcplib'}", tcplib.SOURCE
        if Distribution(**WEB_SIZE) in sizes:
            yield f"workload {load.name or 'web'}", WEB_SOURCE
