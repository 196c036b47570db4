"""Solvers in files: what a checkpoint says, and the way back from one.

common/checkpoint.py has the format. A checkpoint's header names the game, by which
hashes it can be told from others of that name, and the algorithm; its arrays are the
solver's state and, of a tree that grew with the walks, the infosets that it had met.
Nodes are not kept: they can be expanded again.
"""

from functools import partial
from typing import Any

import numpy as np
import pyspiel

from mccfr_spiel.algorithms import OWN_KINDS, Algorithm, OwnPart, Part, value_in
from mccfr_spiel.arenas.choosing import Game, choose_arena
from mccfr_spiel.arenas.infosets.loading import (
    has_name,
    load_game,
    saved_game,
    saved_print,
    told_by_string,
)
from mccfr_spiel.arenas.infosets.table import Abstraction, InfosetTable
from mccfr_spiel.arenas.needs import EVALUATION, WALKS, needs_all_infosets
from mccfr_spiel.arenas.rule_arena import RuleArena
from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.common import checkpoint
from mccfr_spiel.common.checkpoint import CheckpointError
from mccfr_spiel.common.display import brief
from mccfr_spiel.common.limits import MaxMemory
from mccfr_spiel.solving.state import SolverState

GAME_WAY_OUT = "Give the game that it was made with (game=...)."
"""What helps where a checkpoint is not of the game that is given."""

Source = Game | None
"""What a caller may give to load a checkpoint on; None for the game that it names."""


def contents_of(state: SolverState, seconds: float) -> checkpoint.Contents:
    """What a checkpoint of a solver holds; its walk must stand between two others."""
    tree, algorithm = state.tree, state.algorithm
    is_made_whole = needs_all_infosets(algorithm)
    entries, arrays = state.arena.saved(is_made_whole=is_made_whole)
    header = {
        "version": checkpoint.SOLVER.version,
        "game": str(tree.source),
        "identity": saved_print(tree.source),
        "payoffs": _payoffs_print(state),
        "algorithm": repr(algorithm),
        "seed": state.seed,
        "seconds": seconds,
        "max_nodes": tree.max_nodes,
        "abstracted": checkpoint.saved_abstraction(tree.abstraction),
    }
    return checkpoint.Contents(header | entries, state.saved() | arrays)


def check_rules(
    contents: checkpoint.Contents, state: SolverState, game: Source
) -> None:
    """Raises CheckpointError unless a tree has the rules that a checkpoint was made by.

    Args:
        contents: the checkpoint.
        state: of a new solver on the tree, which has all infosets of the checkpoint.
        game: what the tree was made of, for the message.
    """
    (header, arrays), tree = contents, state.tree
    if header["rules"] is not None and header["rules"] != tree.digest():
        hint = ""
        if "infosets" in arrays and isinstance(game, InfosetTable):
            hint = (
                " Or only their numbers: the checkpoint is of a tree that grew with "
                "the walks; give the game instead of its tree."
            )
        raise _other_rules(tree, "its information states or actions", hint)
    if header["payoffs"] not in (None, _payoffs_print(state)):
        raise _other_rules(tree, "its payoffs or its chance")


def _payoffs_print(state: SolverState) -> str | None:
    """A hash of all payoffs, if the game's string does not tell them and they are
    known, which they are where a whole pass has listed the leaves."""
    return None if told_by_string(state.tree.source) else state.leaves_digest


def arena_of_file(
    contents: checkpoint.Contents,
    game: Source,
    abstraction: Abstraction | None,
    max_memory: MaxMemory,
    twin: bool | None = None,
) -> InfosetTable:
    """The arena given, or a new one that numbers infosets as the checkpoint does.

    Raises:
        CheckpointError: the checkpoint is of another game, or damaged.
        ValueError: the game cannot be loaded, or the arena given does not know all
            infosets.
    """
    header, arrays = contents
    if isinstance(game, InfosetTable):
        checkpoint.loaded_abstraction(header["abstracted"], game.abstraction)
        _check_game(game.source, header)
        if not game.knows_all_infosets:
            raise ValueError(
                f"The tree of {brief(game.source)} is not complete; call its "
                "expand_all() first, or give the game."
            )
        return game
    abstraction = checkpoint.loaded_abstraction(header["abstracted"], abstraction)
    source = saved_game(header["game"]) if game is None else load_game(game)
    tree = GameTree(
        source,
        max_nodes=header["max_nodes"],
        max_memory=max_memory,
        abstraction=abstraction,
        twin=twin,
    )
    _check_game(tree.source, header)
    if "infosets" in arrays:
        return _recalled(tree, arrays)
    if "store" in header:
        return choose_arena(tree, EVALUATION, header["store"]).table
    return tree.expand_all()


