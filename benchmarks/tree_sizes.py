"""The papers' games at their published sizes: what their trees hold and cost.

    python benchmarks/tree_sizes.py                          # all, docs/tree_sizes.md
    python benchmarks/tree_sizes.py --game=python_search     # one, by its load string

Each tree is made in a process of its own, whose peak memory is the tree's. A small tree
of the same game comes first, so that no compilation is timed. M is the M-value (Lanctot
et al. 2009) of both players.
"""

import argparse
import importlib
import json
import platform
import resource
import subprocess
import sys
import time
from typing import Any

from mccfr_spiel.arrays import MAX_INDEX
from mccfr_spiel.evaluation.theory import longest_history, m_values
from mccfr_spiel.tree.game_tree import GameTree

games = importlib.import_module("mccfr_spiel.games")

_KIB = 1 if sys.platform == "darwin" else 1024


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _KIB


def measure(game: str) -> dict[str, Any]:
    """The sizes and costs of one game's whole tree."""
    small = GameTree(game.split("(")[0] if game.startswith("python_") else "kuhn_poker")
    small.expand_all()
    longest_history(small)
    before = _peak_bytes()
    start = time.process_time()
    tree = GameTree(game, max_nodes=MAX_INDEX).expand_all()
    seconds = time.process_time() - start
    peak = _peak_bytes()
    infosets = tree.infosets
    players = [infosets["player"] == p for p in range(tree.num_players)]
    return {
        "nodes": tree.num_nodes,
        "infosets": [int(own.sum()) for own in players],
        "sequences": [1 + int(infosets["num_actions"][own].sum()) for own in players],
        "longest": longest_history(tree),
        "m_values": m_values(tree),
        "seconds": seconds,
        "microseconds": 1e6 * seconds / tree.num_nodes,
        "gigabytes": peak / 1e9,
        "bytes": (peak - before) / tree.num_nodes,
    }


def _row(name: str, sizes: dict[str, Any]) -> str:
    cells = [
        name,
        f"{sizes['nodes']:,}",
        " + ".join(f"{n:,}" for n in sizes["infosets"]),
        " / ".join(f"{n:,}" for n in sizes["sequences"]),
        str(sizes["longest"]),
        " / ".join(f"{m:,.3f}" for m in sizes["m_values"]),
        f"{sizes['seconds']:.2f}",
        f"{sizes['microseconds']:.2f}",
        f"{sizes['gigabytes']:.2f}",
        f"{sizes['bytes']:.0f}" if sizes["nodes"] > 1_000_000 else "",
    ]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Prints a markdown table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--game", help="a load string; prints JSON")
    only = parser.parse_args().game
    if only:
        print(json.dumps(measure(only)))
        return
    print("# The papers' games at their published sizes\n")
    print("Made by `python benchmarks/tree_sizes.py`: one core,", end=" ")
    print(f"Python {platform.python_version()}, {platform.machine()}.")
    print(
        "Games whose name begins with `python_` are expanded by their compiled rules,"
    )
    print("the others through pyspiel. Peak memory is the process's; bytes a node are")
    print("the tree's share of it, for trees of a million nodes or more.\n")
    heads = [
        "game",
        "nodes",
        "infosets",
        "sequences",
        "longest history",
        "M",
        "CPU seconds",
        "us a node",
        "peak GB",
        "bytes a node",
    ]
    print(f"| {' | '.join(heads)} |")
    print(f"|{'---|' * len(heads)}")
    for name, game in games.PAPER_GAMES.items():
        command = [sys.executable, __file__, f"--game={game}"]
        result = subprocess.run(command, capture_output=True, text=True)
        head = f"{name}: `{game}`"
        if result.returncode == 0:
            print(_row(head, json.loads(result.stdout)), flush=True)
        else:
            why = result.stderr.strip().rpartition("\n")[2]
            print(f"| {head} | {why} |{' |' * (len(heads) - 2)}", flush=True)


if __name__ == "__main__":
    main()
