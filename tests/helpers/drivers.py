"""One scenario with both drivers of the packet model."""

import tcpcc as tc


def both_drivers(case, model="packet", trace=True, **options):
    """The run of `case`; the drivers' records and traces are the same to the last bit."""
    compiled, simpy = (
        tc.simulate(case, model, driver=driver, trace=trace, **options)
        for driver in ("compiled", "simpy")
    )
    assert compiled.identical(simpy)
    for name in compiled.data:
        assert compiled.data[name].values.tobytes() == simpy.data[name].values.tobytes(), name
    return compiled
