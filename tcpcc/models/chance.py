"""The stream of chance that a link carries, for compiled functions."""

from tcpcc.engine.jit import compiled
from tcpcc.engine.streams import uniform as uniform_plain

uniform = compiled(uniform_plain)
