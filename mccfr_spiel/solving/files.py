"""The contents of a solver's checkpoint, and solvers from such contents.

The header contains the name of the game, hashes that distinguish games of the same
name, and the algorithm. The arrays are the solver's tables and, for trees that grow
during walks, the visited infosets. Nodes are not saved, because a loaded solver expands
them again. See common/checkpoint.py for the format.
"""

from functools import partial
from typing import Any

import numpy as np
import pyspiel

from mccfr_spiel.algorithms import OWN_KINDS, Algorithm, OwnPart, Part, value_in
from mccfr_spiel.arenas.choosing import choose_arena
from mccfr_spiel.arenas.infosets.identity import has_name, saved_print, told_by_string
from mccfr_spiel.arenas.infosets.loading import load_game, saved_game
from mccfr_spiel.arenas.infosets.table import Abstraction, InfosetTable
from mccfr_spiel.arenas.needs import EVALUATION, WALKS, needs_all_infosets
from mccfr_spiel.arenas.request import Game
from mccfr_spiel.arenas.rule_arena import RuleArena
from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.common import checkpoint
from mccfr_spiel.common.budget import MaxMemory
from mccfr_spiel.common.display import brief
from mccfr_spiel.common.functions import loaded_abstraction, saved_abstraction
from mccfr_spiel.common.infoset_arrays import check_infosets, unpack_strings
from mccfr_spiel.solving.state import SolverState

GAME_WAY_OUT = (
    "Pass the original game (game=...), or start a new run (on the command line, with "
    "--overwrite or in another --output_dir)."
)
"""The end of error messages about a checkpoint of another game: what the user can do.
"""

Source = Game | None
"""The game to continue with: a game, an arena (a representation of a game, such as a
GameTree), or None for the game named in the checkpoint."""


def contents_of(state: SolverState, seconds: float) -> checkpoint.Contents:
    """The contents of a solver's checkpoint.

    The contents describe the solver after its last complete update. Results of an
    unfinished walk are left out.

    Args:
        state: the state of the solver; not in the middle of an update.
        seconds: the solver's total running time.
    """
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
        "abstracted": saved_abstraction(tree.abstraction),
    }
    if state.gradients is not None:
        arrays = arrays | state.gradients.saved()
    return checkpoint.Contents(header | entries, state.saved() | arrays)


def check_rules(
    contents: checkpoint.Contents, state: SolverState, game: Source
) -> None:
    """Raises CheckpointError if the rules of a game differ from those of a checkpoint.

    Args:
        contents: the checkpoint.
        state: the state of a new solver on the game. Its tree has all infosets of the
            checkpoint.
        game: the game as given by the user, for the message.
    """
    (header, arrays), tree = contents, state.tree
    if header["rules"] is not None and header["rules"] != tree.digest():
        hint = ""
        if "infosets" in arrays and isinstance(game, InfosetTable):
            hint = (
                " Or only the numbering differs, because the tree of the checkpoint "
                "grew during walks. Pass the game instead of the tree."
            )
        raise _other_rules(tree, "information states or actions", hint)
    if header["payoffs"] not in (None, _payoffs_print(state)):
        raise _other_rules(tree, "payoffs or chance probabilities")


def _payoffs_print(state: SolverState) -> str | None:
    """A hash of the payoffs of all leaves, weighted by the probability of chance.

    None if the load string of the game determines them, or if the algorithm runs walks,
    because a list of all leaves is then not available.
    """
    return None if told_by_string(state.tree.source) else state.leaves_digest


