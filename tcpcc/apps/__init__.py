"""What is built on the core: each package here uses controllers, scenarios, models and results, and
none of those knows it.
"""