def _recalled(tree: GameTree, arrays: dict[str, np.ndarray]) -> InfosetTable:
    """An arena that knows the infosets of a checkpoint, by their keys or by their
    strings; raises CheckpointError if they are not the game's."""
    infosets, actions = arrays["infosets"], arrays["actions"]
    has_keys = "key_ends" in arrays
    names: Any = arrays.get("key_ends")
    if not has_keys:
        names = checkpoint.unpack_strings(arrays["text"], arrays["ends"])
    checkpoint.check_infosets(len(names), infosets, actions, tree.num_players)
    if has_keys:
        arena = choose_arena(tree, WALKS, "none")
        assert isinstance(arena, RuleArena)
        if not arena.recall(arrays):
            raise _other_rules(tree, "the keys of its information states")
        return arena
    if len({*zip(infosets["player"].tolist(), names, strict=True)}) != len(names):
        raise checkpoint.DamagedError("A player has a string twice in the file.")
    tree.recall(names, infosets, actions)
    return tree


def _other_rules(tree: InfosetTable, what: str, hint: str = "") -> CheckpointError:
    return CheckpointError(
        f"The rules of {brief(tree.source)} are not those that the checkpoint was made "
        f"with: {what} have changed. {GAME_WAY_OUT}{hint}"
    )


def _check_game(source: pyspiel.Game, header: dict[str, Any]) -> None:
    """Raises CheckpointError unless a checkpoint's header is of that game."""
    if not has_name(source, header["game"]):
        raise CheckpointError(
            f"The checkpoint is of {header['game']}, not of {brief(source)}."
        )
    if header["identity"] != saved_print(source):
        raise CheckpointError(
            f"The checkpoint is of another game with the name {brief(source)}: "
            f"payoffs, chance or information states differ. {GAME_WAY_OUT}"
        )


def algorithm_of_file(text: str, given: dict[str, Part | None]) -> Algorithm:
    """The algorithm of which a checkpoint has the repr.

    Args:
        text: the repr.
        given: the parts that are a user's own, which no file holds; None for others.

    Raises:
        CheckpointError: a part is a user's own and is not given, or is another one than
            that of the file; or the text is no repr.
    """
    saved: dict[str, tuple[str, str, list[float]]] = {}

    def note(
        name: str, function: str, source: str, numbers: Any = (), **settings: Any
    ) -> Part | None:
        saved[name] = function, source, [*numbers]
        return given[name]

    own = {kind.maker: partial(note, name) for name, kind in OWN_KINDS.items()}
    try:
        algorithm = value_in(text, own)
    except ValueError as error:
        raise checkpoint.DamagedError(f"The checkpoint's {error}") from error
    for name, part in given.items():
        if name in saved:
            _check_own(name, part, *saved[name])
        elif part is not None:
            found = getattr(getattr(algorithm, name), "rule", "one of the package")
            raise CheckpointError(
                f"The checkpoint's {name} is {found}, which is not a user's own; load "
                f"it without {name}=."
            )
    return algorithm


def _check_own(
    argument: str, part: Any, name: str, source: str, numbers: list[float]
) -> None:
    """Raises CheckpointError unless the part that is given is the user's function of a
    file, with the same source and numbers."""
    if not isinstance(part, OwnPart):
        raise CheckpointError(
            f"The checkpoint is of a solver with the function {name}, and no "
            f"file holds a function. Give it again: Solver.load(path, {argument}=...)."
        )
    for words, saved, mine in (
        ("name", name, part.name),
        ("source", source, part.digest),
        ("parameters", numbers, [*getattr(part, "numbers", ())]),
    ):
        if saved != mine:
            raise CheckpointError(
                f"The checkpoint's function has the {words} {saved}, not {mine}. Give "
                f"{name} as it was, or begin anew."
            )
