r"""What the largest games of OpenSpiel take under a budget of memory, at every door.

    python -m benchmarks.memory_budget --out=docs/memory.md

The games are those registered games, with default parameters, of which a random
history takes the most memory to keep. Each cell is a process of its own under a limit
of address space. The table replaces the one between two marks in the file.
"""

import json
import pathlib
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import pyspiel
from absl import app, flags
from open_spiel.python import policy as openspiel_policy

import mccfr_spiel as ms
from benchmarks.machine import describe, markdown
from mccfr_spiel.limits.budget import in_words, resident
from mccfr_spiel.tree.loading import turn_based

FLAGS = flags.FLAGS
flags.DEFINE_string("out", None, "Markdown file whose table is replaced.")
flags.DEFINE_integer("mebibytes", 1024, "The budget.", lower_bound=1)
flags.DEFINE_integer("limit", 3072, "MiB of address space of each process.")
flags.DEFINE_float("seconds", 30.0, "Of sampling, where nothing ends it before.")
flags.DEFINE_integer("games", 10, "How many games.", lower_bound=1)
flags.DEFINE_list(
    "also", ["cursor_go", "battleship", "phantom_ttt"], "Besides: smaller, but sampled."
)
flags.DEFINE_list("only", [], "These games instead of all those.")
flags.DEFINE_string("cell", None, "One cell, as JSON: for its process.")

BEGIN = "<!-- begin: benchmarks.memory_budget -->"
END = "<!-- end: benchmarks.memory_budget -->"
HISTORIES = 3


# --- which games ----------------------------------------------------------------


def bytes_of_history(name: str) -> float:
    """Bytes of the infosets on a random history; 0 if no solver takes the game."""
    try:
        tree = ms.GameTree(name)
    except (ValueError, pyspiel.SpielError):
        return 0.0
    generator, total = random.Random(0), 0
    budget = tree.budget
    end = time.monotonic() + 20
    for _ in range(HISTORIES):
        state = tree.new_state()
        while not state.is_terminal() and time.monotonic() < end:
            moves = state.legal_actions()
            if not state.is_chance_node():
                total += sys.getsizeof(state.information_state_string())
                total += budget.per_infoset + budget.per_sequence * len(moves)
            state.apply_action(generator.choice(moves))
    return total / HISTORIES


def largest(count: int) -> dict[str, float]:
    """The games whose histories take most, with the bytes of one."""
    sizes = {}
    for kind in pyspiel.registered_games():
        if kind.default_loadable:
            command = [sys.executable, "-m", "benchmarks.memory_budget"]
            command.append("--cell=" + json.dumps([kind.short_name, "size", 0, 0]))
            done = _run(command, timeout=60)
            sizes[kind.short_name] = done["size"] if done else 0.0
    names = sorted(sizes, key=lambda name: -sizes[name])[:count]
    return {name: sizes[name] for name in names}


# --- the doors ------------------------------------------------------------------


def _sample(algorithm: str) -> Callable[[str, int, float], object]:
    def door(game: str, size: int, seconds: float) -> None:
        solver = ms.Solver(game, ms.ALGORITHMS[algorithm], max_memory=size)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            solver.iterate(1)

    return door


def _nash_conv(game: str, size: int, seconds: float) -> None:
    turns = turn_based(pyspiel.load_game(game))
    policy = openspiel_policy.UniformRandomPolicy(turns)
    ms.nash_conv(game, policy, max_memory=size)


def _cached_tree(game: str, size: int, seconds: float) -> None:
    with tempfile.TemporaryDirectory() as folder:
        ms.cached_tree(game, folder, max_memory=size)


DOORS: dict[str, Callable[[str, int, float], object]] = {
    "CFR": lambda game, size, seconds: ms.Solver(game, ms.CFR, max_memory=size),
    "external": _sample("external_sampling"),
    "outcome": _sample("outcome_sampling"),
    "nash_conv": _nash_conv,
    "cached_tree": _cached_tree,
}


def cell(game: str, door: str, size: int, seconds: float) -> dict[str, Any]:
    """What one door did: how it ended, after how long, and the peak."""
    if door == "size":
        return {"size": bytes_of_history(game)}
    if door == "forecast":
        return {"forecast": ms.GameTree(game, max_memory=size).forecast().in_words()}
    for algorithm in ("external_sampling", "outcome_sampling", "cfr"):
        warm = ms.Solver("leduc_poker", ms.ALGORITHMS[algorithm], max_memory="8MB")
        warm.iterate(100)
    ms.nash_conv("kuhn_poker", ms.Solver("kuhn_poker").average_policy())
    before, began = resident(), time.monotonic()
    end = "ran"
    try:
        DOORS[door](game, size, seconds)
    except ValueError as error:
        end = _end_of(error)
    took = time.monotonic() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
    return {"end": end, "seconds": took, "peak": max(peak, 0)}


def _end_of(error: ValueError) -> str:
    if isinstance(error, ms.MemoryBudgetError) and "met so far" in str(error):
        return "full"
    if isinstance(error, ms.TreeFullError):
        return "refused"
    return "too unlikely" if "a probability below" in str(error) else f"{error}"[:60]


