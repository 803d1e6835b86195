"""PAM 2025's test-bed: the files, the settings, our numbers against the published ones."""

import math

import numpy as np
import pytest

import tcpcc as tc
from experiments import pam25
from experiments.pam25 import causes, figures, tables
from experiments.pam25.scenarios import Mixture
from experiments.testbeds import Key

SEEDS = 10
MANY = Mixture(10, 10, "CUBIC ECN", "DualPI2", 2.0)
MIXTURES = [cell for cell in pam25.mixtures() if cell.rival == "CUBIC ECN"]

# The files


def test_every_cell_has_published_numbers_and_one_for_each_seed():
    numbers = pam25.everything()
    assert len(pam25.mixtures()) == 190
    for cell in pam25.mixtures():
        for measure in tables.MEASURES:
            assert pam25.published()[cell, measure].deviation > 0
            for model in tables.MODELS:
                assert len(numbers[Key(model, cell, measure)]) == SEEDS
    assert len(pam25.published()) == 4 * 190


def test_numbers_are_those_of_the_paper():
    assert pam25.published()[MANY, "prague"] == (45.28, 0.54)
    assert pam25.published()[Mixture(1, 1, "BBRv3", "FIFO", 4.0), "rival"] == (34.28, 9.04)


# The settings


def test_the_hosts_are_those_of_the_test_bed():
    prague, cubic = MANY.scenario(1).flows
    assert (prague.count, cubic.count) == (10, 10)
    assert (prague.transport.ecn, cubic.transport.ecn) == ("l4s", "classic")
    assert prague.packet_size - prague.header == 1436  # the AccECN option has 12 bytes
    assert cubic.packet_size - cubic.header == 1448
    assert prague.transport.delayed_ack == 0
    assert not cubic.transport.push_acks
    assert cubic.transport.piece_wait == math.inf
    bbr = Mixture(1, 1, "BBRv3", "FIFO", 1.0).scenario(1).flows[1]
    assert (bbr.controller, bbr.transport.ecn) == ("bbr3", "off")


def test_the_published_sums_show_prague_s_smaller_payload():
    """In the FIFOs the link is full: the sum of both throughputs falls with Prague's share."""
    cells = [cell for cell in MIXTURES if cell.bottleneck.startswith("FIFO")]
    told = [[pam25.published()[cell, m].mean for m in tables.RATES] for cell in cells]
    shares = [prague / (prague + rival) for prague, rival in told]
    slope, none = np.polyfit(shares, np.sum(told, axis=1), 1)
    option = 95.6 * 12 / 1448  # Mb/s
    assert none == pytest.approx(96, abs=0.3)
    assert -2 * option < slope < -option


# Ours against the published numbers


def test_throughputs_of_mixtures_are_within_a_tenth_of_the_link():
    near, total = pam25.within(pam25.everything(), "packet", MIXTURES)
    assert total == 300
    assert near >= 285


@pytest.mark.parametrize(("model", "least"), [("packet", 0.94), ("fluid", 0.82)])
def test_so_many_throughputs_are_near(model, least):
    near, total = pam25.within(pam25.everything(), model, pam25.mixtures())
    assert least <= near / total < least + 0.06


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Prague: ACKs delayed", "all of these"])
def test_with_other_hosts_many_prague_flows_get_too_little(name):
    """The hosts of Linux 6.18: 10 + 10 flows in DualPI2 and in a FIFO of half a BDP."""
    for cell in (MANY, Mixture(10, 10, "CUBIC ECN", "FIFO", 0.5)):
        rates = {}
        for change in ("no change", name):
            case = causes.changed(cell, 1, *causes.CHANGES[change])
            rates[change] = tables.of_mixture(cell, tc.simulate(case))["prague"]
        told = pam25.published()[cell, "prague"].mean
        assert rates[name] < rates["no change"] - 2
        assert rates["no change"] < told
        assert told - rates["no change"] < 11


# The figures


@pytest.mark.long
def test_figures_show_every_buffer_of_both_models():
    numbers = pam25.everything()
    for draw, panels in ((figures.draw_pairs, 8), (figures.draw_mixtures, 30)):
        axes = draw(numbers).axes
        assert len(axes) == panels
        for ax in axes:
            labels = {line.get_label() for line in ax.lines}
            assert {"test-bed", "packets", "fluid"} <= labels
            assert all(math.isfinite(y) for line in ax.lines for y in line.get_ydata())
