"""The accepted numbers of a paper's item, to which test_reproduction.py holds every run."""

from experiments import expected_numbers


def accepted(paper, item, model="packet"):
    """Those of a model by (row, column), with the range over seeds."""
    found = expected_numbers.numbers(paper, model)
    return {key[1:]: number for key, number in found.items() if key[0] == item}
