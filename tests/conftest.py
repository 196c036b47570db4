"""Fixtures that several test files use, and the two modes in which tests run."""

import gc
import importlib
import os
import pathlib
import signal
import subprocess
import sys
from collections.abc import Generator, Iterator

import open_spiel.python.games  # noqa: F401
import pytest

from mccfr_spiel import GameTree

# Both imports register games. Every test may name them, whichever ran before it.
importlib.import_module("mccfr_spiel.games")

INTERPRETED = (
    "arenas/",
    "evaluation/",
    "kernels/",
    "offline/",
    "solving/test_cluster.py",
    "test_fuzz.py",
    "test_own_rule.py",
    "test_reference.py",
    "test_solver.py",
)
"""Files that compare loops with the textbook, with OpenSpiel and with each other. Each
combination of options takes seconds to compile, and what it computes does not depend on
that; test_golden_bits.py shows it for all of them."""

MODE_VARIABLES = "NUMBA_DISABLE_JIT", "NUMBA_BOUNDSCHECK"
NOTHING_COLLECTED = pytest.ExitCode.NO_TESTS_COLLECTED


def pytest_configure() -> None:
    """Lets Ctrl-C be heard, also by programs that tests start: a shell has what it runs
    in the background ignore it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """Runs each test in its mode: a process makes those without the JIT, and if they
    pass, another one makes the others.

    Numba reads the mode once, when it is imported. Whoever chooses tests by `-m`, or
    sets one of the variables, has chosen the mode too.
    """
    options = config.option
    is_chosen = options.markexpr or any(name in os.environ for name in MODE_VARIABLES)
    only_tells = options.collectonly or options.help or options.version
    if is_chosen or only_tells or hasattr(config, "workerinput"):
        return None
    command = [sys.executable, "-m", "pytest", *config.invocation_params.args]
    first = subprocess.run(
        [*command, "-m", "interpreted or both"],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        check=False,
    ).returncode
    if first not in (pytest.ExitCode.OK, NOTHING_COLLECTED):
        return first
    second = subprocess.run([*command, "-m", "not interpreted"], check=False).returncode
    return first if second == NOTHING_COLLECTED else second


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
    """Marks the tests that run without the JIT, unless they say how they run."""
    tests = pathlib.Path(__file__).parent
    for item in items:
        file = item.path.relative_to(tests).as_posix()
        says_how = any(map(item.get_closest_marker, ("compiled", "both")))
        if file.startswith(INTERPRETED) and not says_how:
            item.add_marker(pytest.mark.interpreted)


@pytest.fixture
def no_collection() -> Iterator[None]:
    """Keeps the garbage collector still while signal handlers raise exceptions.

    A handler that runs inside a callback of the collector (Hypothesis installs one)
    raises into nowhere: Python reports its exception as ignored and goes on.
    """
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def expansions(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The games whose trees were expanded, in place of being found or loaded."""
    made: list[str] = []
    expand_all = GameTree.expand_all

    def counted(tree: GameTree, **options: int) -> GameTree:
        if not tree.is_complete:
            made.append(str(tree.source))
        return expand_all(tree, **options)

    monkeypatch.setattr(GameTree, "expand_all", counted)
    return made
