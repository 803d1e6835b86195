"""80 scenarios with which models are compared with packets: ``python -m experiments.battery``."""
