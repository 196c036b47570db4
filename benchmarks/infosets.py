"""Nanoseconds a node while the information sets grow, from none to as many as fit.

    python -m benchmarks.infosets --gibibytes=18 --out=infosets.md
    python -m benchmarks.infosets --game=phantom_ttt --sampling=external --marks=1e3,1e5

One solver runs from nothing on, and stops at each mark: a number of information sets.
A line tells what a node took since the mark before. Where that was so quick that a
clock says little, further solvers with other seeds repeat it. The run ends with the
last mark, or when `--gibibytes` are full or `--minutes` are over. Nothing else should
run on the machine.
"""

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import pyspiel
from absl import flags

import mccfr_spiel as ms
from benchmarks.machine import (
    LARGE_GAMES,
    Reserve,
    deliver,
    describe,
    markdown,
)

ALGORITHMS = {"external": ms.EXTERNAL_SAMPLING, "outcome": ms.OUTCOME_SAMPLING}
MOST_REPEATS = 30
STEP_SECONDS = 1.0

VALUES = flags.FlagValues()  # its own, since tests import this beside other programs
flags.DEFINE_string(
    "game",
    "goofspiel_13",
    f"A load string, or one of {', '.join(LARGE_GAMES)}.",
    flag_values=VALUES,
)
flags.DEFINE_enum("sampling", "outcome", ALGORITHMS, "Of walks.", flag_values=VALUES)
flags.DEFINE_list(
    "marks",
    ["1e3", "1e4", "1e5", "1e6", "1e7", "1e8"],
    "Numbers of information sets, ascending.",
    flag_values=VALUES,
)
flags.DEFINE_float(
    "seconds",
    0.3,
    "Parts that are quicker are repeated until they took this.",
    lower_bound=0,
    flag_values=VALUES,
)
flags.DEFINE_float(
    "gibibytes", 4.0, "As max_memory.", lower_bound=0.01, flag_values=VALUES
)
flags.DEFINE_float(
    "minutes",
    60.0,
    "Of processor time for each part, after which the run ends.",
    lower_bound=0,
    flag_values=VALUES,
)
flags.DEFINE_boolean(
    "reserve",
    True,
    "Touch that memory first and hand it on while the run grows, see machine.Reserve.",
    flag_values=VALUES,
)
flags.DEFINE_string("out", None, "The markdown file to write.", flag_values=VALUES)


class Part(NamedTuple):
    """What happened between two marks.

    Attributes:
        infosets: the information sets at the end, at least as many as the mark says
            unless the memory was full before.
        new: how many of them are new.
        nodes: the nodes that walks have visited.
        seconds: of processor time.
        mebibytes: what the process has grown by since the run began.
        ended: why the run ended before the mark, such as "memory full"; else empty.
        solvers: how many took part.
    """

    infosets: int
    new: int
    nodes: int
    seconds: float
    mebibytes: float
    ended: str = ""
    solvers: int = 1


def parse_marks(words: Iterable[str]) -> list[int]:
    """The marks as numbers.

    Raises:
        ValueError: one is no whole number above 0, or they do not ascend.
    """
    marks = [float(word) for word in words]
    if not marks or any(mark < 1 or mark != int(mark) for mark in marks):
        raise ValueError(f"--marks={marks} are no whole numbers above 0.")
    if sorted(set(marks)) != marks:
        raise ValueError(f"--marks={marks} do not ascend.")
    return [int(mark) for mark in marks]


def parts_of(
    game: pyspiel.Game,
    algorithm: ms.Algorithm,
    marks: Sequence[int],
    *,
    seed: int,
    max_memory: int,
    most_seconds: float,
    reserve: Reserve,
) -> Iterator[Part]:
    """Runs a new solver from mark to mark, until the memory is full or a part has taken
    more than `most_seconds`."""
    held = reserve.taken()
    solver = ms.Solver(game, algorithm, seed=seed, max_memory=max_memory, store="none")
    for mark in marks:
        known, nodes, took = solver.tree.num_infosets, solver.nodes_touched, 0.0
        ended = ""
        while not ended and solver.tree.num_infosets < mark:
            reserve.keep_ahead(max(256.0, reserve.taken() - held))
            count = _next_step(solver, mark - solver.tree.num_infosets)
            began = time.process_time()
            try:
                solver.iterate(count)
            except ms.TreeFullError:
                ended = "memory full"
            took += time.process_time() - began
            if took > most_seconds and solver.tree.num_infosets < mark:
                ended = ended or "time up"
        now = solver.tree.num_infosets
        touched = solver.nodes_touched - nodes
        yield Part(now, now - known, touched, took, reserve.taken() - held, ended)
        if ended:
            return


