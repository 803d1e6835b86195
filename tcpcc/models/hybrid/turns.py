"""Run packets and fluid in turn, in compiled code.

The entry functions of both models are called by address, so neither is compiled with the other.
"""

from tcpcc.engine.jit import Caller, accessor, entry, record_dtype
from tcpcc.models.automaton.kernel import call_end_step

# Addresses of the entry functions and of the two worlds; end of the present step, and its latest
# possible end; time and number of steps after which to return to Python.
TURNS = record_dtype(
    {
        "run_packets": int, "begin_step": int, "end_step": int, "packets": int, "fluid": int,
        "now": float, "until": float, "stop": float, "steps": int,
    }
)  # fmt: skip

turns_at = accessor(TURNS)

call_packets = Caller(bool, int, float)
call_begin_step = Caller(float, int, float)


@entry
def take_turns(turns):
    """Repeat: run packets to the end of the present step, let the fluid take it, begin the next.

    Returns True if the packets have stopped before the end of the step (a pause, or they need
    memory), False if the fluid has taken its step and the caller must begin the next one.
    """
    t = turns_at(turns, 0)
    steps = 0
    while True:
        if call_packets(t.run_packets, t.packets, t.now):
            return True
        call_end_step(t.end_step, t.fluid)
        steps += 1
        if t.now >= t.stop or steps >= t.steps:
            return False
        time = call_begin_step(t.begin_step, t.fluid, t.until)
        if time < 0:
            return False
        t.now = time
