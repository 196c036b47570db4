"""`draw_tree`: draws a game tree, with a policy if there is one."""

import os
import pathlib
from collections.abc import Sequence
from typing import Any

import pyspiel
from open_spiel.python.policy import Policy

from mccfr_spiel.arenas.evaluating import complete_table
from mccfr_spiel.arenas.infosets.string_checks import (
    check_length,
)
from mccfr_spiel.arenas.infosets.table import InfosetTable
from mccfr_spiel.arenas.policy_vectors import policy_vector
from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.common import display, refusals
from mccfr_spiel.common.atomic_files import (
    write_file,
)
from mccfr_spiel.exploring.drawing.drawn_nodes import drawn_nodes
from mccfr_spiel.exploring.drawing.picture import picture
from mccfr_spiel.exploring.drawing.printing import printed
from mccfr_spiel.exploring.drawing.tikz import tikz
from mccfr_spiel.policies.policy import SequencePolicy

MAX_DRAWN_NODES = 400
"""Default limit: each leaf has a row, so a larger drawing would be too tall to read."""

_MAX_COUNTED = 100_000
"""Nodes that are counted at most for the message that refuses a game."""


class TreeDrawing:
    """A drawn tree, which notebooks display.

    Attributes:
        svg: the picture as SVG text, readable on light and dark backgrounds.
    """

    def __init__(self, svg: str, description: str) -> None:
        """Stores the picture and a description for `repr`."""
        self.svg = svg
        self._description = description

    @display.never_raises
    def __repr__(self) -> str:
        return display.line(self, self._description)

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the picture as SVG, PDF, PNG or TikZ, according to the file's suffix.

        LaTeX documents input the TikZ picture, which needs the package tikz.

        Raises:
            ValueError: the suffix is not .svg, .pdf, .png or .tex.
            ImportError: PDF and PNG need matplotlib, which is missing.
            OSError: the file cannot be written.
        """
        path = pathlib.Path(path)
        suffix = path.suffix.lower().removeprefix(".")
        if suffix not in ("svg", "pdf", "png", "tex"):
            raise ValueError(
                f"path={str(path)!r} must end with .svg, .pdf, .png or .tex."
            )
        if suffix == "svg":
            content = self.svg.encode()
        elif suffix == "tex":
            content = tikz(self.svg).encode()
        else:
            content = printed(self.svg, suffix)
        write_file(path, content)


def draw_tree(
    game: pyspiel.Game | str | GameTree,
    policy: Any = None,
    *,
    around: Sequence[int] | str | None = None,
    depth: int | None = None,
    max_nodes: int = MAX_DRAWN_NODES,
) -> TreeDrawing:
    """Draws the whole tree of a small game, such as Kuhn poker, or a part of any game.

        ms.draw_tree("kuhn_poker", solver.average_policy()).save("kuhn.svg")

    The root is at the left. Decision nodes are circles in the player's colour, with the
    number of the infoset; chance nodes are diamonds. A dashed line joins the nodes of
    an infoset on the same level, with a dot at each node. Edges have the game's names
    of the moves; with a policy, they also show the move's probability, as a number and
    as width. Leaves show the returns. A list below the tree explains the infosets.

    Args:
        game: a game, its load string, or its tree. Simultaneous moves become turns.
        policy: any policy, or a list with one policy per player, see
            `expected_returns`. A part of a tree needs an OpenSpiel policy; all policies
            of solvers are OpenSpiel policies.
        around: the history where the drawing begins, as a list of OpenSpiel's actions
            or as a string such as "0, 3"; None for the root.
        depth: number of levels below the first node. By default 3 with `around`, and
            all levels without it. Dots mark nodes whose children are not drawn.
        max_nodes: the largest number of nodes.

    Raises:
        ValueError: there are too many nodes, see also `GameTree`; a move is illegal; or
            the policy is for another game.
    """
    max_nodes = refusals.integer(max_nodes, "max_nodes", 1)
    source = game.source if isinstance(game, InfosetTable) else game
    tree = GameTree(source)
    if isinstance(game, GameTree) and game.abstraction is None:
        tree = game
    state, moves, limit, name = tree.new_state(), [], None, display.title(tree.source)
    if depth is not None and around is None:
        around = ()
    if around is not None:
        limit = refusals.integer(3 if depth is None else depth, "depth", 0)
        moves = _moves_in(around)
        name += f", after {', '.join(map(str, moves))}" if moves else ""
        if not isinstance(policy, Policy | pyspiel.Policy | None):
            raise ValueError(
                "A part of a tree is drawn with an OpenSpiel policy, not with "
                f"policy={policy!r}. Pass the average_policy() of a solver."
            )
    for move in moves:
        if move not in state.legal_actions():
            raise ValueError(
                f"around={moves}: {move} is none of the moves {state.legal_actions()} "
                f"after {state.history()}."
            )
        state.apply_action(move)
    _check_size(tree.source, state, limit, max_nodes)
    if policy is not None and around is None:
        tree = complete_table(tree)
        policy = SequencePolicy(tree, policy_vector(tree, policy))
    nodes = drawn_nodes(state, policy, limit)
    description = f"{name}, {display.counted(len(nodes), 'node')}"
    return TreeDrawing(picture(nodes, tree.num_players, name), description)


def _moves_in(history: Sequence[int] | str) -> list[int]:
    """The actions of a history that a user passes; raises ValueError for other
    input."""
    actions = history.replace(",", " ").split() if isinstance(history, str) else history
    try:
        return [int(action) for action in actions]
    except (TypeError, ValueError):
        raise ValueError(
            f"around={history!r}: expected a list of actions, such as [0, 3] or '0, 3'."
        ) from None


def _check_size(
    game: pyspiel.Game, state: pyspiel.State, depth: int | None, max_nodes: int
) -> None:
    """Raises ValueError if the part of a tree has more than `max_nodes` nodes."""
    limit = max_nodes if depth is not None else max(_MAX_COUNTED, max_nodes)
    count, stack = 0, [(state, 0)]
    while stack and count <= limit:
        state, level = stack.pop()
        count += 1
        check_length(game, level)
        if level != depth and not state.is_terminal():
            stack += [(state.child(move), level + 1) for move in state.legal_actions()]
    if count > max_nodes:
        there = "" if depth is None else " there"
        nodes = display.counted(count, "node")
        if count > limit:
            nodes = f"more than {limit:,} nodes{there}"
        raise ValueError(
            f"{display.brief(game)} has {nodes}, and a drawing of more than "
            f"{max_nodes:,} cannot be read. Draw a part (around=[], depth=2), use "
            "policy.table(), or raise max_nodes."
        )
