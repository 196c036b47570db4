"""Policies and other files in the folder of a run.

solver.checkpoint            the solver, see `Solver.save`
results.csv                  one row per evaluation
policy.json or policy.bin    the final policy
policy_after_1000.bin        a policy saved during the run

`write_policy` writes the final policy. `load_policy` reads a policy from any of these
files except `results.csv`.
experiments/run_files.py lists the remaining files.
"""

import json
import os
import pathlib

import pyspiel

from mccfr_spiel.arenas.infosets.identity import has_name
from mccfr_spiel.arenas.infosets.loading import load_game
from mccfr_spiel.arenas.infosets.table import Abstraction
from mccfr_spiel.arenas.tree.game_tree import small_whole_tree
from mccfr_spiel.common import checkpoint
from mccfr_spiel.common.atomic_files import write_json
from mccfr_spiel.common.budget import MaxMemory
from mccfr_spiel.common.functions import OWN_STRINGS, saved_abstraction
from mccfr_spiel.policies.json_policies import from_json, is_of_file
from mccfr_spiel.policies.policy import SequencePolicy, to_json
from mccfr_spiel.policies.policy_files import from_contents
from mccfr_spiel.solving.solver import Solver

RESULTS = "results.csv"
POLICY, BINARY_POLICY = "policy.json", "policy.bin"

JSON_INFOSETS = 100_000
"""`write_policy` writes policies with more information sets in binary form."""

_JSON_PROBABILITIES = 10 * JSON_INFOSETS

PLAIN = False, OWN_STRINGS
"""Results of `saved_abstraction` for policies that use the game's own
information-state strings. JSON supports no others."""


def write_policy(folder: pathlib.Path, policy: SequencePolicy) -> pathlib.Path:
    """Writes a policy into a folder of results; returns the path of the file.

    Small policies are written to `policy.json` (see policies/json_policies.py). The
    file is `policy.bin` if the policy has an abstraction, more than JSON_INFOSETS
    information sets, or more than 10 * JSON_INFOSETS probabilities. `load_policy` reads
    both files.
    """
    few = policy.num_infosets <= JSON_INFOSETS
    small = few and len(policy.vector) <= _JSON_PROBABILITIES
    small &= saved_abstraction(policy.tree.abstraction) in PLAIN
    name, other = (POLICY, BINARY_POLICY) if small else (BINARY_POLICY, POLICY)
    if small:
        write_json(folder / name, to_json(policy))
    else:
        policy.save(folder / name)
    # A resumed run may have left an outdated policy in the other format.
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

    Accepted are a file of `SequencePolicy.save`, the `policy.json` or `policy.bin` of a
    run, the folder of a finished or interrupted run, and a file of `Solver.save`, which
    yields the solver's average policy.

    Reading never runs code from the file. For a `policy.json`, the legal actions of a
    state are compared with the game's only when the policy is looked up at this state.

    Args:
        path: the file or the folder.
        game: the game, if the load string in the file is not sufficient.
        abstraction: the abstraction of the policy, if there was one.
        max_memory: as in `Solver`. It has an effect only if the file is that of a
            solver, because no other file needs a tree.

    Raises:
        CheckpointError: the file is damaged, is not a policy, or belongs to another
            game.
        ValueError: the folder has no policy, the policy is not a distribution over the
            game's legal actions, or the game cannot be loaded.
        OSError: the file cannot be read.
    """
    path = pathlib.Path(path)
    if path.is_dir():
        file = policy_file_in(path)
        if file is None:
            raise ValueError(
                f"{path} contains no policy: expected {POLICY} or {BINARY_POLICY}, "
                f"written at the end of a run, or {checkpoint.CHECKPOINT}, written "
                "during the run."
            )
        path = file
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
    """The file from which to read the policy in a folder of results.

    This is the newer of `policy.json` and `policy.bin`. If neither exists, because the
    run was interrupted, it is the checkpoint, or else the previous checkpoint. None if
    there is no such file.
    """
    previous = checkpoint.CHECKPOINT + checkpoint.PREVIOUS
    for names in ((POLICY, BINARY_POLICY), (checkpoint.CHECKPOINT,), (previous,)):
        files = [folder / name for name in names if (folder / name).exists()]
        if files:
            return max(files, key=lambda path: path.stat().st_mtime_ns)
    return None


def _from_json_file(
    path: pathlib.Path, game: pyspiel.Game | str | None
) -> SequencePolicy:
    try:
        value = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise checkpoint.DamagedError(
            f"{path} is neither {checkpoint.POLICY.words} nor a policy in JSON: {error}"
        ) from error
    if not is_of_file(value) or not isinstance(value["game"], str):
        raise checkpoint.DamagedError(
            f'{path} contains no policy: expected the entries "game" and "players".'
        )
    source = load_game(value["game"] if game is None else game)
    if not has_name(source, value["game"]):
        raise checkpoint.CheckpointError(
            f"{path} contains a policy for {value['game']}, expected {source}."
        )
    try:
        return SequencePolicy(*from_json(value, source, small_whole_tree))
    except ValueError as error:
        raise checkpoint.DamagedError(
            f"{path} contains no valid policy for {source}: {error}"
        ) from error


def policy_after(iteration: int) -> str:
    """The file name of a policy saved after an iteration of a run."""
    return f"policy_after_{iteration}.bin"


def kept_policies(folder: pathlib.Path) -> dict[int, pathlib.Path]:
    """The policies saved during a run: iteration -> file, in ascending order."""
    files: dict[int, pathlib.Path] = {}
    for path in folder.glob("policy_after_*.bin"):
        digits = path.name.removeprefix("policy_after_").removesuffix(".bin")
        if digits.isdecimal():
            files[int(digits)] = path
    return dict(sorted(files.items()))
