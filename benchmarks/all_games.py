"""Every game that OpenSpiel registers: solved, or refused in words.

    python -m benchmarks.all_games --out=docs/all_games.md
    python -m benchmarks.all_games --games=chess,dark_hex --seconds=10

Each game runs with its default parameters, in a process of its own with a limit on
memory. What is solved for `--iterations` goes on for `--longer` seconds of processor
time: what is refused only then is told. After `--seconds` the process gets Ctrl-C
(SIGINT), which it must hear within `PATIENCE` seconds. Games that cannot be loaded
without parameters get those below.
"""

import collections
import json
import multiprocessing
import os
import re
import resource
import signal
import time
from typing import Any

import pyspiel
from absl import app, flags
from open_spiel.python import games as python_games
from open_spiel.python.mfg import games as mean_field_games

import mccfr_spiel as ms
from benchmarks.machine import deliver, describe, markdown

PATIENCE = 10.0
PARAMETERS = {
    "add_noise": "add_noise(epsilon=0.1,game=kuhn_poker(),seed=1)",
    "cached_tree": "cached_tree(game=kuhn_poker())",
    "coop_to_1p": "coop_to_1p(game=tiny_hanabi())",
    "misere": "misere(game=tic_tac_toe())",
    "normal_form_extensive_game": "normal_form_extensive_game(game=matrix_rps())",
    "repeated_game": "repeated_game(num_repetitions=2,stage_game=matrix_pd())",
    "restricted_nash_response": (
        "restricted_nash_response(fixed_player=0,game=kuhn_poker(),p=0.5)"
    ),
    "start_at": "start_at(game=kuhn_poker(),history=0;1)",
    "turn_based_simultaneous_game": "turn_based_simultaneous_game(game=matrix_rps())",
    "zerosum": "zerosum(game=matrix_mp())",
}
ALGORITHMS = ("external_sampling", "outcome_sampling")
MODULES = python_games, mean_field_games
"""The games written in Python; they are registered when their modules are imported."""

SOLVED, LATER, STOPPED = "solved", "refused later", "stopped"
REFUSED, FAILED = "refused", "FAILED"

FLAGS = flags.FLAGS
flags.DEFINE_list("games", [], "Which games; all that are registered by default.")
flags.DEFINE_integer("iterations", 100, "Of each algorithm.", lower_bound=1)
flags.DEFINE_float(
    "longer",
    5.0,
    "Of processor time that a solved game is run on for.",
    lower_bound=0.0,
)
flags.DEFINE_float("seconds", 60.0, "For each game and algorithm.", lower_bound=0.1)
flags.DEFINE_integer("max_nodes", 1_000_000, "As Solver's.", lower_bound=1)
flags.DEFINE_integer("gibibytes", 8, "Address space of a process.", lower_bound=1)
flags.DEFINE_string("out", None, "The markdown file to write; standard output if none.")


def solve(
    name: str, algorithm: str, iterations: int, max_nodes: int, longer: float
) -> dict[str, Any]:
    """Runs one game; says how it went in words."""
    began = time.perf_counter()
    solver = None
    took = 0.0
    try:
        game = PARAMETERS.get(name, name)
        solver = ms.Solver(game, ms.ALGORITHMS[algorithm], max_nodes=max_nodes)
        solver.iterate(iterations)
        took = time.perf_counter() - began
        end = time.process_time() + longer
        while time.process_time() < end:
            solver.iterate(iterations)
        outcome, why = SOLVED, ""
    except KeyboardInterrupt:
        outcome, why = (SOLVED, "") if took else (STOPPED, "Ctrl-C")
    except ms.MemoryBudgetError as error:  # all that there is room for
        outcome, why = (SOLVED, "") if took else (REFUSED, str(error))
    except ValueError as error:
        outcome, why = LATER if took else REFUSED, str(error)
    except BaseException as error:  # whatever it is, the table must name it
        outcome, why = FAILED, f"{type(error).__name__}: {error}"
    return {
        "outcome": outcome,
        "why": why,
        "iterations": solver.num_iterations if solver else 0,
        "nodes": solver.nodes_touched if solver else 0,
        "infosets": solver.tree.num_infosets if solver else 0,
        "seconds": took if outcome == SOLVED else time.perf_counter() - began,
    }


