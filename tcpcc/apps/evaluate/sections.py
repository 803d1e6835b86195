"""The sections of RFC 9743 (BCP 133, March 2025) that list what an evaluation shows."""

from __future__ import annotations

from tcpcc.apps.evaluate.criterion import Section

SECTIONS = tuple(
    Section(*entry)
    for entry in (
        ("5.1.1", "Protection against congestion collapse", "should"),
        ("5.1.2", "Protection against bufferbloat", "should"),
        ("5.1.3", "Protection against high packet loss", "should"),
        ("5.1.4", "Fairness within the algorithm", "should"),
        ("5.1.5", "Short flows", "MUST"),
        ("5.2", "Starvation", "MUST"),
        ("5.2.1", "Existing general-purpose congestion control", "MUST"),
        ("5.2.2", "Real-time congestion control", "SHOULD"),
        ("5.2.3", "Short and long flows of other algorithms", "MUST"),
        ("5.3", "Principles and incremental deployment", "MUST", "a text, not a measurement"),
        ("6.1", "Paths with tail-drop queues", "MUST"),
        ("6.2", "Tunnels", "MUST"),
        ("6.3", "Wired paths", "should"),
        ("6.4", "Wireless paths", "should"),
        ("7.1", "Active queue management", "SHOULD"),
        ("7.2", "Network circuit breakers", "should"),
        ("7.3", "Paths with varying delay", "SHOULD"),
        ("7.4", "Internet of things and constrained nodes", "should"),
        ("7.5", "Paths with high delay", "should"),
        ("7.6", "Misbehaving nodes", "SHOULD"),
        ("7.7", "Extreme packet reordering", "should"),
        ("7.8", "Transient events", "SHOULD"),
        ("7.9", "Sudden changes in the path", "MUST"),
        ("7.10", "Multipath transport", "MUST"),
        ("7.11", "Data centers", "SHOULD"),
    )
)
"""Sections in the order of the RFC. 5.2 asks for starvation before its subsections."""
