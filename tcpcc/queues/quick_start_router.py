"""Quick-Start's router: approves, reduces or denies the rates that senders ask for in their SYN.

Source: S. Floyd, M. Allman, A. Jain, P. Sarolahti, "Quick-Start for TCP and IP", RFC 4782, 2007;
ns-2.35's ``Agent/QSAgent`` with its ``algorithm_`` 3. The sender and the header fields of a packet
are in :mod:`tcpcc.slow_start.quick_start`.

A request N >= 1 asks for

(1)  R = 40 kb/s 2^N,    N <= 15

When a request arrives, with C the link's rate, u its utilization and A the recent approvals:

(2)  u C + A < threshold C:   approved <- min(R, allocation C - u C - A);  else 0
(3)  A <- A + approved, rounded down to a rate of (1)
(4)  the packet continues with the largest N whose rate (1) is at most `approved`, and one approval
     more; or with N = 0 and no further approval

u is the largest of the link's last five utilizations over `interval` (a longer one if the link was
busy or idle all the time). A counts the approvals of the current and the previous slot, each of
`slot` seconds: u does not yet show the packets of these flows. Otherwise the queue is drop-tail.

Differences from the RFC
    None in its requirements. It leaves the measurement of u to routers; this one is ns-2's. Its one
    threshold is two (`threshold`, `allocation`), as in ns-2.
Differences from ns-2
    In ns-2 a node has one agent for all its links; here each link's queue has its own. Rates are
    coded by (1) only, as with ns-2's ``rate_function_`` 2. With `rounded` = 0 approvals count in A
    without rounding.
Fluid
    Simultaneous requests, of the flows that one flow stands for, share the remaining rate.
"""

from tcpcc.definition import Flag, Param, State, register
from tcpcc.queues.discipline import Discipline

UNIT = 40e3  # bit/s; unit of (1)
LARGEST = 15  # largest N
RECORDS = 5  # number of utilizations kept


def rate_of(code):
    """(1), bit/s; 0 for no request."""
    return UNIT * 2.0**code if code > 0 else 0.0


def code_of(rate):
    """Largest N with a rate of at most `rate`, bit/s; 0 if there is none."""
    code = 0
    while code < LARGEST and UNIT * 2.0 ** (code + 1) <= rate:
        code += 1
    return float(code)


def note_use(s, p, now, busy):
    """Update the utilization: the link was `busy` (0 or 1) since the last call."""
    time, before = now - s.noted_at, s.noted_at - s.began
    s.noted_at = now
    if time + before <= 0:
        return
    s.use = (busy * time + s.use * before) / (time + before)
    for _ in range(RECORDS):
        if before + time <= p.interval:
            return
        s.began = now
        s.uses[int(s.place)] = s.use
        s.place = (s.place + 1) % RECORDS
        s.use = busy
        time -= p.interval


def note_arrival(s, p, q):
    """Update the utilization with the link's busy and idle time, if it is idle at this arrival."""
    if q.idle > 0:
        note_use(s, p, max(q.now - q.idle, s.noted_at), 1.0)
        note_use(s, p, q.now, 0.0)


def age_approvals(s, p, now):
    slot = now // p.slot
    if slot > s.slot:
        s.last = s.approved if slot == s.slot + 1 else 0.0
        s.approved = 0.0
        s.slot = slot


def grant(s, p, rate, requested, requests):
    """(2), (3): rate approved for each of `requests` requests, bit/s."""
    peak = 0.0
    for i in range(RECORDS):
        peak = max(peak, s.uses[i])
    used = peak * rate + s.last + s.approved
    if used >= p.threshold * rate:
        return 0.0
    approved = max(min(requested, (p.allocation * rate - used) / requests), 0.0)
    if p.rounded:
        approved = rate_of(code_of(approved))
    s.approved += approved * requests
    return approved


def on_arrival(s, p, q):
    note_arrival(s, p, q)
    if q.words == 0 or q.qs_request <= 0:
        return
    if q.idle == 0:
        note_use(s, p, q.now, 1.0)
    age_approvals(s, p, q.now)
    q.qs_request = code_of(grant(s, p, q.rate, rate_of(q.qs_request), q.arrivals))  # (4)
    if q.qs_request > 0:
        q.qs_approvals += 1


QuickStartRouter = register(
    Discipline(
        name="quick_start_router",
        summary="drop-tail that approves the rates with which Quick-Start senders begin",
        source="RFC 4782",
        on_arrival=on_arrival,
        header={"qs_request": 1, "qs_approvals": 1},
        in_amounts=True,
        params={
            "threshold": Param(
                0.85, "", "share of the rate from which no request is approved (ns-2)", 0, 1
            ),
            "allocation": Param(0.85, "", "share of the rate that approvals may fill (ns-2)", 0),
            "slot": Param(0.2, "s", "approvals count for one to two slots of this length", 1e-6),
            "interval": Param(0.2, "s", "time over which the utilization is measured (ns-2)", 1e-6),
            "rounded": Flag(True, "approvals count rounded down (RFC); false: ns-2"),
        },
        state={
            "approved": State(0, "bit/s", "approved in this slot"),
            "last": State(0, "bit/s", "approved in the previous slot"),
            "slot": State(0, "", "number of this slot"),
            "began": State(0, "s", "start of the current measurement"),
            "noted_at": State(0, "s", "time of its last update"),
            "use": State(0, "", "utilization in the current measurement"),
            "uses": State(0, "", "last utilizations measured", size=RECORDS),
            "place": State(0, "", "index of the next one"),
        },
    )
)