def _child(pipe, name: str, algorithm: str, limits: dict[str, Any]) -> None:
    nothing = os.open(os.devnull, os.O_WRONLY)
    for descriptor in (1, 2):  # some games talk
        os.dup2(nothing, descriptor)
    most = limits["gibibytes"] << 30
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    result = solve(
        name, algorithm, limits["iterations"], limits["max_nodes"], limits["longer"]
    )
    result["mebibytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    pipe.send(result)


def run(
    name: str, algorithm: str, seconds: float, limits: dict[str, Any]
) -> dict[str, Any]:
    """Runs one game in a process of its own, which is stopped after so long."""
    context = multiprocessing.get_context("fork")  # everything is compiled already
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_child, args=(sender, name, algorithm, limits))
    began = time.perf_counter()
    child.start()
    sender.close()
    if not receiver.poll(seconds):
        os.kill(child.pid or 0, signal.SIGINT)
    heard = receiver.poll(max(0.0, began + seconds + PATIENCE - time.perf_counter()))
    try:
        result = receiver.recv() if heard else None
    except EOFError:
        result = None
    if result is None:
        child.kill()
    child.join()
    took = time.perf_counter() - began
    if result is None:
        why = f"exit code {child.exitcode}" if heard else "hears no Ctrl-C"
        result = {"outcome": FAILED, "why": why, "mebibytes": 0, "iterations": 0}
        result |= {"nodes": 0, "infosets": 0, "seconds": took}
    return {"game": name, "algorithm": algorithm, **result}


def cell(row: dict[str, Any]) -> str:
    """What the table says of one run."""
    seconds = f"{row['seconds']:.1f} s"
    if row["outcome"] == SOLVED:
        return seconds
    if row["outcome"] == STOPPED:
        return f"Ctrl-C after {seconds}: {row['iterations']} iterations"
    if row["outcome"] == LATER:
        return f"refused after {row['iterations']:,} iterations ({seconds})"
    return f"{row['outcome']} ({seconds})"


def late(row: dict[str, Any]) -> str:
    """When it was refused, if not at once."""
    if row["outcome"] != LATER:
        return ""
    return f" (after {row['iterations']:,} iterations)"


REASONS = {
    "no strings": (
        r"gives no information-state string",
        "The game gives no information-state strings, by which solvers tell "
        "information sets apart. `Solver` takes an abstraction that makes them.",
    ),
    "imperfect recall": (
        r"after different own pasts",
        "A player reaches one information state after different own pasts: the game "
        "forgets, or its strings do not tell all that the player knows. The message "
        "shows the string and the history.",
    ),
    "walk too large": (
        r"At most max_nodes=.* are kept, .*but a single walk",
        "A single walk meets more than `max_nodes` nodes, since it follows all actions "
        "of a player. Outcome sampling follows one history.",
    ),
    "history too long": (
        r"^Games of .* are so long",
        "Outcome sampling met a history whose probability is below 1e-290, so the "
        "unbiased estimate does not fit a floating-point number.",
    ),
    "mean field": (
        r"is a mean field game",
        "Mean field games have no finite game tree.",
    ),
    "hidden chance": (
        r"has sampled stochastic chance",
        "The game does not list its chance outcomes (sampled stochastic chance).",
    ),
}
"""Common reasons: a word for each, a pattern of its messages, and what it means."""


