"""Warnings of a call."""

import warnings


def warnings_of(call, category=Warning):
    """The texts of the warnings that `call()` gives, each of one line."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    texts = [str(each.message) for each in caught if issubclass(each.category, category)]
    assert not any("\n" in text for text in texts)
    return texts
