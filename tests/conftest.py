"""Fixtures that several test files use, and the marker that some files get."""

import gc
import pathlib
from collections.abc import Iterator

import pytest

PLAIN = (
    "display/",
    "docs/",
    "experiments/test_flag_words.py",
    "experiments/test_run_experiments.py",
    "storage/test_atomic.py",
    "storage/test_folders.py",
    "test_moved.py",
    "test_package.py",
    "test_readme.py",
    "test_structure.py",
)
"""Files whose tests read sources, pages and settings, or start programs whose loops
other tests run in each mode."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests of these files as plain."""
    tests = pathlib.Path(__file__).parent
    for item in items:
        if item.path.relative_to(tests).as_posix().startswith(PLAIN):
            item.add_marker(pytest.mark.plain)


@pytest.fixture
def no_collection() -> Iterator[None]:
    """Keeps the garbage collector still while signal handlers raise exceptions.

    A handler that runs inside a callback of the collector (Hypothesis installs one)
    raises into nowhere: Python reports its exception as ignored and goes on.
    """
    gc.disable()
    yield
    gc.enable()
