"""Bad input, and the one line that it is answered with before anything runs."""

import math
from fractions import Fraction

import pytest

from tcpcc.errors import ScenarioError
from tcpcc.queues import RED, DropTail
from tcpcc.scenario import CBR, Access, Change, Flow, Link, Network, Scenario, Transport
from tcpcc.scenario.topologies import chain, dumbbell

NAN, INF = math.nan, math.inf
NET = dumbbell("10 Mbps", "20 ms", 50, queue=RED(min_thresh=5, max_thresh=15))


def link(src="a", dst="b", *, rate=1e6, delay=0.01, **more):
    return Link(src, dst, rate=rate, delay=delay, **more)


def scenario(*flows, net=NET, duration=10, **more):
    return Scenario(net, flows or [Flow("reno")], duration=duration, **more)


def change(name="bottleneck", at=5, **what):
    return scenario(changes=[Change(at, name, **what)])


def toml(flow='[[flow]]\ncontroller = "reno"', top="duration = 10", net=None):
    net = net or '[network]\ntopology = "dumbbell"\nrate = "1 Mbps"\ndelay = 0.1\nbuffer = 5'
    return Scenario.from_toml(f"{top}\n{net}\n{flow}\n")


LINKS = {
    "rate 0": (lambda: link(rate=0), r"rate = 0: must be a positive number or inf \(bit/s\)"),
    "rate < 0": (lambda: link(rate="-1 Mbps"), r"rate = -1000000: must be a positive"),
    "rate NaN": (lambda: link(rate=NAN), r"rate = nan: must be a number or .*, not NaN"),
    "rate huge": (lambda: link(rate=10**400), r"rate = 10+\.\.\.: must be a number"),
    "rate vast": (lambda: link(rate=10**5000), r"rate = a number of more than 4300 digits: must"),
    "rate ratio": (lambda: link(rate=Fraction(10**5000)), r"rate = a number of more than 4300 dig"),
    "rate True": (lambda: link(rate=True), r"rate = True: must be a number"),
    "rate None": (lambda: link(rate=None), r"rate = None: must be a number"),
    "rate unit": (
        lambda: link(rate="10 ms"),
        r"rate = '10 ms': 'ms' is not a unit of rate; allowed",
    ),
    "rate bytes": (lambda: link(rate="1 MB/s"), r"rates are in bits, not bytes"),
    "no rate": (lambda: Link("a", "b", delay=1), r"Link: missing a required argument: 'rate'"),
    "no setting": (lambda: link(dealy=1), r"unknown setting of Link 'dealy': did you mean 'delay'"),
    "delay < 0": (lambda: link(delay=-1), r"delay = -1: must be a non-negative finite .*\(s\)"),
    "delay inf": (lambda: link(delay=INF), r"delay = inf: must be a non-negative finite number"),
    "delay unit": (
        lambda: link(delay="1 Mbps"),
        r"'Mbps' is not a unit of delay; allowed units: s",
    ),
    "buffer 0": (lambda: link(buffer=0), r"buffer = 0: must be a positive .*\(packets\)"),
    "buffer < 1": (lambda: link(buffer=0.5), r"buffer = 0\.5: must be at least 1 \(packets\)"),
    "buffer 0 B": (lambda: link(buffer="0 kB"), r"buffer = 0: must be .*\(bytes\)"),
    "buffer unit": (lambda: link(buffer_unit="byte"), r"unknown buffer_unit 'byte': .*'bytes'"),
    "loss 1": (lambda: link(loss=1), r"loss = 1: must be a probability in \[0, 1\)"),
    "loss < 0": (lambda: link(loss=-0.1), r"loss = -0\.1: must be a probability in \[0, 1\)"),
    "queue": (lambda: link(queue="redd"), r"unknown queue 'redd': did you mean 'red'\?"),
    "queue kind": (lambda: link(queue=5), r"queue = 5: must be a queue discipline"),
    "queue table": (lambda: link(queue={"limit": 5}), r"= {'limit': 5}: must be .* with \"name\""),
    "RED order": (lambda: RED(min_thresh=15, max_thresh=5), r"queue 'red': min_thresh = 15 must"),
    "RED name": (lambda: RED(min_tresh=5), r"unknown parameter .*'min_tresh': .*'min_thresh'"),
    "RED huge": (lambda: RED(max_p=10**400), r"queue 'red' max_p = 10+\.\.\.: must be a number"),
    "RED range": (lambda: RED(max_p=2), r"queue 'red' max_p = 2: must be a number in"),
    "loop": (lambda: link("a", "a"), r"link 'a' > 'a': must connect two different nodes"),
    "no node": (lambda: link("", "b"), r"src = '': must be a node name"),
    "node kind": (lambda: link(1, "b"), r"src = 1: must be a node name"),
    "new line": (lambda: link("a\nb", "b"), r"src = 'a\\nb': must be a node name, a string of pr"),
    "record": (lambda: link(record="yes"), r"record = 'yes': must be True or False"),
    "access rate": (lambda: Access(0), r"access rate = 0: must be a positive"),
    "access delay": (lambda: Access(1e6, -1), r"access delay = -1: must be a non-negative"),
}

