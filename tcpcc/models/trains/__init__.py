"""The packet model in trains: several packets of a flow share an event."""

PER_RTT = 16  # trains in a round trip, by default in the hybrid
SENDERS = 100  # senders of a flow with a count, at most, by default
