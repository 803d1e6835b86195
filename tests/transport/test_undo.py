"""Undo of spurious loss responses: D-SACK reveals them (RFC 2883, RFC 3708; Linux)."""

from types import SimpleNamespace

import numpy as np
import pytest
from drivers import both_drivers
from late_packets import all_late, overtaken

import tcpcc as tc
from tcpcc.models.packet.handlers import run_events
from tcpcc.models.packet.memory.packet_world import PacketWorld
from tcpcc.transport import undo
from tcpcc.transport.flow_record import OPEN, RECOVERY
from tcpcc.transport.recovery import rack

RECOVERIES = ["sack", "sack-prr", "rack-tlp"]
QUIET = {"rwnd": 60}  # a window that fills the link and no buffer


def windows(case):
    """A run, and the sender's windows over time."""
    run = tc.simulate(case, trace=True)
    table = run.trace("flow").dropna(subset="cwnd")
    return run, table[["time", "event", "cwnd", "ssthresh"]]


@pytest.mark.parametrize("recovery", RECOVERIES)
@pytest.mark.parametrize("late", ["overtaken", "all late"])
@pytest.mark.parametrize("controller", ["reno", "cubic"])
def test_dsack_restores_the_window_after_spurious_losses(controller, recovery, late):
    """To its old value, one or two round trips after the reduction; without D-SACK it stays
    reduced."""
    after = {}
    for dsack in (False, True):
        settings = {"recovery": recovery, "duration": 7.0, "dsack": dsack, **QUIET}
        if late == "overtaken":
            case = overtaken(controller, 5, 5.05, share=0.3, **settings)
        else:
            case = all_late(controller, 5, frto=False, **settings)
        run, table = windows(case)
        assert int(run.data.drops.sum()) == 0
        assert int(run.data.loss_events.sum() + run.data.timeouts.sum()) > 0
        before = table[table["time"] < 5].iloc[-1]
        after[dsack] = table[table["time"] < 6.5].iloc[-1]
        assert table["cwnd"][table["time"] > 5].min() <= 0.7 * before["cwnd"]
    assert after[False]["cwnd"] < before["cwnd"]
    assert after[False]["ssthresh"] <= 0.7 * before["cwnd"]
    assert after[True]["cwnd"] >= before["cwnd"]
    assert after[True]["ssthresh"] == before["ssthresh"]


@pytest.mark.parametrize("how", [{"eifel": True, "dsack": False}, {"dsack": True}])
def test_cubic_continues_its_epoch_after_a_spurious_loss(how):
    """RFC 9438, 4.9.2: W_max, K and the epoch are restored with cwnd. Two seconds after 100 ms of
    reordering the window is that of a path without (it was flat where it was, for 3 s)."""

    def run(jitter):
        changes = [
            tc.Change(0.25, "bottleneck", loss=0.02),
            tc.Change(0.3, "bottleneck", loss=0.0),
            tc.Change(8, "bottleneck", jitter=jitter),
            tc.Change(8.1, "bottleneck", jitter="1 us"),
        ]
        there = tc.Link(
            "a", "b", rate="500 Mbps", delay="25 ms", buffer=20_000, name="bottleneck",
            jitter="1 us", reordering=True,
        )  # fmt: skip
        back = tc.Link("b", "a", rate="500 Mbps", delay="25 ms")
        flow = tc.Flow("cubic", recovery="rack-tlp", slow_start="standard", transport=how)
        net = tc.Network([there, back], default_path=("a", "b"))
        case = tc.Scenario(net, [flow], duration=11, changes=changes, interval=0.01)
        done = tc.simulate(case)
        return done.data["cwnd"][:, 0], float(done.data["loss_events"].sum())

    (calm, losses), (late, more) = run("1 us"), run("30 ms")
    assert more > losses
    assert float(late[1080]) == pytest.approx(float(calm[1080]), rel=0.05)
    assert float(late[1080]) > 1.1 * float(calm[795])