def command_line(game: str, size: int, seconds: float, arguments: list[str]) -> Any:
    """As `cell`, of run_experiments.py; the peak is that of the whole process."""
    with tempfile.TemporaryDirectory() as folder:
        program = [sys.executable, "run_experiments.py", f"--game={game}"]
        program += [f"--output_dir={folder}/run", f"--max_memory={size}", *arguments]
        began = time.monotonic()
        process = subprocess.Popen(
            program,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=_limit,
        )
        error = ""
        try:
            _, error = process.communicate(timeout=seconds + 15)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            _, error = process.communicate(timeout=120)
        took = time.monotonic() - began
        path = pathlib.Path(folder, "run")
        files = {file.name for file in path.iterdir()} if path.is_dir() else set()
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    end = "refused"
    if "solver.checkpoint" in files:
        end = "full, saved" if "met so far" in error else "saved"
    return {"end": end, "seconds": took, "peak": peak}


def _limit() -> None:
    most = FLAGS.limit * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _run(command: list[str], timeout: float) -> dict[str, Any] | None:
    """The JSON that a process prints last; None if it did not get so far."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=timeout, preexec_fn=_limit
        )
    except subprocess.TimeoutExpired:
        return None
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        return None
    return json.loads(lines[-1])


# --- the table ------------------------------------------------------------------


def in_cell(result: dict[str, Any] | None, size: int) -> str:
    """A result in a few words, with the peak in percent of the budget."""
    if result is None:
        return "no answer"
    share = 100 * result["peak"] / size
    mark = " **over**" if share > 110 else ""
    return f"{result['end']}, {result['seconds']:.1f} s, {share:.0f} %{mark}"


def rows_of(game: str, history: float, size: int) -> list[str]:
    """A row of the table."""
    command = [
        sys.executable,
        "-m",
        "benchmarks.memory_budget",
        f"--limit={FLAGS.limit}",
    ]

    def ask(door: str) -> dict[str, Any] | None:
        values = json.dumps([game, door, size, FLAGS.seconds])
        return _run([*command, f"--cell={values}"], FLAGS.seconds + 120)

    forecast = ask("forecast")
    cells = [f"`{game}`", in_words(history), forecast["forecast"] if forecast else ""]
    cells += [in_cell(ask(door), size) for door in DOORS]
    sampled = ["--algorithm=outcome_sampling", "--evaluate=sampled"]
    sampled += ["--evaluation_seconds=1", "--evaluation_plays=10"]
    for arguments in ([], sampled):
        values = json.dumps([game, arguments, size, FLAGS.seconds])
        result = _run([*command, f"--cell={values}"], FLAGS.seconds + 240)
        cells.append(in_cell(result, size))
    print(" | ".join(cells), file=sys.stderr, flush=True)
    return cells


def report(size: int) -> str:
    """The table, with what it is."""
    if FLAGS.only:
        games = {name: bytes_of_history(name) for name in FLAGS.only}
    else:
        games = largest(FLAGS.games)
        games |= {name: bytes_of_history(name) for name in FLAGS.also}
    rows = [rows_of(game, history, size) for game, history in games.items()]
    header = ["game", "a history", "forecast of the tree", *DOORS]
    header += ["command line", "command line, sampling"]
    return f"""{describe("memory_budget")}

`max_memory` is {in_words(size)} ({FLAGS.mebibytes} MiB) in every cell, and address
space {FLAGS.limit} MiB. A cell says how it ended, after how long, and the peak in
percent of the budget: by how much the process grew, or for the command line all that it
took, the interpreter and libraries (about 200 MB) included.

*refused*: an error before the game was solved. *full*: the infosets met filled the
budget, and the run stopped so that it can be saved and go on. *too unlikely*: outcome
sampling met a history of a probability below 1e-290. *ran*: nothing ended it in
{FLAGS.seconds:.0f} s. *saved*: Ctrl-C ended it then, or an error of its own, and
checkpoint and policy are on disk. Times of the command line include its start. *A
history* is what the infosets of a random one take; the last games are there because
sampling can go on in them.

{markdown(header, rows)}
"""


def main(argv: list[str]) -> None:
    """Prints one cell, or writes the table."""
    del argv
    size = FLAGS.mebibytes * 2**20
    if FLAGS.cell is not None:
        game, door, size, seconds = json.loads(FLAGS.cell)
        if isinstance(door, list):
            print(json.dumps(command_line(game, size, seconds, door)))
        else:
            print(json.dumps(cell(game, door, size, seconds)))
        return
    text = report(size)
    if FLAGS.out is None:
        print(text)
        return
    path = pathlib.Path(FLAGS.out)
    whole = path.read_text(encoding="utf-8")
    head, rest = whole.split(BEGIN)
    tail = rest.split(END)[1]
    path.write_text(f"{head}{BEGIN}\n{text}{END}{tail}", encoding="utf-8")


if __name__ == "__main__":
    app.run(main)
