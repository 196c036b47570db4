"""Kills a run that saves checkpoints at random moments; what comes out is the same.

    python -m benchmarks.kills --kills=1000
    python -m benchmarks.kills --kills=50 --store=none

A process loads the newest good checkpoint, goes on and saves often, until the run is
done or a SIGKILL comes, which may be in the midst of a write. After a quarter of the
kills a random byte of the newest checkpoint is changed, and the one before it must be
used. Every finished run, such as the last one, is compared with an uninterrupted one to
the bit. The processes are forks of one that has everything compiled.
"""

import collections
import os
import pathlib
import random
import signal
import tempfile
import time

from absl import app, flags

import mccfr_spiel as ms
from benchmarks.machine import describe, markdown

FLAGS = flags.FLAGS
flags.DEFINE_integer("kills", 1000, "How many.", lower_bound=1)
flags.DEFINE_string("game", "leduc_poker", "Which game.")
flags.DEFINE_string("algorithm", "external_sampling", "One of the named algorithms.")
flags.DEFINE_integer("iterations", 200, "Of a run.", lower_bound=1)
flags.DEFINE_integer("every", 10, "Iterations between checkpoints.", lower_bound=1)
flags.DEFINE_integer("max_nodes", 3000, "As Solver's: the tree is dropped often.")
flags.DEFINE_enum("store", "tree", ["tree", "none"], "As Solver's.")
flags.DEFINE_string("max_memory", None, "As Solver's.")
flags.DEFINE_integer("seed", 1, "Of the kills and damages.")


def fresh() -> ms.Solver:
    """The solver at the begin of a run."""
    return ms.Solver(
        FLAGS.game,
        ms.ALGORITHMS[FLAGS.algorithm],
        seed=7,
        max_nodes=FLAGS.max_nodes,
        max_memory=FLAGS.max_memory,
        store=FLAGS.store,
    )


def finish(path: pathlib.Path) -> None:
    """Runs from the newest good checkpoint to the end."""
    try:
        solver = ms.Solver.load_newest(path)
    except FileNotFoundError:
        solver = fresh()
    while solver.num_iterations < FLAGS.iterations:
        solver.iterate(min(FLAGS.every, FLAGS.iterations - solver.num_iterations))
        solver.save(path)


def fork(path: pathlib.Path) -> int:
    """Starts `finish` in another process; its number."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            finish(path)
            code = 0
        finally:
            os._exit(code)
    return child


def bits(solver: ms.Solver) -> tuple[int, int, bytes, bytes, list[str]]:
    """What two runs are compared by."""
    return (
        solver.num_iterations,
        solver.nodes_touched,
        solver.average_vector().tobytes(),
        solver.current_vector().tobytes(),
        solver.tree.info_states,
    )


def damage(path: pathlib.Path, generator: random.Random) -> None:
    """Changes one byte of a file, at random."""
    data = bytearray(path.read_bytes())
    data[generator.randrange(len(data))] ^= generator.randrange(1, 256)
    path.write_bytes(data)


def is_refused(path: pathlib.Path) -> bool:
    """Whether a file is not loaded, in words."""
    try:
        ms.Solver.load(path)
    except ms.CheckpointError:
        return True
    return False


def main(_: list[str]) -> None:
    generator = random.Random(FLAGS.seed)
    expected = fresh()
    expected.iterate(FLAGS.iterations)
    counts: collections.Counter[str] = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "solver"
        previous = pathlib.Path(f"{path}.previous")
        began = time.perf_counter()
        finish(path)  # compiles what is left, and takes the time of a run
        longest = (time.perf_counter() - began) / 2
        path.unlink()
        previous.unlink()
        is_last = False
        while not is_last:
            is_last = counts["kills"] == FLAGS.kills  # then it may finish
            child = fork(path)
            if not is_last:
                time.sleep(generator.uniform(0, longest))
                os.kill(child, signal.SIGKILL)  # a zombie at most: nobody waited
            status = os.waitpid(child, 0)[1]
            if os.WIFEXITED(status):
                if os.WEXITSTATUS(status):
                    raise RuntimeError("A resumed run failed; see above.")
                solver = ms.Solver.load(path)
                counts["finished runs"] += 1
                if bits(solver) != bits(expected):
                    counts["finished runs that differ"] += 1
                for file in pathlib.Path(folder).iterdir():
                    file.unlink()
                continue
            counts["kills"] += 1
            for part in pathlib.Path(folder).glob(f"{path.name}.part-*"):
                part.unlink()
                counts["kills in the midst of a write"] += 1
            whole = path.exists() and previous.exists() and not is_refused(path)
            if whole and generator.random() < 0.3:  # about a quarter of all kills
                before = ms.Solver.load(previous).num_iterations
                damage(path, generator)
                counts["newest checkpoint damaged"] += 1
                counts["damaged one refused"] += is_refused(path)
                if generator.random() < 0.5:  # else the next process finds it first
                    used = ms.Solver.load_newest(path).num_iterations
                    counts["previous one asked for at once"] += 1
                    counts["previous one used at once"] += used == before
    print(describe("kills"))
    print()
    header = ["event", "times"]
    names = (
        "kills",
        "kills in the midst of a write",
        "newest checkpoint damaged",
        "damaged one refused",
        "previous one asked for at once",
        "previous one used at once",
        "finished runs",
        "finished runs that differ",
    )
    print(markdown(header, [[name, str(counts[name])] for name in names]))
    asked, used = names[4:6]
    if (
        counts["finished runs that differ"]
        or counts["damaged one refused"] != counts["newest checkpoint damaged"]
        or counts[asked] != counts[used]
    ):
        raise SystemExit(1)


if __name__ == "__main__":
    app.run(main)
