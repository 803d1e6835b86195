"""Stability: known roots, the example of Hollot, Misra, Towsley and Gong, and packet runs."""

import math

import numpy as np
import pytest

import tcpcc as tc
from experiments.hollot import FAST, SLOPE, SLOW, C, behind, hmtg
from tcpcc.errors import NotSmoothError
from tcpcc.models.analysis.delay_roots import rightmost_roots


@pytest.mark.parametrize("tau", [1.0, 0.01, 100.0])
def test_delayed_decay_oscillates_at_half_pi(tau):
    """x' = -a x(t - tau): at a tau = pi/2 the rightmost roots are +-i a."""

    def rightmost(a):
        return rightmost_roots({0.0: np.zeros((1, 1)), tau: np.array([[-a]])}, 2)

    critical = math.pi / 2 / tau
    roots = rightmost(critical)
    assert np.abs(roots.real * tau).max() < 1e-10
    assert np.sort(roots.imag * tau) == pytest.approx([-math.pi / 2, math.pi / 2], abs=1e-10)
    assert rightmost(critical * (1 - 1e-8))[0].real < 0 < rightmost(critical * (1 + 1e-8))[0].real


def test_several_delays_at_once():
    """The characteristic matrix of two different delays is singular at every root found."""
    terms = {
        0.0: np.array([[-1.0, 0.3], [0.0, -2.0]]),
        0.4: np.array([[0.0, -3.0], [1.0, 0.0]]),
        1.1: np.array([[-0.5, 0.0], [0.0, 0.7]]),
    }
    for s in rightmost_roots(terms, 6):
        matrix = s * np.eye(2) - sum(a * np.exp(-s * tau) for tau, a in terms.items())
        assert abs(np.linalg.det(matrix)) < 1e-9


def test_hmtg_roots():
    """-0.0644 for their design; +0.2945 +- 3.222i for w = 0.002, with marking as in their model."""
    stable = tc.analysis.stability(hmtg(SLOW, ecn=True))
    assert stable.stable
    assert stable.roots[0].real == pytest.approx(-0.0644, abs=5e-5)
    swinging = tc.analysis.stability(hmtg(FAST, ecn=True))
    assert not swinging.stable
    assert swinging.roots[0].real == pytest.approx(0.2945, abs=5e-5)
    assert abs(swinging.roots[0].imag) == pytest.approx(3.222, abs=5e-4)


def test_drops_stabilise_more_than_marks():
    """Dropped packets do not queue, so the same design is closer to stability."""
    drops, marks = (tc.analysis.stability(hmtg(FAST, ecn=m)).roots[0].real for m in (False, True))
    assert 0 < drops < 0.6 * marks


@pytest.mark.parametrize(
    ("settings", "phase", "gain"),
    [
        ({}, 88.8, 43.8),
        ({"flows": 30}, 54.0, 10.7),
        ({"rtt": 0.5}, 19.6, 2.5),
    ],
)
def test_hmtg_margins(settings, phase, gain):
    """Margins of the exact plant with its delay, recomputed from the closed form, K = 0.005/s."""
    found = tc.analysis.stability(hmtg(1 - math.exp(-0.005 / C), **settings, queue=175, ecn=True))
    assert found.phase_margin == pytest.approx(phase, abs=0.1)
    assert found.gain_margin == pytest.approx(gain, rel=0.02)


@pytest.mark.parametrize("weight", [SLOW, FAST])
def test_the_loop_is_the_plant_of_hollot_et_al(weight):
    """L(s) = L C^2/2N e^(-sR) / ((s + 2N/R^2 C)(s + 1/R)(s/K + 1))."""
    n, rtt, k = 60, 0.246, -C * math.log(1 - weight)
    found = tc.analysis.stability(hmtg(weight, ecn=True))
    omega = np.logspace(-2, 1, 30)
    s = 1j * omega
    plant = C**2 / (2 * n) * np.exp(-s * rtt) / ((s + 2 * n / (rtt**2 * C)) * (s + 1 / rtt))
    assert found.loop(omega) == pytest.approx(plant * SLOPE / (s / k + 1), rel=0.01)