@pytest.mark.parametrize(
    ("setting", "controller", "recovery", "loss"),
    [
        *(("dsack", controller, "rack-tlp", 0.0) for controller in ("reno", "bbr", "bbr3")),
        *(("eifel", "reno", recovery, 0.001) for recovery in ("newreno", *RECOVERIES)),
    ],
)
def test_real_losses_are_not_undone(setting, controller, recovery, loss):
    """With and without D-SACK or Eifel detection the same packets are sent at the same times."""
    net = tc.dumbbell("10 Mbps", "20 ms", 25, loss=loss)
    one, other = (
        tc.simulate(tc.Scenario(net, [flow], duration=10), trace=True)
        for used in (False, True)
        for flow in [tc.Flow(controller, recovery=recovery, transport={setting: used})]
    )
    assert int(one.data.drops.sum()) > 10
    assert one.events.tobytes() == other.events.tobytes()


def test_spurious_losses_with_one_real_loss_are_not_undone():
    """One packet is late and arrives twice; another one is lost, so its retransmission arrives
    once."""
    case = overtaken("reno", 5, 5.05, share=0.3, recovery="sack", duration=7.0, dsack=True, **QUIET)
    losing = [tc.Change(at=at, link="there", loss=p) for at, p in ((5.01, 0.5), (5.02, 0.0))]
    run, table = windows(case.replace(changes=[*case.changes, *losing]))
    assert len(run.events[run.events["sack_low"] > run.events["sack_high"]]) > 10
    assert int(run.data.drops.sum()) > 0
    before = table["cwnd"][table["time"] < 5].iloc[-1]
    assert table["cwnd"][table["time"] < 6.5].iloc[-1] < 0.6 * before


def test_a_dsack_report_names_the_duplicate():
    case = overtaken("reno", 5, 5.05, share=0.3, recovery="sack", duration=7.0, dsack=True, **QUIET)
    table = tc.simulate(case, trace=True).trace("flow")
    twice = table[table["sack_low"] > table["sack_high"]]
    again = table[table["event"] == "retransmit"]
    assert len(twice) > 10
    assert sorted(twice["sack_high"]) == sorted(again["seq"])
    assert (twice["sack_low"] == twice["sack_high"] + 1).all()


@pytest.fixture
def sender(monkeypatch):
    """A sender in recovery, with packets 10 to 29 outstanding and a window of 20."""
    s = SimpleNamespace(cwnd=20.0, ssthresh=30.0)
    f = SimpleNamespace(
        undo=1, undo_from=-1, eifel=0, state=1, phase=RECOVERY, high_ack=9, max_seq=29, s=s
    )
    monkeypatch.setattr(undo, "window_at", lambda *_: s)
    return f


def test_an_episode_ends_when_all_its_repairs_are_reported(sender):
    undo.note_answer(sender, 1)
    assert not undo.was_the_last(sender, 10)  # nothing was sent again
    for _ in range(3):
        undo.note_retransmission(sender)
    reports = [9, 12, 8, 10, 29]  # 8 and 9 were sent again before
    assert [undo.was_the_last(sender, seq) for seq in reports] == [False] * 4 + [True]
    assert (sender.undo_cwnd, sender.undo_ssthresh) == (20, 30)


def test_earlier_retransmissions_of_the_lost_packet_must_be_reported_too(sender):
    """The first repaired a real loss, only the second was not needed."""
    undo.note_answer(sender, 2)
    undo.note_retransmission(sender)
    assert not undo.was_the_last(sender, 10)
    assert undo.was_the_last(sender, 10)


def test_a_reduction_before_the_end_of_an_episode_belongs_to_it(sender):
    undo.note_answer(sender, 1)
    undo.note_retransmission(sender)
    sender.s.cwnd = 10.0
    sender.high_ack, sender.max_seq = 28, 39
    undo.note_answer(sender, 1)
    assert (sender.undo_from, sender.undo_repairs, sender.undo_cwnd) == (10, 1, 20)
    sender.high_ack = 29
    undo.note_answer(sender, 1)
    assert (sender.undo_from, sender.undo_repairs, sender.undo_cwnd) == (30, -1, 10)


def test_repairs_by_a_probe_start_no_episode(sender):
    """The probe was sent before; and without D-SACK and F-RTO there are no episodes."""
    sender.phase = OPEN
    undo.note_answer(sender, 1)
    undo.note_retransmission(sender)
    assert sender.undo_from == -1
    assert not undo.was_the_last(sender, 29)
    sender.phase, sender.undo = RECOVERY, 0
    undo.note_answer(sender, 1)
    assert sender.undo_from == -1


