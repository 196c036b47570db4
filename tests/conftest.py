"""Fixtures that several test files use, and the two modes in which tests run.

Numba reads its mode once, when it is imported, so a process runs tests of one mode:

    NUMBA_DISABLE_JIT=1 python -m pytest    tests marked `interpreted` or `both`
    python -m pytest                        all tests but those marked `interpreted`

If only files in INTERPRETED are named, as an editor does that runs one test, the JIT is
off by default. `-m` and NUMBA_BOUNDSCHECK=1 leave the choice of tests to the caller.
"""

import gc
import importlib
import os
import pathlib
import signal
import sys
from collections.abc import Generator, Iterator, Sequence

import pytest

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


def has_interpreted_files_only(arguments: Sequence[str]) -> bool:
    """Whether a command line names tests, all of them in INTERPRETED."""
    tests = pathlib.Path(__file__).parent
    paths = [pathlib.Path(argument.partition("::")[0]) for argument in arguments]
    files = [path.resolve() for path in paths if path.suffix == ".py" or path.is_dir()]
    return bool(files) and all(
        file.is_relative_to(tests) and is_interpreted(file, tests) for file in files
    )


def is_interpreted(file: pathlib.Path, tests: pathlib.Path) -> bool:
    """Whether the tests of a file or folder run without the JIT, unless one is marked
    otherwise."""
    text = file.read_text(encoding="utf-8") if file.is_file() else ""
    for mark, answer in (("interpreted", True), ("compiled", False), ("both", False)):
        if f"\npytestmark = pytest.mark.{mark}\n" in text:
            return answer
    path = f"{file.relative_to(tests).as_posix()}/"
    names = (name if name.endswith("/") else f"{name}/" for name in INTERPRETED)
    return path.startswith(tuple(names))


if has_interpreted_files_only(sys.argv[1:]) and "NUMBA_BOUNDSCHECK" not in os.environ:
    os.environ.setdefault("NUMBA_DISABLE_JIT", "1")

import open_spiel.python.games  # noqa: E402, F401

from mccfr_spiel import GameTree  # noqa: E402

# Both imports register games. Every test may name them, whichever ran before it.
importlib.import_module("mccfr_spiel.games")


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


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Marks the tests that run without the JIT, and keeps those of the present mode."""
    tests = pathlib.Path(__file__).parent
    is_jit_off = os.environ.get("NUMBA_DISABLE_JIT", "0") != "0"
    kept, dropped = [], []
    for item in items:
        file = item.path.relative_to(tests).as_posix()
        has_mode = any(map(item.get_closest_marker, ("compiled", "both")))
        if file.startswith(INTERPRETED) and not has_mode:
            item.add_marker(pytest.mark.interpreted)
        is_marked = item.get_closest_marker("interpreted") is not None
        is_of_mode = is_marked == is_jit_off
        runs = is_of_mode or item.get_closest_marker("both") is not None
        (kept if runs else dropped).append(item)
    if not config.option.markexpr and "NUMBA_BOUNDSCHECK" not in os.environ:
        if dropped and not kept:
            mode = "0" if is_jit_off else "1"
            raise pytest.UsageError(
                "All of these tests run in the other mode. Set the environment "
                f"variable NUMBA_DISABLE_JIT={mode}."
            )
        config.hook.pytest_deselected(items=dropped)
        items[:] = kept


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
