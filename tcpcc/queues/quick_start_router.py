"""Quick-Start's router: it approves, reduces or denies the rates that senders ask for in their SYN.

Source: S. Floyd, M. Allman, A. Jain, P. Sarolahti, "Quick-Start for TCP and IP", RFC 4782, 2007;
ns-2.35's ``Agent/QSAgent`` with its ``algorithm_`` 3. The sender, and what the words of a packet
are: :mod:`tcpcc.slow_start.quick_start`.

A request N >= 1 asks for

(1)  R = 40 kb/s 2^N,    N <= 15

When one arrives, with C the link's rate, u its utilization and A what was approved of late:

(2)  u C + A < threshold C:   approved <- min(R, allocation C - u C - A);  else nothing
(3)  A <- A + approved, rounded down to a rate that can be told
(4)  the packet goes on with the largest N that (1) gives at most `approved`, and one approval more;
     where nothing is left, with none

u is the largest of the link's last five utilizations over `interval` (a longer one if the link was
busy or idle all the time); A counts the approvals of the running slot and the last one, each of
`slot` seconds: those of flows whose packets u does not show yet. All else is drop-tail.

Differences from the RFC
    None in what it requires; how u is measured is left to routers there, and here is ns-2's. Its
    one threshold is two, as in ns-2.
Differences from ns-2
    There it sits in a node, for all of its links; here in a link's queue. Rates are coded by (1)
    only, as with its ``rate_function_`` 2, and with `rounded` = 0 approvals count as they are.
Fluid
    Requests that come at once, of the flows that one stands for, share what is left.
"""

from tcpcc.definition import Param, State, register
from tcpcc.queues.discipline import Discipline

UNIT = 40e3  # bit/s, of (1)
LARGEST = 15  # N
RECORDS = 5  # utilizations kept


def rate_of(code):
    """(1), bit/s; 0 for no request."""
    return UNIT * 2.0**code if code > 0 else 0.0


def code_of(rate):
    """The largest request for at most this rate, bit/s; 0: none is as small."""
    code = 0
    while code < LARGEST and UNIT * 2.0 ** (code + 1) <= rate:
        code += 1
    return float(code)


def note_use(s, p, now, busy):
    """The link was `busy`, 0 or 1, since the last call."""
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
    """What the link did since the last arrival."""
    if q.idle > 0:
        note_use(s, p, max(q.now - q.idle, s.noted_at), 1.0)
        note_use(s, p, q.now, 0.0)


def age_approvals(s, p, now):
    slot = now // p.slot
    if slot > s.slot:
        s.last = s.approved if slot == s.slot + 1 else 0.0
        s.approved = 0.0
        s.slot = slot


def grant(s, p, rate, asked, requests):
    """(2), (3): what is approved of each of so many requests, bit/s."""
    peak = 0.0
    for i in range(RECORDS):
        peak = max(peak, s.uses[i])
    used = peak * rate + s.last + s.approved
    if used >= p.threshold * rate:
        return 0.0
    approved = max(min(asked, (p.allocation * rate - used) / requests), 0.0)
    if p.rounded != 0:
        approved = rate_of(code_of(approved))
    s.approved += approved * requests
    return approved


def on_arrival(s, p, q):
    note_arrival(s, p, q)
    if q.words == 0 or q.word3 <= 0:
        return
    if q.idle == 0:
        note_use(s, p, q.now, 1.0)
    age_approvals(s, p, q.now)
    q.word3 = code_of(grant(s, p, q.rate, rate_of(q.word3), q.arrivals))  # (4)
    if q.word3 > 0:
        q.word1 += 1


QuickStartRouter = register(
    Discipline(
        name="quick_start_router",
        summary="drop-tail that approves the rates with which Quick-Start senders begin",
        source="RFC 4782",
        on_arrival=on_arrival,
        reads_headers=True,
        in_amounts=True,
        params={
            "threshold": Param(
                0.85, "", "share of the rate from which on nothing is approved (ns-2)", 0, 1
            ),
            "allocation": Param(0.85, "", "share of the rate up to which it is approved (ns-2)", 0),
            "slot": Param(0.2, "s", "for how long approvals count, one to two of these", 1e-6),
            "interval": Param(0.2, "s", "over which the utilization is measured (ns-2)", 1e-6),
            "rounded": Param(1, "0 or 1", "approvals count rounded down (RFC); 0: ns-2", 0, 1),
        },
        state={
            "approved": State(0, "bit/s", "approved in this slot"),
            "last": State(0, "bit/s", "approved in the slot before"),
            "slot": State(0, "", "number of this slot"),
            "began": State(0, "s", "when the running measurement began"),
            "noted_at": State(0, "s", "until when it is complete"),
            "use": State(0, "", "utilization since it began"),
            "uses": State(0, "", "utilizations measured last", size=RECORDS),
            "place": State(0, "", "where the next one goes"),
        },
    )
)