NETWORKS = {
    "no link": (lambda: Network([]), r"links: a network needs at least one"),
    "not links": (lambda: Network(["a>b"]), r"links\[0\] = 'a>b': must be Link\(\.\.\.\)"),
    "same name": (
        lambda: Network([link(name="x"), link("b", "a", name="x")]),
        r"duplicate link name 'x'",
    ),
    "parallel": (
        lambda: Network([link(), link(name="x")]),
        r"link 'x': a second link from 'a' to 'b'; put a node between",
    ),
    "default_path": (
        lambda: Network([link("left", "right")], default_path=("left", "rigth")),
        r"unknown node in default_path 'rigth': did you mean 'right'\?",
    ),
    "default_path of 3": (
        lambda: Network([link()], default_path=("a", "b", "c")),
        r"default_path = .*: must be two nodes",
    ),
    "access": (lambda: Network([link()], access=1e6), r"access = 1000000: must be an Access"),
}

FLOWS = {
    "controller": (
        lambda: Flow("vegass"),
        r"unknown controller 'vegass': did you mean 'vegas'\? known: ",
    ),
    "controller kind": (lambda: Flow(5), r"controller = 5: must be a controller or the name of"),
    "parameter": (
        lambda: Flow("vegas", alpa=1),
        r"unknown keyword 'alpa' of Flow\('vegas'\): did you mean 'alpha'\? parameters of 'vegas'",
    ),
    "setting": (
        lambda: Flow("vegas", packetsize=1),
        r"unknown keyword 'packetsize' of Flow\('vegas'\): did you mean 'packet_size'\?",
    ),
    "nothing near": (
        lambda: Flow("reno", zzz=1),
        r"unknown keyword 'zzz' of Flow\('reno'\); parameters of 'reno': integer_ssthresh, "
        r"integer_window; settings of Flow:",
    ),
    "in params": (
        lambda: Flow("vegas", params={"alpa": 1}),
        r"unknown parameter of controller 'vegas' 'alpa': did you mean 'alpha'\?",
    ),
    "params kind": (lambda: Flow("vegas", params=5), r"params = 5: must be a mapping of names"),
    "parameter value": (lambda: Flow("vegas", alpha="x"), r"alpha = 'x': must be a number"),
    "parameter NaN": (lambda: Flow("vegas", alpha=NAN), r"alpha = nan: must be a number"),
    "parameter range": (lambda: Flow("vegas", alpha=-1), r"alpha = -1.*: must be a number in"),
    "alpha > beta": (lambda: Flow("vegas", alpha=4, beta=2), r"alpha = 4 exceeds beta = 2"),
    "recovery kind": (lambda: Flow("reno", recovery=["sack"]), r"unknown recovery \['sack'\]"),
    "recovery": (
        lambda: Flow("reno", recovery="newrenno"),
        r"unknown recovery 'newrenno': did you mean 'newreno'\?",
    ),
    "start < 0": (lambda: Flow("reno", start=-1), r"start = -1: must be a non-negative finite"),
    "stop <= start": (
        lambda: Flow("reno", start=2, stop=2),
        r"stop = 2: must be later than start = 2 \(s\)",
    ),
    "size 0": (lambda: Flow("reno", size=0), r"size = 0: must be a whole number >= 1 \(pack"),
    "size 0 B": (lambda: Flow("reno", size="0 kB"), r"size = 0: must be a positive .*\(bytes"),
    "size 2.5": (lambda: Flow("reno", size=2.5), r"size = 2\.5: must be a whole number >= 1"),
    "size inf": (lambda: Flow("reno", size=INF), r"size = inf: must be a whole number >= 1"),
    "header": (
        lambda: Flow("reno", packet_size=40, header=40),
        r"header = 40: must be smaller than packet_size = 40 \(bytes\)",
    ),
    "packet size": (lambda: Flow("reno", packet_size=0), r"packet_size = 0: must be a whole"),
    "packet unit": (lambda: Flow("reno", packet_size="1 ms"), r"'ms' is not a unit of packet_size"),
    "ack size": (lambda: Flow("reno", ack_size=-1), r"ack_size = -1: must be a whole number"),
    "path twice": (
        lambda: Flow("reno", path=["a", "b", "a"]),
        r"path = \['a', 'b', 'a'\]: goes through node 'a' twice",
    ),
    "path of 1": (lambda: Flow("reno", path=["a"]), r"path = \['a'\]: must be a list of at least"),
    "path text": (lambda: Flow("reno", path="ab"), r"path = 'ab': must be a list of at least two"),
    "path, source": (
        lambda: Flow("reno", path=["a", "b"], source="b"),
        r"source = 'b': path has 'a' there",
    ),
    "source, target": (
        lambda: Flow("reno", source="a", target="a"),
        r"target = 'a': must be another node than source",
    ),
    "transport": (lambda: Flow("reno", transport=5), r"transport = 5: must be a Transport"),
    "transport key": (
        lambda: Flow("reno", transport={"min_rtoo": 1}),
        r"unknown setting of Transport 'min_rtoo': did you mean 'min_rto'\?",
    ),
    "name": (lambda: Flow("reno", name=""), r"name = '': must be a name"),
    "access delay": (lambda: Flow("reno", access_delay="1"), r"access_delay = '1': has no unit"),
    "CBR rate": (lambda: CBR(INF), r"rate = inf: must be a positive finite number \(bit/s\)"),
    "CBR order": (
        lambda: CBR(1, on=[(5, 6), (1, 2)]),
        r"on: from = 1: must not be before the end of the pair before it, 6 \(s\)",
    ),
    "CBR overlap": (lambda: CBR(1, on=[(1, 5), (4, 6)]), r"on: from = 4: must not be before .* 5"),
    "CBR endless": (lambda: CBR(1, on=[(1, None), (4, 6)]), r"before it, the end of the run"),
    "CBR pair": (lambda: CBR(1, on=[(2, 1)]), r"on: \(2, 1\): must end later than it begins"),
    "CBR no pair": (lambda: CBR(1, on=(0, 5)), r"on = \(0, 5\): must be a list of \(from, to\)"),
    "CBR never": (lambda: CBR(1, on=[]), r"on = \[\]: must be a list of \(from, to\) pairs"),
    "CBR keyword": (lambda: CBR(1, alpha=1), r"unknown setting of CBR 'alpha'"),
}