def test_the_loop_of_pi_is_that_of_hollot_et_al():
    """K (s/z + 1)/s in place of RED's low-pass, with their a, b and sampling frequency w.

    The timer is taken for a process with the mean rate w, which delays by 1/w.
    """
    a, b, w = 1.822e-5, 1.816e-5, 170
    found = tc.analysis.stability(
        behind(tc.queues.PI(qref=175, a=a, b=b, w=w, ecn=True), queue=175, ecn=True)
    )
    k, zero = (a - b) * w, (a - b) * w / ((a + b) / 2)
    n, rtt = 60, 0.246
    omega = np.logspace(-2, 1, 30)
    s = 1j * omega
    plant = C**2 / (2 * n) * np.exp(-s * rtt) / ((s + 2 * n / (rtt**2 * C)) * (s + 1 / rtt))
    loop = plant * k * (s / zero + 1) / s
    assert found.loop(omega)[omega < 1] == pytest.approx(loop[omega < 1], rel=0.007)
    assert found.loop(omega) == pytest.approx(loop, rel=0.06)
    assert found.phase_margin == pytest.approx(73.1, abs=0.1)


PIE, GENTLE_PIE = tc.queues.PIE(), tc.queues.PIE(alpha=0.0125, beta=0.125)  # a tenth of the gains


@pytest.mark.parametrize(
    ("queue", "stable"),
    [
        (tc.queues.PI(qref=175, a=1.822e-5, b=1.816e-5, w=170), True),
        (tc.queues.REM(target=50, mean_packet=500), True),
        (PIE, False),
        (GENTLE_PIE, True),
    ],
    ids=["pi", "rem", "pie", "pie with a tenth of the gains"],
)
def test_a_queue_with_a_timer_is_stable_or_not(queue, stable):
    assert tc.analysis.stability(behind(queue)).stable == stable


@pytest.mark.parametrize("model", ["packet", "fluid"])
def test_pie_swings_with_its_default_gains(model):
    """60 sawteeth and random drops move both queues; the queue of the unstable loop moves more than
    twice as far, and runs empty."""
    unstable, stable = (
        tc.simulate(behind(queue, duration=150), model).data["queue"].sel(time=slice(50, None))
        for queue in (PIE, GENTLE_PIE)
    )
    assert float(unstable.std()) > 2 * float(stable.std())
    assert float((unstable < 1).mean()) > 0.1 > float((stable < 1).mean())


def test_switching_rules_are_not_linearised():
    net = tc.dumbbell("10 Mbps", "50 ms", 200)
    flow = tc.Flow("vegas", alpha=2, beta=2, integer_delta=False)
    with pytest.raises(NotSmoothError, match="'vegas' switch"):
        tc.analysis.stability(tc.Scenario(net, [flow], duration=1))


@pytest.mark.parametrize("model", ["packet", "fluid"])
def test_the_queue_swings_only_where_its_equilibrium_is_unstable(model):
    """60 flows: with the slow average the queue does not swing as a whole; with the fast one it
    does, with about the period of the rightmost root, 1.9 s.

    RED's random drops and 60 sawteeth disturb the queue in any case, so the test compares the share
    of the queue's power around the root's period.
    """

    def power(weight):
        run = tc.simulate(hmtg(weight, duration=240, jitter=2), model)
        queue = run.data["queue"].sel(link="bottleneck", time=slice(60, None)).values
        spectrum = np.abs(np.fft.rfft(queue - queue.mean())) ** 2
        frequency = np.fft.rfftfreq(len(queue), 0.02)
        band = (frequency > 1 / 2.6) & (frequency < 1 / 1.6)
        return spectrum[band].sum() / len(queue) ** 2, frequency[spectrum.argmax()]

    calm, _ = power(SLOW)
    wild, peak = power(FAST)
    assert wild > 4 * calm
    assert 1 / peak == pytest.approx(2.0, rel=0.2)


def test_a_map_over_two_parameters():
    found = tc.analysis.stability_map(hmtg, flows=[40, 80], weight=[SLOW, FAST])
    assert found.dims == ("flows", "weight")
    assert (found.sel(weight=SLOW) < 0).all()
    assert float(found.sel(weight=FAST, flows=40)) > float(found.sel(weight=FAST, flows=80))


def test_plots():
    found = tc.analysis.stability(hmtg(FAST))
    gain, phase = found.bode()
    assert gain.get_ylabel() == "gain"
    assert "phase margin" in phase.get_title()
    assert found.nyquist().get_xlabel().startswith("real part")


def test_a_loop_whose_gain_vanishes_has_margins():
    net = tc.dumbbell("1 Mbps", "20 ms", 1)
    found = tc.analysis.stability(tc.Scenario(net, [tc.Flow("reno", count=5)], duration=20))
    assert found.gain_margin > 0
