"""Traces that other programs recorded, as runs: `tcpcc.read_qlog` and its like."""

from tcpcc.traces.from_pcap import read_pcap
from tcpcc.traces.from_qlog import read_qlog

__all__ = ["read_pcap", "read_qlog"]
