"""Attacks solvers and trees from threads and signal handlers; counts what comes out.

    python -m benchmarks.threads --rounds=100

Each round is a process of its own, a fork of one that has everything compiled, so that
a crash counts as one and ends nothing else. What a round finds is compared to the bit
with solvers that nobody disturbed:

- policies from a second thread while a solver grows its tree;
- a signal handler that asks for policies, every few milliseconds;
- two solvers on one growing tree in two threads, the tree dropped again and again;
- two solvers on one whole tree in two threads;
- Ctrl-C in mid-walk, at random moments, with two solvers on one small tree;
- checkpoints from a second thread, loaded and compared;
- forks while another thread grows the tree.
"""

import collections
import json
import os
import pathlib
import random
import signal
import tempfile
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from absl import app, flags

import mccfr_spiel as ms
from benchmarks.machine import describe, markdown

FLAGS = flags.FLAGS
flags.DEFINE_integer("rounds", 100, "Of each attack.", lower_bound=1)
flags.DEFINE_string("game", "leduc_poker", "Which game.")
flags.DEFINE_integer("iterations", 200, "Of each solver in a round.", lower_bound=1)
flags.DEFINE_integer("max_nodes", 3000, "Of trees that are dropped.", lower_bound=1)
flags.DEFINE_float("seconds", 120, "After which a round hangs.")
flags.DEFINE_integer("seed", 1, "Of moments; solvers have the round's number.")
flags.DEFINE_list("attacks", [], "Which; all by default.")

REFUSALS: Any = getattr(ms, "TreeInUseError", ())
Tally = collections.Counter[str]


class WrongError(Exception):
    """What an attack found is not what an undisturbed solver has."""


def values(solver: ms.Solver) -> dict[str, tuple[bytes, ...]]:
    """The average and the current policy by information state, to the bit."""
    vectors = solver.average_vector(), solver.current_vector()
    rows = zip(solver.tree.info_states, solver.tree.infosets.tolist(), strict=True)
    return {
        name: tuple(vector[start : start + count].tobytes() for vector in vectors)
        for name, (_, start, _, count, _) in rows
    }


def check(solver: ms.Solver, seed: int) -> None:
    """Compares a solver with one that ran alone; raises WrongError.

    Its tree may have met more, for another solver.
    """
    alone = ms.Solver(FLAGS.game, solver.algorithm, seed=seed)
    alone.iterate(solver.num_iterations)
    if solver.nodes_touched != alone.nodes_touched:
        raise WrongError("other nodes")
    if not values(alone).items() <= values(solver).items():
        raise WrongError("other bits")


def check_policy(policy: ms.SequencePolicy) -> None:
    """Raises WrongError unless all rows are distributions."""
    for row in policy.to_dict().values():
        if not abs(sum(row.values()) - 1) < 1e-9:
            raise WrongError(f"a policy with the row {row}")


def in_thread(function: Callable[[], Any]) -> Callable[[], None]:
    """Starts a thread; the function returned waits for it and raises what it did."""
    errors: list[BaseException] = []

    def run() -> None:
        try:
            function()
        except BaseException as error:  # handed to the thread that waits
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()

    def wait() -> None:
        thread.join()
        if errors:
            raise errors[0]

    return wait


# --- the attacks: (seed of the round, random moments, what is counted) ---------------


def second_thread(seed: int, moments: random.Random, tally: Tally) -> None:
    """Policies while another thread iterates."""
    solver = ms.Solver(FLAGS.game, ms.EXTERNAL_SAMPLING, seed=seed)
    size = moments.randrange(1, 10)
    done = threading.Event()

    def run() -> None:
        try:
            while solver.num_iterations < FLAGS.iterations:
                solver.iterate(size)
        finally:
            done.set()

    wait = in_thread(run)
    while not done.is_set():
        tally["asked"] += 1
        check_policy(solver.average_policy())
    wait()
    check(solver, seed)


