"""Traces that other programs recorded, as runs: `tcpcc.traces.read_qlog` and its like."""

from tcpcc.apps.traces.from_pcap import read_pcap
from tcpcc.apps.traces.from_qlog import read_qlog
from tcpcc.apps.traces.from_tcp_info import read_tcp_info

__all__ = ["read_pcap", "read_qlog", "read_tcp_info"]
