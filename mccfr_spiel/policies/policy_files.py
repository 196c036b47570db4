"""Policies in files: one function writes them into a folder, one reads every kind."""

import json
import os
import pathlib

import pyspiel

from mccfr_spiel.common import checkpoint
from mccfr_spiel.common.checkpoint import DamagedError
from mccfr_spiel.common.folders import (
    BINARY_POLICY,
    POLICY,
    write_json,
)
from mccfr_spiel.policies.names import checked_vector
from mccfr_spiel.policies.policy import SequencePolicy
from mccfr_spiel.policies.policy_json import from_json, is_of_file, to_json
from mccfr_spiel.tree.game_tree import Abstraction, load_game
from mccfr_spiel.tree.loading import has_name

JSON_INFOSETS = 100_000
"""The most information sets of a policy that is written as JSON."""

_JSON_PROBABILITIES = 10 * JSON_INFOSETS

PLAIN = False, checkpoint.OWN_STRINGS
"""What a header says of strings that are the game's own, as JSON has them."""


def write_policy(folder: pathlib.Path, policy: SequencePolicy) -> pathlib.Path:
    """Writes a policy into a folder of results; returns the file's path.

    The file is `policy.json` (see policies/policy_json.py), or `policy.bin` if the
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


def read_policy(
    path: str | os.PathLike[str],
    game: pyspiel.Game | str | None = None,
    *,
    abstraction: Abstraction | None = None,
) -> SequencePolicy:
    """Reads the file of a policy, binary or JSON.

    `reading.policies.load_policy` also reads folders of results and checkpoints, and
    has the same arguments and errors.
    """
    path = pathlib.Path(path)
    if checkpoint.kind_of(path) is not None:
        return SequencePolicy.load(path, game, abstraction=abstraction)
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
        names, vector = from_json(value, source)
        return SequencePolicy(names, checked_vector(names, vector))
    except ValueError as error:
        raise DamagedError(f"{path} has no policy for {source}: {error}") from error