def signal_handler(seed: int, moments: random.Random, tally: Tally) -> None:
    """Policies from a handler, which is called in the middle of everything."""

    def handle(number: int, frame: Any) -> None:
        tally["asked"] += 1
        try:
            check_policy(solver.average_policy())
        except REFUSALS:
            tally["refused in words"] += 1
        signal.setitimer(signal.ITIMER_REAL, moments.uniform(1e-4, 3e-3))

    solver = ms.Solver(FLAGS.game, ms.EXTERNAL_SAMPLING, seed=seed)
    signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 1e-3)
    try:
        solver.iterate(FLAGS.iterations)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    check(solver, seed)


def two_on_growing_tree(seed: int, moments: random.Random, tally: Tally) -> None:
    """Two threads, each with a solver, on a tree that is dropped when it is full."""
    tree = ms.GameTree(FLAGS.game, max_nodes=FLAGS.max_nodes)
    _two_threads(tree, (ms.EXTERNAL_SAMPLING, ms.OUTCOME_SAMPLING), seed, moments)
    tally["asked"] += 1


def two_on_whole_tree(seed: int, moments: random.Random, tally: Tally) -> None:
    """Two threads, each with a solver, on a whole tree."""
    tree = ms.GameTree(FLAGS.game).expand_all()
    _two_threads(tree, (ms.CFR, ms.EXTERNAL_SAMPLING), seed, moments)
    tally["asked"] += 1


def _two_threads(
    tree: ms.GameTree,
    algorithms: tuple[ms.Algorithm, ms.Algorithm],
    seed: int,
    moments: random.Random,
) -> None:
    waits, solvers = [], []
    for k, algorithm in enumerate(algorithms):
        solver = ms.Solver(tree, algorithm, seed=seed + k)
        size = moments.randrange(1, 10)

        def run(solver: ms.Solver = solver, size: int = size) -> None:
            while solver.num_iterations < FLAGS.iterations:
                solver.iterate(min(size, FLAGS.iterations - solver.num_iterations))

        solvers.append(solver)
        waits.append(in_thread(run))
    for wait in waits:
        wait()
    for k, solver in enumerate(solvers):
        check(solver, seed + k)


def ctrl_c(seed: int, moments: random.Random, tally: Tally) -> None:
    """Two solvers in turns on a small tree; the first is interrupted often."""
    tree = ms.GameTree(FLAGS.game, max_nodes=FLAGS.max_nodes)
    first, second = (
        ms.Solver(tree, ms.EXTERNAL_SAMPLING, seed=seed + k) for k in range(2)
    )
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    while first.num_iterations < FLAGS.iterations:
        tally["asked"] += 1
        try:
            signal.setitimer(signal.ITIMER_REAL, moments.uniform(1e-4, 2e-2))
            first.iterate(FLAGS.iterations - first.num_iterations)
            signal.setitimer(signal.ITIMER_REAL, 0)
        except KeyboardInterrupt:
            tally["interrupted"] += 1
        second.iterate(moments.randrange(5))
    check(first, seed)
    check(second, seed + 1)


def saves(seed: int, moments: random.Random, tally: Tally) -> None:
    """Checkpoints by another thread; each is that of some number of iterations."""
    solver = ms.Solver(
        FLAGS.game, ms.OUTCOME_SAMPLING, seed=seed, max_nodes=FLAGS.max_nodes
    )
    most = 20 * FLAGS.iterations
    wait = in_thread(lambda: solver.iterate(most))
    with tempfile.TemporaryDirectory() as folder:
        for k in range(3):
            tally["asked"] += 1
            path = pathlib.Path(folder) / f"solver{k}"
            time.sleep(moments.uniform(0, 0.02))
            solver.save(path)
            check(ms.Solver.load(path), seed)
    wait()
    check(solver, seed)


