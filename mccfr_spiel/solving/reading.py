"""Policies in files: one function writes them into a folder, one reads everything that
the package writes: files, folders, checkpoints."""

import json
import os
import pathlib

import pyspiel

from mccfr_spiel.arenas.infosets.loading import has_name, load_game
from mccfr_spiel.arenas.infosets.table import Abstraction
from mccfr_spiel.arenas.tree.game_tree import small_whole_tree
from mccfr_spiel.common import checkpoint
from mccfr_spiel.common.checkpoint import DamagedError
from mccfr_spiel.common.folders import BINARY_POLICY, CHECKPOINT, POLICY, write_json
from mccfr_spiel.common.limits import MaxMemory
from mccfr_spiel.policies.names import from_contents, from_json, is_of_file
from mccfr_spiel.policies.policy import SequencePolicy, to_json
from mccfr_spiel.solving.solver import Solver

JSON_INFOSETS = 100_000
"""The most information sets of a policy that is written as JSON."""

_JSON_PROBABILITIES = 10 * JSON_INFOSETS

PLAIN = False, checkpoint.OWN_STRINGS
"""What a header says of strings that are the game's own, as JSON has them."""


def write_policy(folder: pathlib.Path, policy: SequencePolicy) -> pathlib.Path:
    """Writes a policy into a folder of results; returns the file's path.

    The file is `policy.json` (see policies/names.py), or `policy.bin` if the
    policy has more than JSON_INFOSETS information sets or ten times as many
    probabilities, or an abstraction. `load_policy` reads both.
    """
    few = policy.num_infosets <= JSON_INFOSETS
    small = few and len(policy.vector) <= _JSON_PROBABILITIES
    small &= checkpoint.saved_abstraction(policy.tree.abstraction) in PLAIN
    name, other = (POLICY, BINARY_POLICY) if small else (BINARY_POLICY, POLICY)
    if small:
        write_json(folder / name, to_json(policy))
    else:
        policy.save(folder / name)
    # A run that was resumed may have left a policy of the other kind, now outdated.
    (folder / other).unlink(missing_ok=True)
    return folder / name


def load_policy(
    path: str | os.PathLike[str],
    game: pyspiel.Game | str | None = None,
    *,
    abstraction: Abstraction | None = None,
    max_memory: MaxMemory = None,
) -> SequencePolicy:
    """Reads a policy from any file or folder that this package has written.

        policy = ms.load_policy("results/leduc_poker_external_sampling_seed0")

    That is a file of `SequencePolicy.save`; the `policy.json` or `policy.bin` of a run;
    the folder of results of a run, also of one that was interrupted; or what
    `Solver.save` wrote, which gives the solver's average policy.

    Reading never runs code from the file. Each state of a `policy.json` is checked
    against the game when it is first asked for.

    Args:
        path: the file or the folder.
        game: the game, needed if its load string is not enough to make it.
        abstraction: the abstraction of the policy, if it had one.
        max_memory: as in `Solver`, for a solver's file. The other files need no tree.

    Raises:
        CheckpointError: the file is damaged, is not a policy, or belongs to another
            game.
        ValueError: the folder has no policy, the policy is not a distribution over the
            game's legal actions, or the game is unknown or cannot be loaded.
        OSError: the file cannot be read.
    """
    path = pathlib.Path(path)
    if path.is_dir():
        found = policy_file_in(path)
        if found is None:
            raise ValueError(
                f"{path} has neither {POLICY} nor {BINARY_POLICY}, which a run writes "
                f"when it ends, nor {CHECKPOINT}, which it writes on the way: it has "
                "no policy."
            )
        path = found
    kind = checkpoint.kind_of(path)
    if kind is checkpoint.SOLVER:
        solver = Solver.load(path, game, abstraction=abstraction, max_memory=max_memory)
        return solver.average_policy()
    if kind is not None:
        contents = checkpoint.load(path, checkpoint.POLICY)
        return SequencePolicy(
            *from_contents(contents, game, abstraction, small_whole_tree)
        )
    return _from_json_file(path, game)


def policy_file_in(folder: pathlib.Path) -> pathlib.Path | None:
    """The file in a folder of results that has its policy; None in another folder.

    That is the newer one if there are two; and the checkpoint if there is none, because
    a run was killed before it wrote its policy.
    """
    previous = CHECKPOINT + checkpoint.PREVIOUS
    for names in ((POLICY, BINARY_POLICY), (CHECKPOINT,), (previous,)):
        found = [folder / name for name in names if (folder / name).exists()]
        if found:
            return max(found, key=lambda path: path.stat().st_mtime_ns)
    return None


def _from_json_file(
    path: pathlib.Path, game: pyspiel.Game | str | None
) -> SequencePolicy:
    try:
        value = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise DamagedError(
            f"{path} is neither {checkpoint.POLICY.words} nor one in JSON: {error}"
        ) from error
    if not is_of_file(value) or not isinstance(value["game"], str):
        raise DamagedError(
            f"{path} has no policy: there is no table of the game and its players."
        )
    source = load_game(value["game"] if game is None else game)
    if not has_name(source, value["game"]):
        raise checkpoint.CheckpointError(
            f"{path} has a policy for {value['game']}, not for {source}."
        )
    try:
        return SequencePolicy(*from_json(value, source, small_whole_tree))
    except ValueError as error:
        raise DamagedError(f"{path} has no policy for {source}: {error}") from error
