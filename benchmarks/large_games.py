"""Games too large to enumerate: iterations per second while the tree grows.

    python -m benchmarks.large_games --out=large_games.md
    python -m benchmarks.large_games --games=liars_dice,leduc_poker --seconds=10

Each game and algorithm runs in a separate process, where our solver and OpenSpiel's C++
solver alternate in turns of CPU time.

| measurement | our solver | OpenSpiel's solver |
|---|---|---|
| cold | starts with an empty tree | starts with an empty table |
| warm | repeats the same walks over the nodes of the cold run | continues |

After the cold turns, which take equal time, both average policies are compared.
"""

import json
import math
import multiprocessing
import pathlib
import resource
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

import numpy as np
import psutil
import pyspiel
from absl import app, flags

import mccfr_spiel as ms
from benchmarks.machine import describe, markdown, per_second, repeat

_GOOFSPIEL = (
    "turn_based_simultaneous_game(game=goofspiel(imp_info=True,num_cards={},"
    "points_order=descending))"
)
GAMES = {
    **{f"goofspiel_{cards}": _GOOFSPIEL.format(cards) for cards in range(7, 14)},
    "liars_dice": "liars_dice(numdice=2)",
    "dark_hex": "dark_hex",
    "dark_hex_numturns": "dark_hex(obstype=reveal-numturns)",
    "phantom_ttt": "phantom_ttt",
    "battleship_3x2": (
        "battleship(board_width=3,board_height=2,ship_sizes=[2],ship_values=[1],"
        "num_shots=3,allow_repeated_shots=false)"
    ),
    "battleship": "battleship",
    "limit_holdem": pyspiel.hulh_game_string("fcpa"),
    "leduc_poker": "leduc_poker(players=3)",
}
"""Game -> load string; games whose trees are too large to expand."""

FORGETFUL = {"dark_hex", "limit_holdem"}
"""Games with imperfect recall, solved with their own strings: they forget failed moves
or the order of cards."""
ALGORITHMS = {
    "external": (
        ms.EXTERNAL_SAMPLING,
        lambda game: pyspiel.ExternalSamplingMCCFRSolver(game, 1),
    ),
    "outcome": (
        ms.OUTCOME_SAMPLING,
        lambda game: pyspiel.OutcomeSamplingMCCFRSolver(game, 0.6, 1),
    ),
}
SMALL = 2_000_000
"""Maximum number of nodes for exact NashConv."""

FLAGS = flags.FLAGS
flags.DEFINE_list("games", list(GAMES), "Games.")
flags.DEFINE_list("algorithms", list(ALGORITHMS), "Algorithms.")
for _flag, _known in (("games", GAMES), ("algorithms", ALGORITHMS)):
    flags.register_validator(
        _flag,
        lambda names, known=_known: set(names) <= set(known),
        f"not all of them are among {', '.join(_known)}",
    )
flags.DEFINE_float("seconds", 5.0, "CPU seconds of each solver, cold.", lower_bound=0.1)
flags.DEFINE_integer("turns", 5, "Number of turns.", lower_bound=1)
flags.DEFINE_float(
    "response", 4.0, "Seconds to learn a response; 0 for none.", lower_bound=0
)
flags.DEFINE_integer("plays", 2000, "Number of plays per response.", lower_bound=2)
flags.DEFINE_integer(
    "max_nodes", 14_000_000, "Maximum number of nodes of Solver.", lower_bound=1
)
flags.DEFINE_integer(
    "touch", 1024, "MiB to touch and free before each turn.", lower_bound=0
)
flags.DEFINE_integer(
    "gibibytes", 12, "Address space of a process in GiB.", lower_bound=1
)
flags.DEFINE_string("out", None, "Markdown file (default: standard output).")


class Meter:
    """Speed and memory growth of a solver that runs in turns."""

    def __init__(self, run: Callable[[int], None]) -> None:
        self._run = run
        self.iterations = 0
        self.rates: list[float] = []
        self.mebibytes = 0.0

    def turn(self, seconds: float, most: float = math.inf) -> None:
        """Runs for about `seconds`, or until `most` iterations are done in total."""
        touch_memory(FLAGS.touch)
        process, done, took = psutil.Process(), 0, 0.0
        held = process.memory_info().rss
        began = time.process_time()
        while took < 0.95 * seconds and self.iterations < most:
            rest = done * (seconds - took) / took if took else 1
            count = int(min(max(rest / 2, 1), 4 * done + 1, most - self.iterations))
            self._run(count)
            done += count
            self.iterations += count
            took = time.process_time() - began
        self.rates.append(done / took)
        self.mebibytes += max(0.0, process.memory_info().rss - held) / 2**20

    @property
    def rate(self) -> float:
        """Median of the iterations per second over the turns."""
        return statistics.median(self.rates)


