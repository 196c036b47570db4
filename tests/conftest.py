"""Fixtures that several test files use, and the marker that some files get."""

import gc
import importlib
import pathlib
import signal
from collections.abc import Generator, Iterator

import open_spiel.python.games  # noqa: F401
import pytest

# Both imports register games. Every test may name them, whichever ran before it.
importlib.import_module("mccfr_spiel.games")

PLAIN = (
    "command_line/",
    "display/",
    "docs/",
    "drawing/",
    "experiments/",
    "exploring/",
    "limits/",
    "papers/",
    "policies/",
    "reading/",
    "storage/test_atomic.py",
    "storage/test_folders.py",
    "test_all_games.py",
    "test_drop_in.py",
    "test_package.py",
    "test_readme.py",
    "test_structure.py",
)
"""Files whose tests read sources, pages and settings, or run loops, some of them in
programs that they start, which other tests run in each mode."""

LONG_WITHOUT_JIT = (
    "storage/test_checkpoint.py",
    "tree/test_tree_cache.py",
    "tree/test_tree_lock.py",
)
"""Files that compare compiled loops with themselves, after a file was written and read
or a lock was taken; where indices are checked they show what damaged files can do."""


CHECKED = (
    "compiled/",
    "evaluation/",
    "kernels/",
    "offline/",
    "rules/",
    "storage/test_checkpoint.py",
    "test_newer_rules.py",
    "tree/",
    "twins/",
)
"""Where loops are that must not leave their arrays. Other files run the same ones."""

NOT_CHECKED = (
    "evaluation/test_bounds.py",
    "evaluation/test_theory.py",
    "offline/test_linear_program.py",
    "tree/test_memory.py",
)
"""Files in the folders above that run no loop of their own."""


def pytest_configure() -> None:
    """Lets Ctrl-C be heard, also by programs that tests start: a shell has what it runs
    in the background ignore it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Generator[None, object, object]:
    """Puts back the handlers of signals after each test and the fixtures made for it.

    The program leaves signals ignored when it has done its work. The next test must not
    find them so, whether a test or a fixture of a module called the program.
    """
    handlers = {n: signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)}
    found = yield
    for number, handler in handlers.items():
        signal.signal(number, handler)
    return found


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Gives the tests of these files their markers."""
    tests = pathlib.Path(__file__).parent
    for item in items:
        file = item.path.relative_to(tests).as_posix()
        if file.startswith(PLAIN):
            item.add_marker(pytest.mark.plain)
        if file.startswith(LONG_WITHOUT_JIT):
            item.add_marker(pytest.mark.long_without_jit)
        if file.startswith(CHECKED) and not file.startswith(NOT_CHECKED):
            item.add_marker(pytest.mark.checked)


@pytest.fixture
def no_collection() -> Iterator[None]:
    """Keeps the garbage collector still while signal handlers raise exceptions.

    A handler that runs inside a callback of the collector (Hypothesis installs one)
    raises into nowhere: Python reports its exception as ignored and goes on.
    """
    gc.disable()
    yield
    gc.enable()