TRANSPORTS = {
    "name": (
        lambda: Transport(delayed_acks=1),
        r"unknown setting of Transport 'delayed_acks': did you mean 'delayed_ack'\?",
    ),
    "small window": (lambda: Transport(initial_window=0.9), r"initial_window = 0\.9: must be at "),
    "window": (lambda: Transport(initial_window=0), r"initial_window = 0: must be a positive fin"),
    "flag": (lambda: Transport(handshake=1), r"handshake = 1: must be True or False"),
    "RTO": (lambda: Transport(min_rto=2, max_rto=1), r"min_rto = 2: must be at most max_rto = 1"),
    "unit": (lambda: Transport(min_rto="2 B"), r"min_rto = '2 B': 'B' is not a unit of min_rto"),
    "whole": (lambda: Transport(dupack_threshold=2.5), r"dupack_threshold = 2\.5: must be a whole"),
    "rwnd": (lambda: Transport(rwnd=NAN), r"rwnd = nan: must be a positive number or inf"),
    "half a packet": (lambda: Transport(rwnd=0.5), r"rwnd = 0\.5: must be at least 1 \(packets\)"),
    "growth": (
        lambda: Transport(delay_growth=True),
        r"delay_growth = True: needs handshake = ",
    ),
}

SCENARIOS = {
    "no flow": (lambda: Scenario(NET, [], duration=1), r"flows: a scenario needs at least one"),
    "not a flow": (lambda: scenario("reno"), r"flows\[0\] = 'reno': must be Flow\(.*or CBR"),
    "no net": (
        lambda: scenario(net="dumbbell"),
        r"net = 'dumbbell': must be a Network, such as tc\.",
    ),
    "duration": (lambda: scenario(duration=0), r"duration = 0: must be a positive finite .*\(s"),
    "duration inf": (lambda: scenario(duration=INF), r"duration = inf: must be a positive finite"),
    "no duration": (lambda: Scenario(NET, [Flow("reno")]), r"Scenario: missing .* 'duration'"),
    "seed": (lambda: scenario(seed=-1), r"seed = -1: must be a whole number >= 0"),
    "seed 1.5": (lambda: scenario(seed=1.5), r"seed = 1\.5: must be a whole number >= 0"),
    "interval": (lambda: scenario(interval=11), r"interval = 11: must be at most duration = 10"),
    "interval 0": (lambda: scenario(interval=0), r"interval = 0: must be a positive finite"),
    "tiny interval": (lambda: scenario(interval=1e-9), r"interval = 1e-09: must be at least dura"),
    "late start": (
        lambda: scenario(Flow("reno", start=10)),
        r"flow 'reno1': start = 10: must be before the end, duration = 10 \(s\)",
    ),
    "late CBR": (
        lambda: scenario(CBR(1, on=[(1, 2), (12, 13)])),
        r"flow 'cbr1': on: from = 12: must be before the end",
    ),
    "same name": (
        lambda: scenario(Flow("reno", name="vegas2"), Flow("vegas")),
        r"duplicate flow name 'vegas2': give each flow its own",
    ),
    "link's name": (
        lambda: scenario(
            Flow("reno", name="f", access_delay=1),
            net=Network([link(name="f:access"), link("b", "a")], default_path=("a", "b")),
        ),
        r"duplicate link name 'f:access': an access link has this name",
    ),
    "source": (
        lambda: scenario(Flow("reno", source="lfet")),
        r"flow 'reno1': unknown source node 'lfet': did you mean 'left'\?",
    ),
    "no source": (
        lambda: scenario(net=Network([link(), link("b", "a")])),
        r"flow 'reno1': no source: set it, or give the network a default_path",
    ),
    "one end": (
        lambda: scenario(Flow("reno", source="right")),
        r"flow 'reno1': source and target are both 'right': must be two nodes",
    ),
    "path node": (
        lambda: scenario(Flow("reno", path=["left", "middle", "right"])),
        r"flow 'reno1': unknown node in path 'middle'; known: left, right",
    ),
    "path link": (
        lambda: scenario(Flow("reno", path=["r0", "r2"]), net=chain(2, 1e6, 0.1, 5)),
        r"flow 'reno1': path: there is no link from 'r0' to 'r2'; from 'r0' links lead to 'r1'",
    ),
    "no path": (
        lambda: scenario(net=Network([link(), link("c", "d")], default_path=("a", "d"))),
        r"flow 'reno1': no path from 'a' to 'd'",
    ),
    "no way back": (
        lambda: scenario(net=Network([link()], default_path=("a", "b"))),
        r"flow 'reno1': no reverse path: there is no link from 'b' to 'a'; .* nowhere",
    ),
    "ack path": (
        lambda: scenario(Flow("reno", ack_path=["left", "right"])),
        r"flow 'reno1': ack_path = .*: must lead from 'right' to 'left'",
    ),
    "no time": (
        lambda: scenario(
            net=Network(
                [link(rate=INF, delay=0), link("b", "a", rate=INF, delay=0)],
                default_path=("a", "b"),
            )
        ),
        r"flow 'reno1': its RTT is 0: give a link a delay or a finite rate",
    ),
    "change: link": (
        lambda: change("bottelneck", rate=1),
        r"unknown link in change 'bottelneck': did you mean 'bottleneck'\?",
    ),
    "change: late": (
        lambda: change(at=10, rate=1),
        r"change of link 'bottleneck' at 10: must be before the end, duration = 10 \(s\)",
    ),
    "change: nothing": (lambda: change(), r"change of link 'bottleneck' at 5: changes nothing"),
    "change: at": (lambda: change(at=-1, rate=1), r"at = -1: must be a non-negative"),
    "change: rate": (lambda: change(rate=-1), r"rate = -1: must be a non-neg"),
    "change: loss": (lambda: change(loss=1), r"loss = 1: must be a probability in \[0, 1\)"),
    "change: buffer": (
        lambda: change(buffer="1 kB"),
        r"change of link 'bottleneck': its buffer is counted in packets, not bytes",
    ),
    "change: parameter": (
        lambda: change(queue={"max_tresh": 20}),
        r"change of link 'bottleneck' at 5: unknown parameter of .*'max_tresh': .*'max_thresh'",
    ),
    "change: value": (
        lambda: change(queue={"max_thresh": 4}),
        r"change of link 'bottleneck' at 5: queue 'red': min_thresh = 5 must be below max_thresh",
    ),
    "change: drop-tail": (
        lambda: change("bottleneck<", queue={"max_thresh": 4}),
        r"at 5: unknown parameter of queue 'droptail' 'max_thresh'; known: none",
    ),
    "not changes": (lambda: scenario(changes=5), r"changes = 5: must be a list of Change\(\.\.\."),
    "replace": (lambda: scenario().replace(durration=1), r"setting of Scenario 'durration': did"),
}

