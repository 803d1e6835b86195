"""Packets and fluid in turn, in machine code.

The entries of both engines are called by their addresses: neither is compiled with the other.
"""

from tcpcc.engine.jit import Caller, accessor, entry, record_dtype

# Addresses of the entries and of the two worlds; end of the step that has begun; its latest end;
# when Python is to be asked, at the latest, and after how many steps.
TURNS = record_dtype(
    {
        "run_packets": int, "begin_step": int, "end_step": int, "packets": int, "fluid": int,
        "now": float, "until": float, "stop": float, "steps": int,
    }
)  # fmt: skip

turns_at = accessor(TURNS)

run_packets = Caller(bool, int, float)
begin_step = Caller(float, int, float)
end_step = Caller(None, int)


@entry
def take_turns(turns):
    """Let packets run to the end of the step that has begun, then the fluid take it; and again.

    Returns True where packets are to be asked for what they need, False where the fluid has taken
    its step and the next one is to be begun from outside.
    """
    t = turns_at(turns, 0)
    steps = 0
    while True:
        if run_packets(t.run_packets, t.packets, t.now):
            return True
        end_step(t.end_step, t.fluid)
        steps += 1
        if t.now >= t.stop or steps >= t.steps:
            return False
        time = begin_step(t.begin_step, t.fluid, t.until)
        if time < 0:
            return False
        t.now = time
