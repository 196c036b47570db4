"""The nodes of a drawing, with texts and probabilities."""

import dataclasses
from typing import Any

import pyspiel

from mccfr_spiel.arenas.infosets.phrases import (
    said_at,
    said_info_state,
)
from mccfr_spiel.common import display
from mccfr_spiel.policies.adapter import PolicyAdapter

_MAX_LABEL = 24
"""The largest number of characters of a move's name."""


@dataclasses.dataclass(eq=False)
class DrawnNode:
    """A node of a drawing.

    Attributes:
        state: the game's state.
        parent: the parent; None at the first node.
        level: number of moves from the first node.
        label: text at the edge to the node.
        odds: probability of the player's move to the node; None for chance moves or if
            there is no policy.
        infoset_number: number of the infoset among the acting player's, counted from 1.
        info_text: display text of the acting player's information state.
        annotation: text behind the node: returns, or dots for children that are not
            drawn.
        children: the children.
        x, y: coordinates in pixels, set by `place_nodes`.
        label_x: horizontal position of the label, set by `place_nodes`.
    """

    state: pyspiel.State
    parent: "DrawnNode | None" = None
    level: int = 0
    label: str = ""
    odds: float | None = None
    infoset_number: int = 0
    info_text: str = ""
    annotation: str = ""
    children: list["DrawnNode"] = dataclasses.field(default_factory=list)
    x: float = 0.0
    y: float = 0.0
    label_x: float = 0.0

    @property
    def player(self) -> int:
        """The acting player, as in OpenSpiel."""
        return int(self.state.current_player())


def drawn_nodes(
    state: pyspiel.State, policy: Any, depth: int | None
) -> list[DrawnNode]:
    """The nodes from a state on in depth-first order, with texts.

    Args:
        state: the first state.
        policy: an object that answers for states; None without a policy.
        depth: number of levels below the first node; None for all.
    """
    nodes: list[DrawnNode] = []
    answers = None if policy is None else PolicyAdapter(policy)
    numbers: dict[int, dict[str, int]] = {}
    stack = [DrawnNode(state)]
    # Each pass pops a node, fills in its texts, and pushes its children in reverse
    # order, so that the first child is popped next.
    while stack:
        node = stack.pop()
        nodes.append(node)
        state, player = node.state, node.player
        if state.is_terminal():
            node.annotation = ", ".join(f"{value:g}" for value in state.returns())
            continue
        odds: dict[int, float] = {}
        if player >= 0:
            string = state.information_state_string(player)
            own = numbers.setdefault(player, {})
            node.infoset_number = own.setdefault(string, 1 + len(own))
            node.info_text = said_info_state(state.get_game(), player, string)
        if node.level == depth:
            node.annotation = "\u2026"
            continue
        if player < 0:
            odds = dict(state.chance_outcomes())
        elif answers is not None:
            odds = answers.action_probabilities(state)
        actions = state.legal_actions() if player >= 0 else list(odds)
        for action, name in zip(actions, said_at(state, player, actions), strict=True):
            child = DrawnNode(state.child(action), node, node.level + 1)
            child.label = display.one_line(name, _MAX_LABEL)
            if odds:
                probability = odds.get(action, 0.0)
                child.label += f" {probability:.2f}"
                child.odds = probability if player >= 0 else None
            node.children.append(child)
        stack += reversed(node.children)
    return nodes
