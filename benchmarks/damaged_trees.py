"""What becomes of a cached tree of which one bit was flipped, anywhere.

    python -m benchmarks.damaged_trees --flips=2000

Each flip is met by a process of its own, a fork of one that has everything compiled: it
asks for the tree and for a policy's NashConv. A third of the flips each go to the
manifest, to the headers of the arrays (their first 128 bytes) and to their data.
"""

import collections
import importlib
import os
import pathlib
import random
import signal
import tempfile
import warnings

from absl import app, flags

import mccfr_spiel as ms
from benchmarks.machine import describe, markdown

importlib.import_module("mccfr_spiel.games")  # registers them

FLAGS = flags.FLAGS
flags.DEFINE_integer("flips", 2000, "How many for each game.", lower_bound=1)
flags.DEFINE_multi_string(
    "games", ["leduc_poker", "python_goofspiel(num_cards=4)"], "Which games."
)
flags.DEFINE_integer("seed", 1, "Of the flips.")
flags.DEFINE_boolean(
    "as_large",
    False,
    "Treat the tree as one that is too large to be read whole at each load.",
)

_HEADER = 128
_OUTCOMES = (
    "made anew with a warning, right NashConv",
    "served without a word, right NashConv",
    "wrong NashConv",
    "raw error",
)
_PLACES = ("manifest", "header", "data")


def flip(folder: pathlib.Path, place: str, generator: random.Random) -> pathlib.Path:
    """Flips one bit; returns the file."""
    arrays = sorted(folder.glob("*.npy"))
    weights = [path.stat().st_size - _HEADER for path in arrays]
    if place == "manifest":
        path = folder / "mccfr_spiel_tree.json"
    elif place == "header":
        path = generator.choice(arrays)
    else:
        path = generator.choices(arrays, weights)[0]
    data = bytearray(path.read_bytes())
    first, last = (0, len(data)) if place == "manifest" else (0, _HEADER)
    if place == "data":
        first, last = _HEADER, len(data)
    data[generator.randrange(first, last)] ^= 1 << generator.randrange(8)
    path.write_bytes(data)
    return path


def outcome(game: str, trees: pathlib.Path, expected: float) -> int:
    """What happens to a process that asks for the tree: an index in _OUTCOMES."""
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            gap = ms.nash_conv(ms.cached_tree(game, trees), uniform(game))
    except Exception:  # what a user would see as a traceback
        return 3
    if gap != expected:
        return 2
    return int(not any(w.category is ms.TreeCacheWarning for w in caught))


def uniform(game: str) -> ms.SequencePolicy:
    """The policy of which NashConv is asked for."""
    return ms.Solver(ms.GameTree(game).expand_all()).average_policy()


def attack(game: str, counts: collections.Counter[tuple[str, str]]) -> None:
    """Flips, asks and restores, again and again."""
    generator = random.Random(FLAGS.seed)
    with tempfile.TemporaryDirectory() as name:
        trees = pathlib.Path(name)
        expected = ms.nash_conv(ms.cached_tree(game, trees), uniform(game))
        ms.cached_tree(game, trees)
        (folder,) = trees.iterdir()
        good = {path.name: path.read_bytes() for path in folder.iterdir()}
        for number in range(FLAGS.flips):
            place = _PLACES[number % 3]
            flip(folder, place, generator)
            child = os.fork()
            if child == 0:
                code = len(_OUTCOMES)
                try:
                    signal.alarm(300)
                    code = outcome(game, trees, expected)
                finally:
                    os._exit(code)
            status = os.waitpid(child, 0)[1]
            found = f"ended by signal {status & 127}"
            if os.WIFEXITED(status):
                found = (*_OUTCOMES, "raw error")[os.WEXITSTATUS(status)]
            counts[found, place] += 1
            for path in folder.iterdir():
                if path.name not in good:
                    path.unlink()
            for name, data in good.items():
                if (folder / name).read_bytes() != data:
                    (folder / name).write_bytes(data)


def main(_: list[str]) -> None:
    if FLAGS.as_large:
        from mccfr_spiel.storage import checksums

        checksums.READ_EACH_TIME, checksums.BLOCK = 1 << 12, 1 << 10
    counts: collections.Counter[tuple[str, str]] = collections.Counter()
    for game in FLAGS.games:
        attack(game, counts)
    print(describe("damaged_trees"))
    print()
    found = list(dict.fromkeys([*_OUTCOMES, *(outcome for outcome, _ in counts)]))
    rows = [[name, *(str(counts[name, place]) for place in _PLACES)] for name in found]
    print(markdown(["outcome", *_PLACES], rows))
    if any(counts[name, place] for name in found[2:] for place in _PLACES):
        raise SystemExit(1)


if __name__ == "__main__":
    app.run(main)
