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
from mccfr_spiel.arenas.tree.game_tree import Abstraction, GameTree
from mccfr_spiel.arenas.tree.loading import (
    has_name,
    load_game,
    saved_game,
    saved_print,
    told_by_string,
)
from mccfr_spiel.common import checkpoint
from mccfr_spiel.common.checkpoint import CheckpointError
from mccfr_spiel.common.display import brief
from mccfr_spiel.common.limits import MaxMemory
from mccfr_spiel.solving.preparing import needs_whole_tree
from mccfr_spiel.solving.state import SolverState

GAME_WAY_OUT = "Give the game that it was made with (game=...)."
"""What helps where a checkpoint is not of the game that is given."""

Source = pyspiel.Game | str | GameTree | None
"""What a caller may give to load a checkpoint on; None for the game that it names."""


def contents_of(state: SolverState, seconds: float) -> checkpoint.Contents:
    """What a checkpoint of a solver holds; its walk must stand between two others."""
    tree, algorithm = state.tree, state.algorithm
    header = {
        "version": checkpoint.SOLVER.version,
        "game": str(tree.source),
        "identity": saved_print(tree.source),
        "payoffs": _payoffs_print(state),
        "algorithm": repr(algorithm),
        "seed": state.seed,
        "seconds": seconds,
        "max_nodes": tree.max_nodes,
        # Infosets over rules are not met again in a tree, but taken from the file.
        "rules": None if state.store is not None else tree.digest(),
        "abstracted": checkpoint.saved_abstraction(tree.abstraction),
    }
    arrays = state.saved()
    if tree.worlds is not None:
        header["store"] = tree.store
    elif state.store is not None:
        header["store"] = "none"
        arrays |= state.store.saved()
    elif not needs_whole_tree(algorithm) and not tree.is_repeatable:
        arrays |= checkpoint.pack_strings(tree.info_states)
        arrays |= {"infosets": tree.infosets, "actions": tree.actions}
    return checkpoint.Contents(header, arrays)


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
        if "infosets" in arrays and isinstance(game, GameTree):
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


def tree_of(
    contents: checkpoint.Contents,
    game: Source,
    abstraction: Abstraction | None,
    max_memory: MaxMemory,
    twin: bool | None = None,
) -> GameTree:
    """The tree given, or a new one that numbers infosets as the checkpoint does.

    Raises:
        CheckpointError: the checkpoint is of another game, or damaged.
        ValueError: the game cannot be loaded, or the tree given is not complete.
    """
    header, arrays = contents
    if isinstance(game, GameTree):
        tree = game
        checkpoint.loaded_abstraction(header["abstracted"], tree.abstraction)
    else:
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
    if tree is game:
        if not tree.has_all_infosets:
            raise ValueError(
                f"The tree of {brief(tree.source)} is not complete; call its "
                "expand_all() first, or give the game."
            )
    elif "infosets" in arrays:
        _recall(tree, arrays)
    elif "store" in header:
        tree.find_worlds(header["store"])
    else:
        tree.expand_all()
    return tree


def _recall(tree: GameTree, arrays: dict[str, np.ndarray]) -> None:
    """Has a new tree know the infosets of a checkpoint, by their keys or by their
    strings; raises CheckpointError if they are not the game's."""
    infosets, actions = arrays["infosets"], arrays["actions"]
    has_keys = "key_ends" in arrays
    names: Any = arrays.get("key_ends")
    if not has_keys:
        names = checkpoint.unpack_strings(arrays["text"], arrays["ends"])
    checkpoint.check_infosets(len(names), infosets, actions, tree.num_players)
    if has_keys:
        if not tree.recall_rules(arrays):
            raise _other_rules(tree, "the keys of its information states")
        return
    if len({*zip(infosets["player"].tolist(), names, strict=True)}) != len(names):
        raise checkpoint.DamagedError("A player has a string twice in the file.")
    tree.recall(names, infosets, actions)


def _other_rules(tree: GameTree, what: str, hint: str = "") -> CheckpointError:
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