def words(text: str, most: int = 150) -> str:
    """An error message as one cell of a table: the word of a common reason, or the
    message itself, its middle left out if it is long."""
    for word, (pattern, _) in REASONS.items():
        if re.search(pattern, text, re.DOTALL):
            return f"*{word}*"
    text = " ".join(text.split()).replace("|", "\\|").replace("`", "'")
    return text if len(text) <= 2 * most else f"{text[:most]} ... {text[-most:]}"


def report(rows: list[dict[str, Any]], limits: dict[str, Any], seconds: float) -> str:
    """The markdown of all results."""
    by_game: dict[str, list[dict[str, Any]]] = collections.defaultdict(list)
    for row in rows:
        by_game[row["game"]].append(row)
    counts = collections.Counter((row["algorithm"], row["outcome"]) for row in rows)
    solved, refused = [], []
    for name, pair in by_game.items():
        title = f"`{PARAMETERS.get(name, name)}`"
        reasons = [
            f"{row['algorithm'].partition('_')[0]}{late(row)}: {words(row['why'])}"
            for row in pair
            if row["outcome"] in (REFUSED, LATER, FAILED)
        ]
        if all(row["outcome"] in (REFUSED, LATER) for row in pair):
            if len({row["why"] for row in pair}) == 1:
                reasons = [words(pair[0]["why"])]
            refused.append([title, "<br>".join(reasons)])
            continue
        largest = max(pair, key=lambda row: row["infosets"])
        solved.append(
            [
                title,
                *(cell(row) for row in pair),
                f"{largest['infosets']:,}",
                f"{max(row['mebibytes'] for row in pair):,}",
                "<br>".join(reasons),
            ]
        )
    outcomes = [SOLVED, STOPPED, LATER, REFUSED, FAILED]
    summary = [
        [algorithm, *(str(counts[algorithm, outcome]) for outcome in outcomes)]
        for algorithm in ALGORITHMS
    ]
    return f"""# All games of OpenSpiel

{limits["iterations"]} iterations of external and of outcome sampling on each of the
{len(by_game)} registered games, with default parameters unless the table shows others,
`max_nodes={limits["max_nodes"]:,}`, {limits["gibibytes"]} GiB of address space. After
{seconds:.0f} s the run gets Ctrl-C and stops with its solver intact. A refusal is a
`ValueError` that says why. Games that pass the {limits["iterations"]} iterations go on
for {limits["longer"]:g} s of processor time; those in which a walk meets only then what
cannot be solved are *refused later*. With more time, others may be, too. A run of the
command line keeps what it has found until then. FAILED would be a crash, a hang or any
other error.

{describe("all_games")}

{markdown(["algorithm", *outcomes], summary)}

## Solved by at least one of them

The time includes loading the game. Memory is the process's largest resident set, which
is at least {min(row["mebibytes"] for row in rows)} MiB in every run. The words in the
last column are explained at the end of the page.

{markdown(["game", "external", "outcome", "infosets met", "MiB", "why not"], solved)}

## Refused

{markdown(["game", "why"], refused)}

## The common reasons

{chr(10).join(f"- *{word}*: {meaning}" for word, (_, meaning) in REASONS.items())}
"""


def warm_up() -> None:
    """Compiles what the processes need, so that each has it from the start."""
    for algorithm in ALGORITHMS:
        ms.Solver("kuhn_poker", ms.ALGORITHMS[algorithm]).iterate(2)


def main(_: list[str]) -> None:
    warm_up()
    limits: dict[str, Any] = {
        name: FLAGS[name].value for name in ("iterations", "max_nodes", "longer")
    }
    limits["gibibytes"] = FLAGS.gibibytes
    rows = []
    for name in FLAGS.games or pyspiel.registered_names():
        for algorithm in ALGORITHMS:
            row = run(name, algorithm, FLAGS.seconds, limits)
            rows.append(row)
            print(json.dumps(row), flush=True)
    text = report(rows, limits, FLAGS.seconds)
    deliver(text, FLAGS.out)


if __name__ == "__main__":
    app.run(main)
