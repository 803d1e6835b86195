"""Bad input, and the one line that it is answered with before anything runs."""

import math
import re
from fractions import Fraction

import networkx as nx
import pytest

import tcpcc as tc
import tcpcc.scenario
from tcpcc.errors import ScenarioError
from tcpcc.queues import RED, DropTail
from tcpcc.scenario import Change, Flow, Link, Scenario, topologies
from tcpcc.scenario.topologies import dumbbell

NAN, INF = math.nan, math.inf
NET = dumbbell("10 Mbps", "20 ms", 50, queue=RED(min_thresh=5, max_thresh=15))


def link(src="a", dst="b", *, rate=1e6, delay=0.01, **more):
    return Link(src, dst, rate=rate, delay=delay, **more)


def scenario(*flows, net=NET, duration=10, **more):
    return Scenario(net, flows or [Flow("reno")], duration=duration, **more)


def change(name="bottleneck", at=5, **what):
    return scenario(changes=[Change(at, name, **what)])


def closing(at=1, flow="f"):
    """A receive window shrinks."""
    return scenario(Flow("vegas", name="f"), changes=[Change(at, flow=flow, rwnd=5)])


def starts_by(rule):
    return Flow("reno", slow_start=rule)


def toml(flow='[[flow]]\ncontroller = "reno"', top="duration = 10", net=None):
    net = net or '[network]\ntopology = "dumbbell"\nrate = "1 Mbps"\ndelay = 0.1\nbuffer = 5'
    return Scenario.from_toml(f"{top}\n{net}\n{flow}\n")


