"""What a run costs before its first iteration: compiling, the tree, one evaluation.

    python -m benchmarks.startup

Compile: seconds to import the package in a new process, and from there to the end of
the first iteration on Kuhn poker (which itself takes microseconds), with an empty cache
of compiled code and with a full one. Trees: seconds, microseconds per node, and the
peak memory that the process gained. Evaluation: NashConv of the uniform policy beside
OpenSpiel's, the tree being there. Trees and evaluations are in processor time, and
every line is made in a process of its own.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from typing import Any

import pyspiel
from absl import app, flags

from benchmarks.machine import describe, markdown

ALGORITHMS = ["external_sampling", "outcome_sampling", "cfr_plus"]
GOOFSPIEL = (
    "turn_based_simultaneous_game(game=goofspiel(imp_info=True,num_cards=5,"
    "points_order={}))"
)
TREES = {
    "leduc_poker": "leduc_poker",
    "liars_dice": "liars_dice",
    "goofspiel, 5 cards, descending": GOOFSPIEL.format("descending"),
    "goofspiel, 5 cards, random": GOOFSPIEL.format("random"),
}
EVALUATED = ["leduc_poker", "liars_dice"]

FLAGS = flags.FLAGS
flags.DEFINE_string("measure", None, "Measure one thing only and print it as JSON.")
flags.DEFINE_string("of", None, "The algorithm or the game that is measured.")
flags.DEFINE_boolean("openspiel", True, "Time OpenSpiel's nash_conv too.")


def peak_bytes() -> int:
    """The most memory that this process has had."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def compiling(algorithm: str) -> dict[str, float]:
    """Seconds to import the package, and from there to the first iteration's end."""
    began = time.perf_counter()
    import mccfr_spiel as ms

    imported = time.perf_counter()
    ms.Solver("kuhn_poker", ms.ALGORITHMS[algorithm]).iterate(1)
    done = time.perf_counter()
    return {"import": imported - began, "first": done - imported}


def tree(game: str) -> dict[str, float]:
    """Seconds, nodes and memory of a whole tree."""
    import mccfr_spiel as ms

    ms.GameTree("kuhn_poker").expand_all()
    loaded = pyspiel.load_game(game)
    before = peak_bytes()
    began = time.process_time()
    result = ms.GameTree(loaded).expand_all()
    took = time.process_time() - began
    return {
        "seconds": took,
        "nodes": result.num_nodes,
        "infosets": result.num_infosets,
        "bytes": peak_bytes() - before,
    }


def evaluation(game: str) -> dict[str, float]:
    """Seconds of nash_conv, OpenSpiel's in Python and in C++ beside ours."""
    from open_spiel.python import policy as openspiel_policy
    from open_spiel.python.algorithms import exploitability

    import mccfr_spiel as ms

    loaded = pyspiel.load_game(game)
    whole = ms.GameTree(loaded).expand_all()
    vector = ms.Solver(whole, ms.CFR).average_vector()
    gap = ms.nash_conv(whole, vector)
    rounds = 20
    began = time.process_time()
    for _ in range(rounds):
        ms.nash_conv(whole, vector)
    result = {"ours": (time.process_time() - began) / rounds}
    if FLAGS.openspiel:
        uniform = openspiel_policy.UniformRandomPolicy(loaded)
        began = time.process_time()
        other: Any = exploitability.nash_conv(loaded, uniform)
        result["python"] = time.process_time() - began
        if abs(gap - float(other)) > 1e-9:
            raise RuntimeError(f"NashConv of {game}: {gap} here, {other} in OpenSpiel")
        began = time.process_time()
        pyspiel.nash_conv(loaded, pyspiel.UniformRandomPolicy(loaded))
        result["cpp"] = time.process_time() - began
    return result


MEASURES = {"compiling": compiling, "tree": tree, "evaluation": evaluation}


def elsewhere(measure: str, of: str, **environment: str) -> dict[str, Any]:
    """The same in a new process."""
    command = [sys.executable, "-m", "benchmarks.startup"]
    output = subprocess.run(
        [*command, f"--measure={measure}", f"--of={of}"],
        check=True,
        stdout=subprocess.PIPE,
        env=os.environ | environment,
    ).stdout
    return json.loads(output)


def compile_table() -> str:
    rows = []
    for algorithm in ALGORITHMS:
        with tempfile.TemporaryDirectory() as folder:
            cold = elsewhere("compiling", algorithm, NUMBA_CACHE_DIR=folder)
            cached = elsewhere("compiling", algorithm, NUMBA_CACHE_DIR=folder)
        cells = (cached["import"], cold["first"], cached["first"])
        rows.append([algorithm, *(f"{seconds:.2f}" for seconds in cells)])
    header = ["algorithm", "import, s", "first iteration, cold cache, s", "cached, s"]
    return markdown(header, rows)


def tree_table() -> str:
    rows = []
    for name, game in TREES.items():
        result = elsewhere("tree", game)
        nodes = result["nodes"]
        rows.append(
            [
                name,
                f"{nodes:,}",
                f"{result['infosets']:,}",
                f"{result['seconds']:.2f}",
                f"{1e6 * result['seconds'] / nodes:.2f}",
                f"{result['bytes'] / 2**20:.0f}",
                f"{result['bytes'] / nodes:.0f}",
            ]
        )
    header = ["tree", "nodes", "infosets", "seconds", "us/node", "peak MiB", "B/node"]
    return markdown(header, rows)


def evaluation_table() -> str:
    rows = []
    for game in EVALUATED:
        result = elsewhere("evaluation", game)
        keys = ("ours", "cpp", "python")
        rows.append([game, *(f"{1e3 * result[key]:,.3g}" for key in keys)])
    header = ["NashConv, ms", "ours", "OpenSpiel C++", "OpenSpiel Python"]
    return markdown(header, rows)


def main(_: list[str]) -> None:
    if FLAGS.measure is not None:
        print(json.dumps(MEASURES[FLAGS.measure](FLAGS.of)))
        return
    print(describe("startup"), compile_table(), sep="\n\n")
    print("", tree_table(), evaluation_table(), sep="\n\n")


if __name__ == "__main__":
    app.run(main)
