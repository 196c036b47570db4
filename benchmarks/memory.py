"""What solvers take: `Solver.memory` beside the growth of the process, as a table.

    python -m benchmarks.memory

Each row is a process of its own. Growth is from before the solver was made to after its
last iteration; the peak includes what expansion and growing arrays take for a moment.
"""

import importlib
import resource
import subprocess
import sys

from mccfr_spiel import ALGORITHMS, Solver

importlib.import_module("mccfr_spiel.games")  # registers them

RUNS = (
    ("python_goofspiel(num_cards=6)", "external_sampling", 20_000),
    ("python_goofspiel(num_cards=6)", "cfr_plus", 2),
    ("liars_dice", "external_sampling", 20_000),
    ("liars_dice", "cfr_plus", 2),
    ("phantom_ttt", "outcome_sampling", 60_000),
)
KINDS = ("nodes", "states", "infosets", "names", "tables", "passes")


def resident() -> int:
    """Bytes of the process in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def measure(game: str, name: str, iterations: int) -> str:
    """One row."""
    Solver("kuhn_poker", ALGORITHMS[name]).iterate(10)
    Solver("python_search(turns=2)", ALGORITHMS[name])
    before = resident()
    solver = Solver(game, ALGORITHMS[name])
    solver.iterate(iterations)
    grown = resident() - before
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
    memory = solver.memory()
    cells = [
        f"`{game}`, {name}",
        *(f"{number:,}" for number in memory[-3:]),
        *(f"{getattr(memory, kind) / 1e6:.1f}" for kind in KINDS),
        f"{memory.total / 1e6:.1f}",
        f"{grown / 1e6:.1f}",
        f"{peak / 1e6:.1f}",
        f"{memory.bytes_per_node:.1f}",
        f"{memory.bytes_per_sequence:.0f}",
    ]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Prints the table."""
    if len(sys.argv) > 1:
        print(measure(*RUNS[int(sys.argv[1])]))
        return
    heads = ["run", "nodes", "infosets", "sequences", *(f"{k} MB" for k in KINDS)]
    heads += ["total MB", "growth MB", "peak MB", "a node", "a sequence"]
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}", flush=True)
    for number in range(len(RUNS)):
        command = [sys.executable, "-m", "benchmarks.memory", str(number)]
        subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