LINK_TABLE = '[[link]]\nsrc = "a"\ndst = "b"\nrate = 1\ndelay = 0\nbuffer = 1\n'
WORKLOAD = '[[workload]]\nflow = { controller = "reno" }\nconversations = "ftp"\n'
CASES = r"""
# links
link(rate=0) -> rate = 0: must be a positive number or inf \(bit/s\)
link(rate="-1 Mbps") -> rate = -1000000: must be a positive
link(rate=NAN) -> rate = nan: must be a number or .*, not NaN
link(rate=10**400) -> rate = 10+\.\.\.: must be a number
link(rate=10**5000) -> rate = a number of more than 4300 digits: must
link(rate=Fraction(10**5000)) -> rate = a number of more than 4300 dig
link(rate=True) -> rate = True: must be a number
link(rate=None) -> rate = None: must be a number
link(rate="10 ms") -> rate = '10 ms': 'ms' is not a unit of rate; allowed
link(rate="1 MB/s") -> rates are in bits, not bytes
Link("a", "b", delay=1) -> Link: missing a required argument: 'rate'
link(dealy=1) -> unknown setting of Link 'dealy': did you mean 'delay'
link(delay=-1) -> delay = -1: must be a non-negative finite .*\(s\)
link(delay=INF) -> delay = inf: must be a non-negative finite number
link(delay="1 Mbps") -> 'Mbps' is not a unit of delay; allowed units: s
link(buffer=0) -> buffer = 0: must be a positive .*\(packets\)
link(buffer=0.5) -> buffer = 0\.5: must be at least 1 \(packets\)
link(buffer="0 kB") -> buffer = 0: must be .*\(bytes\)
link(buffer_unit="byte") -> unknown buffer_unit 'byte': .*'bytes'
link(loss=1) -> loss = 1: must be a probability in \[0, 1\)
link(loss=-0.1) -> loss = -0\.1: must be a probability in \[0, 1\)
link(queue="redd") -> unknown queue 'redd': did you mean 'red'\?
link(queue=5) -> queue = 5: must be a queue discipline
link(queue={"limit": 5}) -> = {'limit': 5}: must be .* with \"name\"
DropTail(limit=5) -> unknown parameter of queue 'droptail' 'limit'
RED(min_thresh=15, max_thresh=5) -> queue 'red': min_thresh = 15 must
RED(min_tresh=5) -> unknown parameter .*'min_tresh': .*'min_thresh'
RED(max_p=10**400) -> queue 'red' max_p = 10+\.\.\.: must be a number
RED(max_p=2) -> queue 'red' max_p = 2: must be a number in
link("a", "a") -> link 'a' > 'a': must connect two different nodes
link("", "b") -> src = '': must be a node name
link(1, "b") -> src = 1: must be a node name
link("a\nb", "b") -> src = 'a\\nb': must be a node name, a string of pr
link(record="yes") -> record = 'yes': must be True or False
Access(0) -> access rate = 0: must be a positive
Access(1e6, -1) -> access delay = -1: must be a non-negative
RED(min_thresh=15) -> queue 'red': min_thresh = 15 must be below max_thresh = 15
RED(max_p=0) -> queue 'red' max_p = 0: must be a number in \[1e-12, 1\]
RED(weight=-2) -> queue 'red' weight = -2: must be a number in \[-1, 1\]
RED(gentle=NAN) -> queue 'red' gentle = nan: must be true or false
# networks
Network([]) -> links: a network needs at least one
Network(["a>b"]) -> links\[0\] = 'a>b': must be Link\(\.\.\.\)
Network([link(name="x"), link("b", "a", name="x")]) -> duplicate link name 'x'
Network([link(), link(name="x")]) -> link 'x': a second link from 'a' to 'b'; put a node between
Network([link("left", "right")], default_path=("left", "rigth"))
    -> unknown node in default_path 'rigth': did you mean 'right'\?
Network([link()], default_path=("a", "b", "c")) -> default_path = .*: must be two nodes
Network([link()], access=1e6) -> access = 1000000: must be an Access
dumbbell(1e7, 0.02) -> dumbbell: missing a required argument: 'buffer'
dumbbell(1e7, 0.02, 5, acess_delay=1) -> did you mean 'access_delay'
chain(0, 1e7, 0.02, 5) -> hops = 0: must be a whole number >= 1
chain(3, [1e7, 2e7], 0.02, 5) -> rate = .*: must be one value, or a list of 3
parking_lot(1, 1e7, 0.02, 5) -> hops = 1: must be a whole number >= 2
from_networkx(nx.MultiGraph()) -> graph: must not be a multigraph
from_networkx(nx.path_graph(2)) -> edge 0 > 1: Link: missing .* 'rate'
from_networkx(nx.Graph()) -> links: a network needs at least one
from_networkx(7) -> graph = 7: must be a networkx Graph or DiGraph
# flows
Flow("vegass") -> unknown controller 'vegass': did you mean 'vegas'\? known:
Flow(5) -> controller = 5: must be a controller or the name of
Flow("vegas", alpa=1)
    -> unknown keyword 'alpa' of Flow\('vegas'\): did you mean 'alpha'\? parameters of 'vegas'
Flow("vegas", packetsize=1)
    -> unknown keyword 'packetsize' of Flow\('vegas'\): did you mean 'packet_size'\?
Flow("reno", zzz=1)
    -> unknown keyword 'zzz' of Flow\('reno'\); parameters of 'reno': integer_ssthresh,
    integer_window; settings of Flow:
Flow("vegas", params={"alpa": 1})
    -> unknown parameter of controller 'vegas' 'alpa': did you mean 'alpha'\?
Flow("vegas", params=5) -> params = 5: must be a mapping of names
Flow("vegas", alpha="x") -> alpha = 'x': must be a number
Flow("vegas", alpha=NAN) -> alpha = nan: must be a number
Flow("vegas", alpha=-1) -> alpha = -1.*: must be a number in
Flow("vegas", alpha=4, beta=2) -> alpha = 4 exceeds beta = 2
Flow("reno", recovery=["sack"]) -> unknown recovery \['sack'\]
Flow("reno", recovery="newrenno") -> unknown recovery 'newrenno': did you mean 'newreno'\?
Flow("reno", start=-1) -> start = -1: must be a non-negative finite
Flow("reno", start=2, stop=2) -> stop = 2: must be later than start = 2 \(s\)
Flow("reno", size=0) -> size = 0: must be a whole number >= 1 \(pack
Flow("reno", size="0 kB") -> size = 0: must be a positive .*\(bytes
Flow("reno", size=2.5) -> size = 2\.5: must be a whole number >= 1
Flow("reno", size=INF) -> size = inf: must be a whole number >= 1
Flow("reno", packet_size=40, header=40)
    -> header = 40: must be smaller than packet_size = 40 \(bytes\)
Flow("reno", packet_size=0) -> packet_size = 0: must be a whole
Flow("reno", packet_size="1 ms") -> 'ms' is not a unit of packet_size
Flow("reno", ack_size=-1) -> ack_size = -1: must be a whole number
Flow("reno", path=["a", "b", "a"]) -> path = \['a', 'b', 'a'\]: goes through node 'a' twice
Flow("reno", path=["a"]) -> path = \['a'\]: must be a list of at least
Flow("reno", path="ab") -> path = 'ab': must be a list of at least two
Flow("reno", path=["a", "b"], source="b") -> source = 'b': path has 'a' there
Flow("reno", source="a", target="a") -> target = 'a': must be another node than source
Flow("reno", transport=5) -> transport = 5: must be a Transport
Flow("reno", transport={"min_rtoo": 1})
    -> unknown setting of Transport 'min_rtoo': did you mean 'min_rto'\?
Flow("reno", name="") -> name = '': must be a name
Flow("reno", access_delay="1") -> access_delay = '1': has no unit
CBR(INF) -> rate = inf: must be a positive finite number \(bit/s\)
CBR(1, on=[(5, 6), (1, 2)])
    -> on: from = 1: must not be before the end of the pair before it, 6 \(s\)
CBR(1, on=[(1, 5), (4, 6)]) -> on: from = 4: must not be before .* 5
CBR(1, on=[(1, None), (4, 6)]) -> before it, the end of the run
CBR(1, on=[(2, 1)]) -> on: \(2, 1\): must end later than it begins
CBR(1, on=(0, 5)) -> on = \(0, 5\): must be a list of \(from, to\)
CBR(1, on=[]) -> on = \[\]: must be a list of \(from, to\) pairs
CBR(1, alpha=1) -> unknown setting of CBR 'alpha'
Flow("reno", count=0) -> count = 0: must be a whole number >= 1
Flow("reno", count=2.5) -> count = 2.5
Flow("reno", jitter=-1) -> jitter = -1
Flow("reno", start=1, jitter=2, stop=2.5) -> stop = 2.5: must be later than
scenario(Flow("reno", start=9, jitter=2))
    -> jitter = 2: start \+ jitter must be at most the duration
Flow("reno", writes=5) -> writes = 5: must be a list of \(time, size\) pairs
Flow("reno", writes=[(1, 2, 3)]) -> must be a list of \(time, size\) pairs
Flow("reno", writes=[(-1, 3)]) -> writes: time = -1
Flow("reno", writes=[(0, 0)]) -> writes: size = 0
Flow("reno", writes=[(0, "3 s")]) -> 's' is not a unit of writes: size
Flow("reno", writes=[(2, 3), (2, 3)])
    -> writes: time = 2: must be later than the one before it, 2 \(s\)
Flow("reno", writes=[(0, None), (2, 3)]) -> writes: time = 2: the size before it has no end
Flow("reno", size=4, writes=[(0, 3)]) -> size = 4: must be left out with writes
Flow("reno", start=1, stop=4, writes=[(0, 3), (3, 3)])
    -> stop = 4: must be later than the last of writes, 4 \(s\)
scenario(Flow("reno", writes=[(0, 3), (10, 3)]))
    -> writes: the last at 10: must be before the end, duration = 10 \(s\)
Workload(Flow("reno", writes=[(0, 3)]), Conversation(1), interarrival=1) -> must be left out
# parameters of controllers and slow starts
vegas.check({"alfa": 1})
    -> unknown parameter of controller 'vegas' 'alfa': did you mean 'alpha'\?
vegas.check({"alpha": -1}) -> controller 'vegas' alpha = -1: must be a number in \[0, inf\] \(pac
vegas.check({"alpha": NAN}) -> alpha = nan: must be a number
vegas.check({"alpha": True}) -> alpha = True: must be a number
vegas.check({"alpha": "2"}) -> alpha = '2': must be a number
vegas.check({"integer_delta": 2}) -> integer_delta = 2: must be true or false
vegas.check({"alpha": 4}) -> controller 'vegas': alpha = 4 exceeds beta = 3
starts_by("hystrat") -> unknown slow start 'hystrat': did you mean 'hystart'\?
starts_by({"name": "limited", "max": 1}) -> parameter of slow start 'limited'
starts_by({"name": "limited", "max_ssthresh": 0}) -> slow start 'limited' max_ssthresh = 0
starts_by({"name": "hystart", "rtt_thresh_min": 1}) -> rtt_thresh_min = 1 exceeds
starts_by({"name": "standard", "gain": 1}) -> parameter of slow start 'standard'
starts_by({"name": 3}) -> unknown slow start 3
starts_by({"max_ssthresh": 50}) -> slow_start = .*must be
starts_by(7) -> slow_start = 7
# transports
Transport(delayed_acks=1)
    -> unknown setting of Transport 'delayed_acks': did you mean 'delayed_ack'\?
Transport(initial_window=0.9) -> initial_window = 0\.9: must be at
Transport(initial_window=0) -> initial_window = 0: must be a positive fin
Transport(handshake=1) -> handshake = 1: must be True or False
Transport(min_rto=2, max_rto=1) -> min_rto = 2: must be at most max_rto = 1
Transport(min_rto="2 B") -> min_rto = '2 B': 'B' is not a unit of min_rto
Transport(dupack_threshold=2.5) -> dupack_threshold = 2\.5: must be a whole
Transport(rwnd=NAN) -> rwnd = nan: must be a positive number or inf
Transport(rwnd=0.5) -> rwnd = 0\.5: must be at least 1 \(packets\)
Transport(delay_growth=True) -> delay_growth = True: needs handshake =
# scenarios
Scenario(NET, [], duration=1) -> flows: a scenario needs at least one
scenario("reno") -> flows\[0\] = 'reno': must be Flow\(.*or CBR
scenario(net="dumbbell") -> net = 'dumbbell': must be a Network, such as tc\.
scenario(duration=0) -> duration = 0: must be a positive finite .*\(s
scenario(duration=INF) -> duration = inf: must be a positive finite
Scenario(NET, [Flow("reno")]) -> Scenario: missing .* 'duration'
scenario(seed=-1) -> seed = -1: must be a whole number >= 0
scenario(seed=1.5) -> seed = 1\.5: must be a whole number >= 0
scenario(interval=11) -> interval = 11: must be at most duration = 10
scenario(interval=0) -> interval = 0: must be a positive finite
scenario(interval=1e-9) -> interval = 1e-09: must be at least dura
scenario(Flow("reno", start=10))
    -> flow 'reno1': start = 10: must be before the end, duration = 10 \(s\)
scenario(CBR(1, on=[(1, 2), (12, 13)])) -> flow 'cbr1': on: from = 12: must be before the end
scenario(Flow("reno", name="vegas2"), Flow("vegas"))
    -> duplicate flow name 'vegas2': give each flow its own
scenario(Flow("reno", name="f", access_delay=1), net=Network([link(name="f:access"), link("b",
    "a")], default_path=("a", "b")))
    -> duplicate link name 'f:access': an access link has this name
scenario(Flow("reno", source="lfet"))
    -> flow 'reno1': unknown source node 'lfet': did you mean 'left'\?
scenario(net=Network([link(), link("b", "a")]))
    -> flow 'reno1': no source: set it, or give the network a default_path
scenario(Flow("reno", source="right"))
    -> flow 'reno1': source and target are both 'right': must be two nodes
scenario(Flow("reno", path=["left", "middle", "right"]))
    -> flow 'reno1': unknown node in path 'middle'; known: left, right
scenario(Flow("reno", path=["r0", "r2"]), net=chain(2, 1e6, 0.1, 5))
    -> flow 'reno1': path: there is no link from 'r0' to 'r2'; from 'r0' links lead to 'r1'
scenario(net=Network([link(), link("c", "d")], default_path=("a", "d")))
    -> flow 'reno1': no path from 'a' to 'd'
scenario(net=Network([link()], default_path=("a", "b")))
    -> flow 'reno1': no reverse path: there is no link from 'b' to 'a'; .* nowhere
scenario(Flow("reno", ack_path=["left", "right"]))
    -> flow 'reno1': ack_path = .*: must lead from 'right' to 'left'
scenario(net=Network([link(rate=INF, delay=0), link("b", "a", rate=INF, delay=0)],
    default_path=("a", "b")))
    -> flow 'reno1': its RTT is 0: give a link a delay or a finite rate
change("bottelneck", rate=1) -> unknown link in change 'bottelneck': did you mean 'bottleneck'\?
change(at=10, rate=1)
    -> change of link 'bottleneck' at 10: must be before the end, duration = 10 \(s\)
change() -> change of link 'bottleneck' at 5: changes nothing
change(at=-1, rate=1) -> at = -1: must be a non-negative
change(rate=-1) -> rate = -1: must be a non-neg
change(loss=1) -> loss = 1: must be a probability in \[0, 1\)
change(buffer="1 kB") -> change of link 'bottleneck': its buffer is counted in packets, not bytes
change(queue={"max_tresh": 20})
    -> change of link 'bottleneck' at 5: unknown parameter of .*'max_tresh': .*'max_thresh'
change(queue={"max_thresh": 4})
    -> change of link 'bottleneck' at 5: queue 'red': min_thresh = 5 must be below max_thresh
change("bottleneck<", queue={"max_thresh": 4})
    -> at 5: unknown parameter of queue 'droptail' 'max_thresh'; known: none
scenario(changes=5) -> changes = 5: must be a list of Change\(\.\.\.
scenario().replace(durration=1) -> setting of Scenario 'durration': did
change(reordering=True) -> unknown setting of Change 'reordering'
change("bottleneck<", jitter_share=0.5) -> jitter_share = 0.5: the link has no jitter at that time
change(jitter=-1) -> jitter = -1
change(jitter=1, jitter_share=0) -> for no jitter set jitter = 0
Change(1, rwnd=5) -> change at 1: give either a link or a flow
Change(1, "a", flow="f", rwnd=5) -> give either a link or a flow
Change(1, "a", rwnd=5) -> rwnd needs a flow, not a link
Change(1, flow="f") -> change of flow 'f' at 1: give an rwnd and nothing else
Change(1, flow="f", rwnd=5, rate=3) -> give an rwnd and nothing else
Change(1, flow="f", rwnd=0) -> rwnd = 0
Change(1, flow="f", rwnd=0.5) -> rwnd = 0.5: must be at least 1 \(packets\)
closing(at=10) -> change of flow 'f' at 10: must be before the end
closing(flow="g") -> unknown flow in change 'g'
scenario(CBR(1e6, name="c"), changes=[Change(1, flow="c", rwnd=5)])
    -> change of flow 'c': a CBR source has no rwnd
tc.analysis.equilibrium(closing()) -> change of flow 'f' at 1: the analysis
rate_series("x", [1, -1], interval=1) -> rates =
rate_series("x", [], interval=1) -> rates =
rate_series("x", [1, 2]) -> an interval or times
rate_series("x", [1, 2], times=[1, 1]) -> times =
cellular("x", until=60, most=0) -> most = 0
cellular("x", until=60, silence=-1) -> silence = -1
cellular("x", until=60, seed=1.5) -> seed = 1.5
cellular("x", until=60, interval=1e-9) -> interval
# workloads
Distribution("paretto", b=1) -> unknown distribution 'paretto': did you mean 'pa
Distribution("pareto") -> b missing
Distribution("pareto", b=1, c=2) -> unknown parameter of distribution 'pareto'
Distribution("pareto", b=-1) -> out of its range
Distribution("norm") -> must not be negative
Empirical([2, 1], [0.5, 1]) -> values = \[2.0, 1.0\]: must be in ascending order
Empirical([1, 2], [0.5, 0.9]) -> ending with 1
Conversation("big") -> size = 'big': must be a number and a unit
Conversation(10, items=None) -> gap = 0: must be a positive time
Conversation(10, lasting=3, gap=1) -> lasting: needs waits=False
Workload("reno", [], interarrival=1) -> conversations = \[\]: must be
Workload("reno", Conversation(1), interarrival=0) -> interarrival = 0
Workload(Flow("reno", size=3), Conversation(1), interarrival=1) -> size = 3: must be left out
scenario(Flow("reno", name="web"),
    workloads=[web("reno", rate=1, name="w"), web("reno", rate=1, name="web")])
    -> duplicate flow name 'web'
# toml
toml(top="duration = ") -> not TOML: .*line 1
toml(top="duraton = 5") -> unknown key 'duraton': did you mean 'duration'\?
toml(top="") -> Scenario: missing a required argument: 'duration'
toml(flow="") -> flows: a scenario needs at least one
toml(net='[network]\ntopology = "dumbell"') -> unknown topology 'dumbell': did you mean 'dumbbell'\?
toml(net='[network]\ntopology = "dumbbell"\nspeed = 1')
    -> network: unknown setting of dumbbell 'speed'
toml(net='[network]\nrate = 1\ntopolgy = "dumbbell"')
    -> network: unknown setting of Network 'topolgy': did you mean 'topology'\? known: access,
    default_path, topology
toml(net=LINK_TABLE + 'queue = { max_p = 0.1, nam = "red" }')
    -> link 1: queue = {'max_p': 0\.1, 'nam': 'red'}: unknown key 'nam': did you mean 'name'\?
toml(flow='[[flow]]\ncontroller = "reno"\nslow_start = { nme = "limited" }')
    -> flow 1: slow_start = {'nme': 'limited'}: unknown key 'nme': did you mean 'name'\?
toml(flow=WORKLOAD + 'interarrival = { nam = "expon" }')
    -> workload 1: .*interarrival = {'nam': 'expon'}: unknown key 'nam': did you mean 'name'\?
toml(flow=WORKLOAD + 'interarrival = { valus = [1, 2] }')
    -> workload 1: .*interarrival = {'valus': \[1, 2\]}: unknown key 'valus': .* 'values'\?
toml(net="[network]\ntopology = [1]") -> unknown topology \[1\]; known: chain, dumbbell
toml(net='[network]\ntopology = "dumbbell"\n[[link]]\nsrc = "a"')
    -> network: give a topology or \[\[link\]\] tables, not both
toml(net="[network]") -> network: set a topology \(dumbbell, chain, park
toml(net="[network]\ndefault_pth = 1")
    -> network: unknown setting of Network 'default_pth': did you mean 'default_path'\?
toml(net='[[link]]\nsrc = "a"\ndst = "b"\nrat = 1')
    -> link 1: unknown setting of Link 'rat': did you mean 'rate'\?
toml(net="[network]\naccess = 5") -> network: access = 5: must be a table
toml(flow='[[flow]]\ncontroller = "reno"\n[[flow]]\ncontroller="reno"\nstrt=1')
    -> flow 2: unknown keyword 'strt' of Flow\('reno'\): did you mean 'start'\?
toml(flow='[[flow]]\ncontroler = "cubic"')
    -> flow 1: unknown setting of Flow 'controler': did you mean 'controller'\?
toml(flow="[[flow]]") -> flow 1: Flow: missing .* 'controller'
toml(top="duration = 10\nflow = 5", flow="") -> flow = 5: must be a tab
toml(net='[transport]\nmin_rt = 1\n[network]\ntopology = "dumbbell"\n' "rate = 1\ndelay = 1\nbuffer
    = 1")
    -> flow 1: unknown setting of Transport 'min_rt': did you mean 'min_rto'\?
toml(flow="[[cbr]]\nrate = 1\nposition = 3")
    -> cbr: position = 3: must be at most 1, the next free position
toml(flow="[[cbr]]\nrate = 1\nposition = 0") -> cbr 1: position = 0: must be a whole number >= 1
toml(flow='[[flow]]\ncontroller = "reno"\nparams = { integer_windw = true }')
    -> flow 1: unknown parameter of controller 'reno' 'integer_windw': .* 'integer_window'\?
toml(flow="[[cbr]]\nrate = 1\npostion = 3")
    -> cbr 1: unknown setting of CBR 'postion': did you mean 'position'\?
toml(flow='[[change]]\nat = 1\nlnk = "a"')
    -> change 1: unknown setting of Change 'lnk': did you mean 'link'\?
Scenario.load("no such file.toml") -> scenario file 'no such file\.toml': No such file or directory
scenario().save("no such folder/x.toml")
    -> cannot write 'no such folder/x\.toml': no such folder: no such directory
"""
"""What a user writes -> what the error says, as a regular expression."""

ROWS = [
    " ".join(row.split("\n    "))
    for row in re.split(r"\n(?=\S)", CASES.strip())
    if not row.startswith("#")
]
MODULES = (tcpcc.scenario, topologies, tc.workloads, tc.changes)
NAMES = {name: value for module in MODULES for name, value in vars(module).items()} | {
    "Fraction": Fraction, "RED": RED, "DropTail": DropTail, "nx": nx,
    "vegas": tc.controllers["vegas"],
}  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=[row.split(" -> ")[0] for row in ROWS])
def test_bad_input_is_answered_in_one_line(row):
    written, message = row.split(" -> ")
    with pytest.raises(ScenarioError, match=message) as caught:
        eval(written, NAMES | globals())
    assert len(str(caught.value).splitlines()) == 1
    assert isinstance(caught.value, ValueError)