def test_a_connection_begins_without_an_episode():
    world = PacketWorld(overtaken("reno", 5, 5.05, dsack=True))
    run_events(world.address, 1.0)
    assert world.tcp["undo_from"][0] == -1


def test_the_reordering_window_widens_once_per_round_and_resets_after_16_recoveries():
    s = SimpleNamespace(dsack_round=-1, quarters=1, persists=0, reordered=0)
    f = SimpleNamespace(low=6, high=5, high_ack=9, next_seq=20, phase=RECOVERY)
    for high_ack, quarters in ((9, 2), (15, 2), (18, 2), (19, 3)):
        f.high_ack = high_ack
        rack.widen(s, f)
        assert (s.quarters, s.reordered) == (quarters, 1)
    for _ in range(15):
        f.phase = RECOVERY
        rack.end_recovery(s, f)
        assert (f.phase, s.quarters) == (OPEN, 3)
    rack.end_recovery(s, f)  # of none
    assert s.quarters == 3
    f.phase = RECOVERY
    rack.end_recovery(s, f)
    assert s.quarters == 1


def nothing(s, p, a):
    pass


def test_the_reordering_window_grows_with_spurious_repairs():
    """RFC 8985, 6.2, step 4: from a quarter of the smallest RTT, 10 ms, to srtt, 48 ms. A fifth of
    the packets that are late by up to 60 ms is then sent twice, instead of five sixths."""
    steady = tc.Controller("steady", "", nothing, nothing, nothing, recovery="rack-tlp")
    again = {}
    for dsack in (False, True):
        case = overtaken(steady, 1, 19, duration=20.0, share=0.02, dsack=dsack, initial_window=60)
        run = tc.simulate(case)
        again[dsack] = float(run.data.retransmitted.sel(time=slice(10, 18)).sum())
    late = 0.02 * 8 * 1250
    assert again[False] / late == pytest.approx(5 / 6, abs=0.1)
    assert again[True] / late == pytest.approx(1 / 5, abs=0.1)


def count(s, p, a):
    s.undone += 1
    s.phase = a.phase
    s.told = a.total_delivered
    s.window = s.cwnd


def note_loss(s, p, a):
    s.cwnd = s.cwnd / 2


@pytest.mark.parametrize("owns", [False, True])
def test_on_undo_is_called_once_after_the_window_is_restored(owns):
    fields = ("undone", "phase", "told", "window")
    state = {name: tc.State(0, "", "") for name in fields}
    halving = tc.Controller(
        "halving", "", on_ack=nothing, on_loss=note_loss, on_timeout=note_loss, on_undo=count,
        state=state, record=fields, window="own" if owns else "shared", recovery="rack-tlp",
    )  # fmt: skip
    case = overtaken(halving, 5, 5.05, share=0.3, duration=6.0, dsack=True, initial_window=60)
    table = tc.simulate(case, trace=True).trace("flow").dropna(subset="undone")
    last = table.iloc[-1]
    assert last["undone"] == 1
    assert last["window"] == (30 if owns else 60)
    assert last["phase"] in (0, 1)
    assert 1250 < last["told"] < 6 * 1250


@pytest.mark.parametrize(
    ("controller", "setting"), [("cubic", "dsack"), ("bbr3", "dsack"), ("reno", "eifel")]
)
def test_both_drivers_give_the_same_bits(controller, setting):
    case = overtaken(controller, 1, 2, share=0.1, duration=3.0, recovery="rack-tlp",
                     **{"dsack": True, setting: True})  # fmt: skip
    assert int(both_drivers(case).data.retransmitted.sum()) > 0


def test_conversations_can_undo_losses():
    """A reused sender begins without an episode."""
    settings = tc.Flow("reno", recovery="rack-tlp", transport={"dsack": True})
    load = tc.Workload(settings, tc.workloads.Conversation(200), interarrival=0.2, count=20)
    case = overtaken("reno", 0.5, 10, share=0.05, duration=12.0, dsack=True)
    run = tc.simulate(case.replace(flows=[], workloads=[load]))
    assert int(np.isfinite(run.data["item_finished"]).sum()) == 20
