"""The packet model: every packet, every ACK, in two drivers over the same handlers."""
