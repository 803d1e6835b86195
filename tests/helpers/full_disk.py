"""A disk that is full."""

from contextlib import contextmanager

import pytest


@contextmanager
def files_of_at_most(size):
    """The system refuses to write longer files, as a full disk does."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
