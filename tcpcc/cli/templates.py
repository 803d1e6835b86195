"""Template files: ``tcpcc new controller``, ``scenario``, ``paper``."""

from __future__ import annotations

from pathlib import Path

from tcpcc.errors import ScenarioError
from tcpcc.files import whole_file

CONTROLLER = '''"""{title}: a description in one line.

Source: authors, "title", where, year.

Equations (per newly acknowledged packet; W = cwnd, in packets)

(1)  slow start,            W < ssthresh:   W <- W + 1
(2)  congestion avoidance,  W >= ssthresh:  W <- W + a/W
(3)  loss:                  W <- (1 - b) W,  ssthresh <- W
(4)  timeout:               ssthresh <- W/2, then W <- 1

Differences from the paper
    None known.

Try it: tcpcc run scenario.toml --import {file}
"""

import tcpcc as tc


def on_ack(s, p, ack):
    if s.cwnd < s.ssthresh:
        s.cwnd += ack.acked  # (1)
    else:
        s.cwnd += p.a * ack.acked / s.cwnd  # (2)


def on_loss(s, p, ack):
    s.cwnd = max((1 - p.b) * ack.window, 2.0)  # (3)
    s.ssthresh = s.cwnd


def on_timeout(s, p, ack):
    s.ssthresh = max(ack.window / 2, 2.0)
    s.cwnd = 1.0  # (4)


{name} = tc.register(
    tc.Controller(
        name="{name}",
        summary="W + a/W per packet, (1 - b) W on a loss",
        source="",
        on_ack=on_ack,
        on_loss=on_loss,
        on_timeout=on_timeout,
        params={{
            "a": tc.Param(1.0, "packets", "increase per round trip", 0),
            "b": tc.Param(0.5, "", "relative reduction of the window on a loss", 0, 1),
        }},
        recovery="sack",
    )
)
'''

SCENARIO = """# tcpcc run {file}
duration = "60 s"
seed = 1

[network]
topology = "dumbbell"       # or chain, parking_lot
rate = "10 Mbps"
delay = "20 ms"
buffer = 50                 # packets
# queue = {{ name = "red", min_thresh = 5, max_thresh = 15 }}

[[flow]]
controller = "cubic"        # tcpcc list controllers

[[flow]]
controller = "reno"
start = 10

# [[cbr]]
# rate = "2 Mbps"
# on = [[20, 40]]

# [[change]]
# at = 30
# link = "bottleneck"
# rate = "5 Mbps"
"""

PAPER = '''"""{title}: one function for each experiment. Run it: python {file}

Source: authors, "title", where, year.
"""

import tcpcc as tc

#: Published values by name.
PUBLISHED = {{"reno, Jain index": 1.0}}


def table_1(seed):
    """Two flows on one link, as in the paper's section ..."""
    net = tc.dumbbell(rate="10 Mbps", delay="20 ms", buffer=50)
    return tc.Scenario(net, [tc.Flow("reno"), tc.Flow("reno", start=1)], duration=60, seed=seed)


if __name__ == "__main__":
    found = tc.sweep(
        table_1, {{"jain": lambda run: run.jain_index(after=10)}}, seed=range(1, 6)
    )
    print(found)
    print("published:", PUBLISHED)
'''

TEMPLATES = {
    "controller": (CONTROLLER, ".py"),
    "scenario": (SCENARIO, ".toml"),
    "paper": (PAPER, ".py"),
}


def write(kind: str, name: str) -> Path:
    """Write a template file of the given kind and name to the current folder; return its path.

    Raises:
        ScenarioError: the name is not an identifier, or the file exists.
    """
    text, suffix = TEMPLATES[kind]
    if not name.isidentifier():
        raise ScenarioError(f"name = {name!r}: must be letters, digits and _, such as 'my_{kind}'")
    path = Path(name + suffix)
    if path.exists():
        raise ScenarioError(f"{path}: already exists")
    filled = text.format(name=name, title=name.replace("_", " ").capitalize(), file=path)
    with whole_file(path) as part:
        part.write_text(filled, encoding="utf-8")
    return path