def arena_of_file(
    contents: checkpoint.Contents,
    game: Source,
    abstraction: Abstraction | None,
    max_memory: MaxMemory,
    twin: bool | None = None,
) -> InfosetTable:
    """Returns an arena with the checkpoint's infosets, in the checkpoint's numbering.

    Args:
        contents: the checkpoint.
        game: see `Source`. An arena is checked and returned.
        abstraction, max_memory, twin: as in `Solver`.

    Raises:
        CheckpointError: the checkpoint is damaged or belongs to another game.
        ValueError: the game cannot be loaded, or the given arena does not know all
            infosets.
    """
    header, arrays = contents
    if isinstance(game, InfosetTable):
        loaded_abstraction(header["abstracted"], game.abstraction)
        _check_game(game.source, header)
        if not game.knows_all_infosets:
            raise ValueError(
                f"The tree of {brief(game.source)} is not complete. Call "
                "expand_all() first, or pass the game."
            )
        return game
    abstraction = loaded_abstraction(header["abstracted"], abstraction)
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
    """Returns an arena with the infosets of a checkpoint of a solver that walks.

    Solvers that store nodes save the information-state strings of the infosets. Solvers
    whose walks run compiled rules without storing nodes save binary keys instead.

    Args:
        tree: a new tree of the game.
        arrays: the arrays of the checkpoint, including the infosets.

    Raises:
        CheckpointError: the infosets are not those of the game.
    """
    infosets, actions = arrays["infosets"], arrays["actions"]
    has_keys = "key_ends" in arrays
    names: Any = arrays.get("key_ends")
    if not has_keys:
        names = unpack_strings(arrays["text"], arrays["ends"])
    check_infosets(len(names), infosets, actions, tree.num_players)
    if has_keys:
        arena = choose_arena(tree, WALKS, "none")
        assert isinstance(arena, RuleArena)
        if not arena.recall(arrays):
            raise _other_rules(tree, "the keys of information states")
        return arena
    if len({*zip(infosets["player"].tolist(), names, strict=True)}) != len(names):
        raise checkpoint.DamagedError(
            "The file contains duplicate information-state strings of a player."
        )
    tree.recall(names, infosets, actions)
    return tree


def _other_rules(
    tree: InfosetTable, difference: str, hint: str = ""
) -> checkpoint.CheckpointError:
    return checkpoint.CheckpointError(
        f"The rules of {brief(tree.source)} differ from those of the checkpoint: "
        f"{difference} have changed. {GAME_WAY_OUT}{hint}"
    )


def _check_game(source: pyspiel.Game, header: dict[str, Any]) -> None:
    """Raises CheckpointError unless the header of a checkpoint names the game."""
    if not has_name(source, header["game"]):
        raise checkpoint.CheckpointError(
            f"The checkpoint is for {header['game']}, expected {brief(source)}."
        )
    if header["identity"] != saved_print(source):
        raise checkpoint.CheckpointError(
            f"The checkpoint is for a different game with the name {brief(source)}: "
            f"payoffs, chance or information states differ. {GAME_WAY_OUT}"
        )


def algorithm_of_file(text: str, given: dict[str, Part | None]) -> Algorithm:
    """Converts the repr of an algorithm, from a checkpoint, to the algorithm.

    Files do not contain functions. A part of the algorithm that a user's function
    implements must therefore be given again; its name, source and parameters are
    compared with those in the repr.

    Args:
        text: the repr.
        given: name of a part ("minimizer", "sampling", "averaging") -> the part that
            the user has given again, or None.

    Raises:
        CheckpointError: a user's part is missing, unnecessary or different, or the text
            is not the repr of an algorithm.
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
            rule = getattr(getattr(algorithm, name), "rule", "a part of the package")
            raise checkpoint.CheckpointError(
                f"The checkpoint's {name} is {rule}, which is not a user's own. Load "
                f"the file without {name}=."
            )
    return algorithm


def _check_own(
    argument: str, part: Any, name: str, source: str, numbers: list[float]
) -> None:
    """Raises CheckpointError unless a part is that of the checkpoint.

    Args:
        argument: the name of the argument: minimizer, sampling or averaging.
        part: the given part.
        name, source, numbers: the name of the user's function, a hash of its source,
            and its parameters, as saved in the checkpoint.
    """
    if not isinstance(part, OwnPart):
        raise checkpoint.CheckpointError(
            f"The checkpoint uses the function {name}, but functions are "
            f"not saved. Pass the function: Solver.load(path, {argument}=...)."
        )
    for label, saved, present in (
        ("name", name, part.name),
        ("source", source, part.digest),
        ("parameters", numbers, [*getattr(part, "numbers", ())]),
    ):
        if saved != present:
            raise checkpoint.CheckpointError(
                f"The checkpoint's function: {label} {saved}, but got {present}. Pass "
                f"the original {name}, or start a new run."
            )
