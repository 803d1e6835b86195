"""The memory of a run of the packet model."""