LINK_TABLE = '[[link]]\nsrc = "a"\ndst = "b"\nrate = 1\ndelay = 0\nbuffer = 1\n'
WORKLOAD = '[[workload]]\nflow = { controller = "reno" }\nconversations = "ftp"\n'
TOML = {
    "not TOML": (lambda: toml(top="duration = "), r"not TOML: .*line 1"),
    "key": (lambda: toml(top="duraton = 5"), r"unknown key 'duraton': did you mean 'duration'\?"),
    "no duration": (lambda: toml(top=""), r"Scenario: missing a required argument: 'duration'"),
    "no flow": (lambda: toml(flow=""), r"flows: a scenario needs at least one"),
    "topology": (
        lambda: toml(net='[network]\ntopology = "dumbell"'),
        r"unknown topology 'dumbell': did you mean 'dumbbell'\?",
    ),
    "topology key": (
        lambda: toml(net='[network]\ntopology = "dumbbell"\nspeed = 1'),
        r"network: unknown setting of dumbbell 'speed'",
    ),
    "topolgy": (
        lambda: toml(net='[network]\nrate = 1\ntopolgy = "dumbbell"'),
        r"network: unknown setting of Network 'topolgy': did you mean 'topology'\? known: access, "
        "default_path, topology",
    ),
    "queue without name": (
        lambda: toml(net=LINK_TABLE + 'queue = { max_p = 0.1, nam = "red" }'),
        r"link 1: queue = {'max_p': 0\.1, 'nam': 'red'}: unknown key 'nam': did you mean 'name'\?",
    ),
    "slow start without name": (
        lambda: toml(flow='[[flow]]\ncontroller = "reno"\nslow_start = { nme = "limited" }'),
        r"flow 1: slow_start = {'nme': 'limited'}: unknown key 'nme': did you mean 'name'\?",
    ),
    "distribution without name": (
        lambda: toml(flow=WORKLOAD + 'interarrival = { nam = "expon" }'),
        r"workload 1: .*interarrival = {'nam': 'expon'}: unknown key 'nam': did you mean 'name'\?",
    ),
    "distribution without values": (
        lambda: toml(flow=WORKLOAD + "interarrival = { valus = [1, 2] }"),
        r"workload 1: .*interarrival = {'valus': \[1, 2\]}: unknown key 'valus': .* 'values'\?",
    ),
    "topology kind": (
        lambda: toml(net="[network]\ntopology = [1]"),
        r"unknown topology \[1\]; known: chain, dumbbell",
    ),
    "topology and links": (
        lambda: toml(net='[network]\ntopology = "dumbbell"\n[[link]]\nsrc = "a"'),
        r"network: give a topology or \[\[link\]\] tables, not both",
    ),
    "no link": (
        lambda: toml(net="[network]"),
        r"network: set a topology \(dumbbell, chain, park",
    ),
    "network key": (
        lambda: toml(net="[network]\ndefault_pth = 1"),
        r"network: unknown setting of Network 'default_pth': did you mean 'default_path'\?",
    ),
    "link key": (
        lambda: toml(net='[[link]]\nsrc = "a"\ndst = "b"\nrat = 1'),
        r"link 1: unknown setting of Link 'rat': did you mean 'rate'\?",
    ),
    "access": (lambda: toml(net="[network]\naccess = 5"), r"network: access = 5: must be a table"),
    "flow key": (
        lambda: toml(flow='[[flow]]\ncontroller = "reno"\n[[flow]]\ncontroller="reno"\nstrt=1'),
        r"flow 2: unknown keyword 'strt' of Flow\('reno'\): did you mean 'start'\?",
    ),
    "controler": (
        lambda: toml(flow='[[flow]]\ncontroler = "cubic"'),
        r"flow 1: unknown setting of Flow 'controler': did you mean 'controller'\?",
    ),
    "no controller": (lambda: toml(flow="[[flow]]"), r"flow 1: Flow: missing .* 'controller'"),
    "flow kind": (lambda: toml(top="duration = 10\nflow = 5", flow=""), r"flow = 5: must be a tab"),
    "transport key": (
        lambda: toml(
            net='[transport]\nmin_rt = 1\n[network]\ntopology = "dumbbell"\n'
            "rate = 1\ndelay = 1\nbuffer = 1"
        ),
        r"flow 1: unknown setting of Transport 'min_rt': did you mean 'min_rto'\?",
    ),
    "CBR place": (
        lambda: toml(flow="[[cbr]]\nrate = 1\nposition = 3"),
        r"cbr: position = 3: must be at most 1, the next free position",
    ),
    "CBR place 0": (
        lambda: toml(flow="[[cbr]]\nrate = 1\nposition = 0"),
        r"cbr 1: position = 0: must be a whole number >= 1",
    ),
    "flag of a controller": (
        lambda: toml(flow='[[flow]]\ncontroller = "reno"\nparams = { integer_windw = true }'),
        r"flow 1: unknown parameter of controller 'reno' 'integer_windw': .* 'integer_window'\?",
    ),
    "CBR key": (
        lambda: toml(flow="[[cbr]]\nrate = 1\npostion = 3"),
        r"cbr 1: unknown setting of CBR 'postion': did you mean 'position'\?",
    ),
    "change key": (
        lambda: toml(flow='[[change]]\nat = 1\nlnk = "a"'),
        r"change 1: unknown setting of Change 'lnk': did you mean 'link'\?",
    ),
    "no file": (
        lambda: Scenario.load("no such file.toml"),
        r"scenario file 'no such file\.toml': No such file or directory",
    ),
    "no folder": (
        lambda: scenario().save("no such folder/x.toml"),
        r"cannot write 'no such folder/x\.toml': no such folder: no such directory",
    ),
}

GROUPS = {
    "link": LINKS, "network": NETWORKS, "flow": FLOWS, "transport": TRANSPORTS,
    "scenario": SCENARIOS, "toml": TOML,
}  # fmt: skip
CASES = [
    pytest.param(build, message, id=f"{group}: {case}")
    for group, cases in GROUPS.items()
    for case, (build, message) in cases.items()
]


@pytest.mark.parametrize(("build", "message"), CASES)
def test_bad_input_is_answered_in_one_line(build, message):
    with pytest.raises(ScenarioError, match=message) as caught:
        build()
    assert len(str(caught.value).splitlines()) == 1
    assert isinstance(caught.value, ValueError)


def test_an_error_in_a_file_names_the_file(tmp_path):
    path = tmp_path / "wrong.toml"
    path.write_text("duration = -1\n")
    with pytest.raises(ScenarioError, match=r"wrong\.toml': network: set a topology"):
        Scenario.load(path)


def test_the_default_queue_takes_no_parameters():
    with pytest.raises(ScenarioError, match=r"unknown parameter of queue 'droptail' 'limit'"):
        DropTail(limit=5)
