"""Fixtures that several test files use."""

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture
def no_collection() -> Iterator[None]:
    """Keeps the garbage collector still while signal handlers raise exceptions.

    A handler that runs inside a callback of the collector (Hypothesis installs one)
    raises into nowhere: Python reports its exception as ignored and goes on.
    """
    gc.disable()
    yield
    gc.enable()
