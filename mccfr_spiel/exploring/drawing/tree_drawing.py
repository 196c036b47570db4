"""Tree drawing."""

import os
import pathlib
from collections.abc import Sequence
from typing import Any

import pyspiel
from open_spiel.python.policy import Policy

from mccfr_spiel.arenas.evaluating import complete_table
from mccfr_spiel.arenas.infosets.loading import check_length
from mccfr_spiel.arenas.infosets.table import InfosetTable
from mccfr_spiel.arenas.policy_vectors import policy_vector
from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.common import display, refusals
from mccfr_spiel.common.folders import write_file
from mccfr_spiel.exploring.drawing.drawn_nodes import drawn_nodes
from mccfr_spiel.exploring.drawing.picture import picture
from mccfr_spiel.exploring.drawing.printing import printed
from mccfr_spiel.policies.policy import SequencePolicy

MAX_DRAWN_NODES = 400
"""A larger tree could not be read, with one leaf on each row."""


_MAX_COUNTED = 100_000
"""So many nodes are counted to say how large a game is that is refused."""


class TreeDrawing:
    """A drawn tree, which notebooks show by themselves.

    Attributes:
        svg: the picture as the text of an SVG file, readable in light and dark.
    """

    def __init__(self, svg: str, words: str) -> None:
        """Keeps the picture, and words for its repr."""
        self.svg = svg
        self._words = words

    @display.never_raises
    def __repr__(self) -> str:
        return display.line(self, self._words)

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the picture as its name ends: .svg for browsers, .pdf or .png.

        Raises:
            ValueError: the name ends otherwise.
            ImportError: PDF and PNG need matplotlib, which is missing.
            OSError: the file cannot be written.
        """
        path = pathlib.Path(path)
        kind = path.suffix.lower().removeprefix(".")
        if kind not in ("svg", "pdf", "png"):
            raise ValueError(f"{path}: let the name end with .svg, .pdf or .png.")
        is_svg = kind == "svg"
        write_file(path, self.svg.encode() if is_svg else printed(self.svg, kind))


def draw_tree(
    game: pyspiel.Game | str | GameTree,
    policy: Any = None,
    *,
    around: Sequence[int] | str | None = None,
    depth: int | None = None,
    max_nodes: int = MAX_DRAWN_NODES,
) -> TreeDrawing:
    """Draws the whole tree of a small game, such as Kuhn poker, or a part of any.

        ms.draw_tree("kuhn_poker", solver.average_policy()).save("kuhn.svg")

    Moves have the game's own names. With a policy, edges are as wide as their moves are
    probable, and have the probability beside the name. Ends have the players' returns.
    A list below the tree says which information state each number stands for.

    Args:
        game: a game, its load string, or its tree. Simultaneous moves become turns.
        policy: any policy, or a list with one for each player, see `expected_returns`.
            For a part, an OpenSpiel policy, such as all that solvers give.
        around: the moves from the root to the node where the drawing begins, as
            OpenSpiel's actions or its string of a history, such as "0, 3"; None for the
            root.
        depth: how many moves further the drawing goes; by default 3 with `around`, and
            without it to the ends. Dots stand where the tree goes on.
        max_nodes: more nodes are refused.

    Raises:
        ValueError: there are too many nodes, see also `GameTree`; a move is not
            possible; or the policy is of another game.
    """
    max_nodes = refusals.integer(max_nodes, "max_nodes", 1)
    source = game.source if isinstance(game, InfosetTable) else game
    tree = GameTree(source)
    if isinstance(game, GameTree) and game.abstraction is None:
        tree = game
    state, moves, most, name = tree.new_state(), [], None, display.title(tree.source)
    if depth is not None and around is None:
        around = ()
    if around is not None:
        most = refusals.integer(3 if depth is None else depth, "depth", 0)
        moves = _moves_in(around)
        name += f", after {', '.join(map(str, moves))}" if moves else ""
        if not isinstance(policy, Policy | pyspiel.Policy | None):
            raise ValueError(
                "A part of a tree is drawn with an OpenSpiel policy, not with "
                f"{policy!r}."
            )
    for move in moves:
        if move not in state.legal_actions():
            raise ValueError(
                f"around={moves}: {move} is none of the moves {state.legal_actions()} "
                f"after {state.history()}."
            )
        state.apply_action(move)
    _check_size(tree.source, state, most, max_nodes)
    if policy is not None and around is None:
        tree = complete_table(tree)
        policy = SequencePolicy(tree, policy_vector(tree, policy))
    nodes = drawn_nodes(state, policy, most)
    words = f"{name}, {display.counted(len(nodes), 'node')}"
    return TreeDrawing(picture(nodes, tree.num_players, name), words)


def _moves_in(history: Sequence[int] | str) -> list[int]:
    """The actions that a user gives; raises ValueError for other words."""
    words = history.replace(",", " ").split() if isinstance(history, str) else history
    try:
        return [int(word) for word in words]
    except (TypeError, ValueError):
        raise ValueError(
            f"around={history!r} is no list of actions, such as [0, 3] or '0, 3'."
        ) from None


def _check_size(
    game: pyspiel.Game, state: pyspiel.State, depth: int | None, max_nodes: int
) -> None:
    """Raises ValueError if more nodes follow a state than are drawn."""
    most = max_nodes if depth is not None else max(_MAX_COUNTED, max_nodes)
    count, stack = 0, [(state, 0)]
    while stack and count <= most:
        state, level = stack.pop()
        count += 1
        check_length(game, level)
        if level != depth and not state.is_terminal():
            stack += [(state.child(move), level + 1) for move in state.legal_actions()]
    if count > max_nodes:
        there = "" if depth is None else " there"
        nodes = display.counted(count, "node")
        if count > most:
            nodes = f"more than {most:,} nodes{there}"
        raise ValueError(
            f"{display.brief(game)} has {nodes}, and a drawing of more than "
            f"{max_nodes:,} cannot be read. Draw a part (around=[], depth=2), or look "
            "at policy.table(); max_nodes allows more."
        )
