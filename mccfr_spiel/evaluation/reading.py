"""Policies from everything that the package writes: files, folders, checkpoints."""

import os
import pathlib

import pyspiel

from mccfr_spiel.common import checkpoint
from mccfr_spiel.common.folders import BINARY_POLICY, CHECKPOINT, POLICY
from mccfr_spiel.common.limits import MaxMemory
from mccfr_spiel.policies.policy import SequencePolicy
from mccfr_spiel.policies.policy_files import read_policy
from mccfr_spiel.solver import Solver
from mccfr_spiel.tree.game_tree import Abstraction


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
        path = _file_in(path)
    kind = checkpoint.kind_of(path)
    if kind is checkpoint.SOLVER:
        solver = Solver.load(path, game, abstraction=abstraction, max_memory=max_memory)
        return solver.average_policy()
    if kind is checkpoint.BOT:
        raise checkpoint.CheckpointError(
            f"{path} is {checkpoint.BOT.words}, which learns while it plays. It is no "
            "policy; read it with ms.OnlineOutcomeSamplingBot.load."
        )
    return read_policy(path, game, abstraction=abstraction)


def _file_in(folder: pathlib.Path) -> pathlib.Path:
    """The file in a folder of results that has its policy.

    That is the newer one if there are two; and the checkpoint if there is none, because
    a run was killed before it wrote its policy.
    """
    names = POLICY, BINARY_POLICY
    found = [folder / name for name in names if (folder / name).exists()]
    if not found:
        names = CHECKPOINT, CHECKPOINT + checkpoint.PREVIOUS
        found = [folder / name for name in names if (folder / name).exists()][:1]
    if not found:
        raise ValueError(
            f"{folder} has neither {POLICY} nor {BINARY_POLICY}, which a run writes "
            f"when it ends, nor {CHECKPOINT}, which it writes on the way: it has no "
            "policy."
        )
    return max(found, key=lambda path: path.stat().st_mtime_ns)