def ratio(ours: Meter, theirs: Meter) -> float:
    """Median ratio of the rates within a turn."""
    pairs = zip(ours.rates, theirs.rates, strict=True)
    return statistics.median(mine / other for mine, other in pairs)


def touch_memory(mebibytes: int) -> None:
    """Writes to new memory and frees it.

    A virtual machine may receive memory from its host only on the first write, and lose
    it seconds after it is freed. The wait takes up to 40 times as long as the page
    fault itself, and varies. After this call, the next solver finds memory in place.
    """
    np.zeros(mebibytes << 17)[:: 4096 // 8] = 1


def whole_tree(game: pyspiel.Game) -> ms.GameTree | None:
    """Expands the tree of a small game; returns None for larger games."""
    try:
        return ms.GameTree(game).expand_all(most=SMALL)
    except ValueError:
        return None


def distance(
    game: pyspiel.Game, tree: ms.GameTree | None, policies: dict[str, Any]
) -> dict[str, str]:
    """NashConv of policies, or a lower bound from learned responses."""
    if tree is not None:
        return {
            label: f"{ms.nash_conv(tree, policy):.3f}"
            for label, policy in policies.items()
        }
    bounds = {}
    for label, policy in policies.items():
        gains = [
            ms.learned_response(
                game, policy, player, seconds=FLAGS.response, plays=FLAGS.plays
            ).gain
            for player in range(game.num_players())
        ]
        mean = sum(gain.mean for gain in gains)
        half_width = math.hypot(*(gain.half_width for gain in gains))
        bounds[label] = f"≥ {mean:.3f} ± {half_width:.3f}"
    return bounds


def measure(name: str, algorithm_name: str) -> dict[str, Any]:
    """Runs both solvers in turns on one game; returns a row."""
    game = pyspiel.load_game(GAMES[name])
    algorithm, make_theirs = ALGORITHMS[algorithm_name]
    turns, turn = FLAGS.turns, FLAGS.seconds / FLAGS.turns
    strings = pyspiel.State.information_state_string if name in FORGETFUL else None
    solver = ms.Solver(
        game, algorithm, seed=1, max_nodes=FLAGS.max_nodes, abstraction=strings
    )
    solver.iterate(1)  # raises ValueError if the game is refused
    theirs = make_theirs(game)
    cold, cpp = Meter(solver.iterate), Meter(repeat(theirs.run_iteration))
    for _ in range(turns):
        cold.turn(turn)
        cpp.turn(turn)
    count = solver.num_iterations
    kept = "twin" if solver.store == "none" else "met"
    row: dict[str, Any] = {
        "kept": "whole" if solver.tree.is_repeatable else kept,
        "nodes": solver.nodes_touched / count,
        "infosets": solver.tree.num_infosets,
        "cold": cold.rate,
        "cpp": cpp.rate,
        "cold ratio": ratio(cold, cpp),
        "MiB": cold.mebibytes,
        "cpp MiB": cpp.mebibytes,
    }
    if FLAGS.response and strings is None:
        policies = {
            "conv": solver.average_policy(),
            "cpp conv": theirs.average_policy(),
        }
        row |= distance(game, whole_tree(game), policies)
    num_nodes = solver.tree.num_nodes
    warm = Meter(ms.Solver(solver.tree, algorithm, seed=1).iterate)
    cpp = Meter(repeat(theirs.run_iteration))
    for done in range(1, turns + 1):
        warm.turn(turn, most=count * done // turns)
        cpp.turn(turn / 2)
    if solver.tree.num_nodes == num_nodes:  # the cold run dropped no nodes
        row |= {"warm": warm.rate, "warm ratio": ratio(warm, cpp)}
    return row


def run(name: str, algorithm: str) -> dict[str, Any]:
    """Calls `measure` in a separate process."""
    context = multiprocessing.get_context("fork")  # the parent has compiled everything
    most = FLAGS.gibibytes << 30
    limit = resource.RLIMIT_AS, (most, most)
    with ProcessPoolExecutor(1, context, resource.setrlimit, limit) as pool:
        try:
            row = pool.submit(measure, name, algorithm).result()
        except ValueError as error:
            row = {"why": " ".join(str(error).split())}
        except BrokenProcessPool:
            row = {"why": "the process died"}
    return {"game": name, "algorithm": algorithm, **row}


HEADER = ["game", "sampling", "nodes", "nodes/iteration", "C++/s", "ours cold/s"]
HEADER += ["ratio", "ours warm/s", "ratio", "infosets met", "MiB grown"]
HEADER += ["C++ MiB grown"]
OF_POLICIES = ["NashConv", "C++'s"]


def cells(row: dict[str, Any]) -> list[str]:
    """Formats a row of the table."""
    return [
        row["game"],
        row["algorithm"],
        row["kept"],
        f"{row['nodes']:,.0f}",
        per_second(row["cpp"]),
        per_second(row["cold"]),
        f"{row['cold ratio']:.2f}",
        per_second(row["warm"]) if "warm" in row else "",
        f"{row['warm ratio']:.1f}" if "warm" in row else "",
        f"{row['infosets']:,}",
        f"{row['MiB']:,.0f}",
        f"{row['cpp MiB']:,.0f}",
        *((row.get("conv", ""), row.get("cpp conv", "")) if FLAGS.response else ()),
    ]


def _about_policies() -> str:
    """Describes the columns of policies; "" without them."""
    if not FLAGS.response:
        return ""
    return f"""
NashConv is that of the average policies after equal time, cold. After a ≥ is what
responses learned for {FLAGS.response:g} s a player gained, with a 95% interval
({FLAGS.plays:,} plays). NashConv may be far above it."""


def report(rows: list[dict[str, Any]]) -> str:
    """Formats all results as Markdown."""
    names = dict.fromkeys(row["game"] for row in rows)
    games = [[name, f"`{GAMES[name]}`"] for name in names]
    measured = [cells(row) for row in rows if "why" not in row]
    why = [[row["game"], row["algorithm"], row["why"]] for row in rows if "why" in row]
    return f"""# Games that nobody can enumerate

{describe("large_games")}

The columns C++/s, cold/s and warm/s are iterations per second of processor time. An
iteration updates both players (in Leduc all three). The solvers alternate, and a number
is the median of {FLAGS.turns} turns of {FLAGS.seconds / FLAGS.turns:g} s. A ratio is
our speed divided by that of OpenSpiel's C++ solver with the same sampling, so ours is
faster where it is above 1.

Before each turn {FLAGS.touch:,} MiB of memory are written to and given back, so that
the solver does not wait for memory that a virtual machine has to get from its host.

*Cold* runs begin with nothing. The column *nodes* says how ours come to a node. With
`twin` walks go over the compiled twin of the game and keep no nodes; what
they keep is the information sets, most of which are new in a cold run. With `whole` the
twin has expanded the whole tree, before the first turn. With `met` nodes are fetched
from OpenSpiel by Python where walks meet them.

*Warm* runs make the same walks again with all that they meet known; they are left out
where the nodes did not fit `max_nodes`. A walk that meets both kinds lies in between.
MiB is what the process grew by in a solver's cold turns; room that ours has taken in
advance counts once it is used.{_about_policies()}

dark_hex and limit_holdem have imperfect recall. The strings of dark_hex forget when a
move failed. Those of universal_poker sort the cards on the board, so a player forgets
which of them was dealt last. Both games are solved with their own strings as an
abstraction (`Solver(game, abstraction=pyspiel.State.information_state_string)`). No
theorem covers that, and no response is learned. Without the abstraction the games are
refused when a walk first meets such a string. That may take long: in limit_holdem, with
seed 0, it happened after 10,993 iterations of external and 111,408 of outcome sampling.
The command line then keeps what it has, policy and checkpoint included, and says so.

{markdown(HEADER + OF_POLICIES * bool(FLAGS.response), measured)}

Refused, or ended by an error:

{markdown(["game", "sampling", "why"], why)}

The games:

{markdown(["name", "load string"], games)}
"""


def main(_: list[str]) -> None:
    for pair in ALGORITHMS.values():
        ms.Solver("kuhn_poker", pair[0]).iterate(2)  # compiles
    rows = []
    for name in FLAGS.games:
        for algorithm in FLAGS.algorithms:
            rows.append(run(name, algorithm))
            print(json.dumps(rows[-1]), flush=True)
    text = report(rows)
    if FLAGS.out:
        pathlib.Path(FLAGS.out).write_text(text, encoding="utf-8")
    else:
        print(text)


if __name__ == "__main__":
    app.run(main)