def _next_step(solver: ms.Solver, left: int) -> int:
    """How many iterations to make at once, so that hardly more infosets than are left
    are met, and a step takes no longer than `STEP_SECONDS`."""
    done, known = solver.num_iterations, solver.tree.num_infosets
    if not done:
        return 1
    # New infosets become fewer, so that this is too few rather than too many.
    by_infosets = left * done // known
    by_time = int(STEP_SECONDS * done / max(solver.seconds, 1e-3))
    return max(1, min(by_infosets, by_time, 4 * done))


def added(first: Part, other: Part) -> Part:
    """Two parts between the same marks as one."""
    return first._replace(
        new=first.new + other.new,
        nodes=first.nodes + other.nodes,
        seconds=first.seconds + other.seconds,
        solvers=first.solvers + other.solvers,
    )


def measure(
    game: pyspiel.Game,
    algorithm: ms.Algorithm,
    marks: Sequence[int],
    *,
    max_memory: int,
    seconds: float,
    most_seconds: float,
    reserve: Reserve,
) -> list[Part]:
    """All parts; those that took less than so many seconds are repeated."""
    ms.Solver(game, algorithm, store="none").iterate(1)  # compiles
    found: list[Part] = []
    limits: dict[str, Any] = {
        "max_memory": max_memory,
        "most_seconds": most_seconds,
        "reserve": reserve,
    }
    for part in parts_of(game, algorithm, marks, seed=1, **limits):
        found.append(part)
        print(f"{part.infosets:,} information sets", file=sys.stderr, flush=True)
    for nth in range(len(found)):
        while found[nth].seconds < seconds and found[nth].solvers < MOST_REPEATS:
            if found[nth].ended:
                break
            seed = found[nth].solvers + 1
            *_, again = parts_of(game, algorithm, marks[: nth + 1], seed=seed, **limits)
            found[nth] = added(found[nth], again)
    return found


HEADER = ["information sets", "nodes since the line before", "ns/node"]
HEADER += ["new information sets a node", "MiB grown", "solvers"]


def cells(part: Part) -> list[str]:
    """A line of the table."""
    return [
        f"{part.infosets:,}{f' ({part.ended})' if part.ended else ''}",
        f"{part.nodes:,}",
        f"{1e9 * part.seconds / max(part.nodes, 1):,.0f}",
        f"{part.new / max(part.nodes, 1):.3f}",
        f"{part.mebibytes:,.0f}",
        str(part.solvers),
    ]


def last_words(part: Part, marks: Sequence[int], gibibytes: float) -> str:
    """What the run tells of memory, after its last part."""
    each = part.mebibytes * 2**20 / max(part.infosets, 1)
    words = f"The process grew by {each:,.0f} bytes for each information set."
    if part.ended == "memory full":
        needed = each * marks[-1] / 2**30
        words += (
            f" {part.infosets:,} of them filled {gibibytes:g} GiB; {marks[-1]:,} would "
            f"take about {needed:,.0f} GiB."
        )
    return words


def report(name: str, sampling: str, parts: Sequence[Part], after: str) -> str:
    """The markdown."""
    return f"""# Nanoseconds a node while information sets grow

{describe("infosets")}

{name}, {sampling} sampling, walks that keep no tree, from an empty store on. Times are
processor times of one thread, compilation left out.

{markdown(HEADER, [cells(part) for part in parts])}

{after}
"""


def main(arguments: list[str]) -> None:
    for name in VALUES:
        VALUES[name].unparse()  # it may have been called before
    VALUES(arguments)
    marks = parse_marks(VALUES.marks)
    size = int(VALUES.gibibytes * 2**30)
    reserve = Reserve(size >> 20 if VALUES.reserve else 0)
    game = pyspiel.load_game(LARGE_GAMES.get(VALUES.game, VALUES.game))
    parts = measure(
        game,
        ALGORITHMS[VALUES.sampling],
        marks,
        max_memory=size,
        seconds=VALUES.seconds,
        most_seconds=60 * VALUES.minutes,
        reserve=reserve,
    )
    after = last_words(parts[-1], marks, VALUES.gibibytes)
    deliver(report(VALUES.game, VALUES.sampling, parts, after), VALUES.out)


if __name__ == "__main__":
    main(sys.argv)
