"""Numbers with units."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcpcc.errors import ScenarioError
from tcpcc.scenario.units import packets_or_bytes, rate, seconds, size_bytes


@pytest.mark.parametrize(
    ("convert", "text", "value"),
    [
        (rate, "10 Mbps", 1e7),
        (rate, "1.5 Mb/s", 1.5e6),
        (rate, "1 Gbit/s", 1e9),
        (rate, "64kbps", 64e3),
        (rate, "300 Kb/s", 3e5),
        (rate, "9600 bit/s", 9600),
        (rate, "1e3 bps", 1e3),
        (rate, " inf ", math.inf),
        (seconds, "20 ms", 0.02),
        (seconds, "0.1 ms", 0.0001),
        (seconds, "5 µs", 5e-6),
        (seconds, "7 min", 420.0),
        (seconds, "1.5 hours", 5400.0),
        (seconds, ".5 s", 0.5),
        (size_bytes, "64 kB", 64000),
        (size_bytes, "64 KB", 64000),
        (size_bytes, "64 KiB", 65536),
        (size_bytes, "1500 bytes", 1500),
        (size_bytes, "1 MiB", 2**20),
    ],
)
def test_strings_give_exactly_the_si_number(convert, text, value):
    assert convert(text) == value


@pytest.mark.parametrize(
    ("given_value", "expected"),
    [
        (50, (50.0, "packets")),
        ("50 packets", (50.0, "packets")),
        ("1 packet", (1.0, "packets")),
        ("64 kB", (64000.0, "bytes")),
        (math.inf, (math.inf, "packets")),
        ("inf B", (math.inf, "bytes")),
    ],
)
def test_an_amount_tells_what_it_is_counted_in(given_value, expected):
    assert packets_or_bytes(given_value) == expected


@pytest.mark.parametrize("number", [3, 3.0, np.float32(3), np.int64(3)])
def test_numbers_are_si_already(number):
    assert rate(number) == 3.0
    assert type(rate(number)) is float


@given(st.floats(allow_nan=False))
def test_numbers_pass_unchanged(number):
    assert seconds(number) == number


@given(st.floats(0, 1e12))
def test_a_float_survives_its_own_text(number):
    assert seconds(f"{number!r} s") == number


@pytest.mark.parametrize(
    ("convert", "value", "message"),
    [
        (rate, "10 ms", "^rate = '10 ms': 'ms' is not a unit of rate; allowed units: bit/s, .*Mb"),
        (rate, "10 mbps", "did you mean 'Mbps'"),
        (rate, "10 MB/s", "rates are in bits, not bytes; that would be '80 Mbit/s'"),
        (rate, "10 MBps", "rates are in bits, not bytes; that would be '80 Mbit/s'"),
        (rate, "100 kbytes/s", "that would be '800 kbit/s'"),
        (rate, "1 MiB/s", "that would be '8.38861 Mbit/s'"),
        (rate, "10", "has no unit; allowed units: bit/s"),
        (rate, "fast", "must be a number and a unit, such as '10 Mbps'"),
        (rate, "", "must be a number and a unit"),
        (rate, "nan Mbps", "must be a number and a unit"),
        (rate, "1e9999 bps", "'e9999 bps' is not a unit of rate"),
        (seconds, "20 msec", "did you mean 'ms'.*allowed units: s, ms, us, ns, min, h"),
        (seconds, "20 milliseconds", "did you mean 'ms'"),
        (seconds, "20 usec", "did you mean 'us'"),
        (seconds, "20 nsec", "did you mean 'ns'"),
        (seconds, "20 MS", "did you mean 'ms'"),
        (lambda x: seconds(x, "access_delay"), "3 m", "^access_delay = .*'m' is not a unit of acc"),
        (seconds, "5 packets", "'packets' is not a unit of time"),
        (size_bytes, "5 packets", "allowed units: B, kB, KiB"),
        (packets_or_bytes, "5 Mbps", "allowed units: packets, B, kB"),
        (packets_or_bytes, "64 kb", "sizes are in bytes, not bits; that would be '8 kB'"),
        (packets_or_bytes, "2 BDP", "only dumbbell, chain and parking_lot know the path"),
        (size_bytes, "2 Mbit", "that would be '250 kB'"),
        (rate, True, "rate = True: must be a number"),
        (rate, None, "rate = None: must be a number"),
        (rate, math.nan, "rate = nan: must be a number"),
        (rate, 1j, "must be a number"),
        (rate, np.array([1.0, 2.0]), "must be a number"),
    ],
)
def test_wrong_values_and_units_are_named_in_one_line(convert, value, message):
    with pytest.raises(ScenarioError, match=message) as caught:
        convert(value)
    assert "\n" not in str(caught.value)


@given(st.text(max_size=12))
def test_any_text_is_a_number_or_one_line(text):
    try:
        number = seconds(text)
    except ScenarioError as error:
        number, lines = 0.0, str(error).splitlines()
    else:
        lines = ["none"]
    assert not math.isnan(number)
    assert len(lines) == 1


@given(
    st.sampled_from(["", "m", "u", "n", "k", "M", "G", "K", "µ"]),
    st.sampled_from(["sec", "secs", "S", "second", "b", "B", "bits", "bps", "Bps", "b/s", "B/s"]),
)
def test_no_suggestion_differs_by_a_factor(prefix, unit):
    """What is suggested begins with the prefix that was written, in upper or lower case."""
    for convert in (rate, seconds, size_bytes):
        try:
            convert(f"3 {prefix}{unit}")
        except ScenarioError as error:
            found = str(error).partition("did you mean '")[2].partition("'")[0]
            if found:
                first = found[:1].lower()
                assert first == f"{prefix}{unit}"[:1].lower() or (prefix, first) == ("µ", "u")