def forks(seed: int, moments: random.Random, tally: Tally) -> None:
    """A process that starts while another thread is anywhere: asks, or is refused."""
    solver = ms.Solver(FLAGS.game, ms.EXTERNAL_SAMPLING, seed=seed)
    wait = in_thread(lambda: solver.iterate(FLAGS.iterations))
    for _ in range(5):
        time.sleep(moments.uniform(0, 0.01))
        tally["asked"] += 1
        child = os.fork()
        if not child:
            code = 9
            try:
                check_policy(solver.average_policy())
                solver.iterate(5)
                check(solver, seed)
                code = 0
            except REFUSALS:
                code = 3
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        if status == 3 << 8:
            tally["refused in words"] += 1
        elif status:
            raise WrongError(f"a forked process ended with the status {status}")
    wait()
    check(solver, seed)


ATTACKS = {
    "policies from a second thread": second_thread,
    "policies from a signal handler": signal_handler,
    "two solvers on a growing tree, two threads": two_on_growing_tree,
    "two solvers on a whole tree, two threads": two_on_whole_tree,
    "Ctrl-C in mid-walk, two solvers, small tree": ctrl_c,
    "checkpoints from a second thread": saves,
    "forks while another thread grows": forks,
}


# --- rounds --------------------------------------------------------------------------


def play(attack: Callable[..., None], number: int) -> Tally:
    """Plays one round in a process of its own; what came out."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        tally: Tally = collections.Counter()
        code = 1
        try:
            os.close(reader)
            attack(number, random.Random(FLAGS.seed * 10**6 + number), tally)
            code = 0
        except WrongError as error:
            print(f"round {number}: {error}", flush=True)
            code = 2
        except BaseException as error:
            print(f"round {number}: {error!r:.300}", flush=True)
        finally:
            os.write(writer, json.dumps(tally).encode())
            os._exit(code)
    os.close(writer)
    until = time.monotonic() + FLAGS.seconds
    ended, status = os.waitpid(child, os.WNOHANG)
    while not ended and time.monotonic() < until:
        time.sleep(0.01)
        ended, status = os.waitpid(child, os.WNOHANG)
    if not ended:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    with os.fdopen(reader, "rb") as pipe:
        text = pipe.read()
    outcome = collections.Counter(json.loads(text or "{}"))
    if not ended:
        outcome["hang"] = 1
    elif os.WIFSIGNALED(status):
        outcome["crash"] = 1
    else:
        outcome[("right", "error", "wrong")[min(os.WEXITSTATUS(status), 2)]] = 1
    return outcome


def compile_all() -> None:
    """Runs what the rounds run, so that their processes find it compiled."""
    for algorithm in (ms.CFR, ms.EXTERNAL_SAMPLING, ms.OUTCOME_SAMPLING):
        solver = ms.Solver(FLAGS.game, algorithm, max_nodes=80_000)
        solver.iterate(2)
        check(solver, 0)
        with tempfile.TemporaryDirectory() as folder:
            solver.save(pathlib.Path(folder) / "solver")
            ms.Solver.load(pathlib.Path(folder) / "solver")
    small = ms.Solver(FLAGS.game, ms.EXTERNAL_SAMPLING, max_nodes=FLAGS.max_nodes)
    small.iterate(20)
    assert np.isfinite(small.average_vector()).all()


def main(_: list[str]) -> None:
    compile_all()
    names = ("right", "wrong", "error", "crash", "hang")
    counted = ("asked", "interrupted", "refused in words")
    rows, is_well = [], True
    for title, attack in ATTACKS.items():
        if FLAGS.attacks and attack.__name__ not in FLAGS.attacks:
            continue
        total: Tally = collections.Counter()
        for number in range(FLAGS.rounds):
            total += play(attack, number)
        print(title, dict(total), flush=True)
        rows.append([title, *(str(total[name]) for name in (*names, *counted))])
        is_well = is_well and total["right"] == FLAGS.rounds
    print()
    print(describe("threads"))
    print()
    print(markdown(["attack", *names, *counted], rows))
    if not is_well:
        raise SystemExit(1)


if __name__ == "__main__":
    app.run(main)
