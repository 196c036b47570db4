"""Drawn nodes."""

import dataclasses
from typing import Any

import pyspiel

from mccfr_spiel.arenas.infosets.loading import said_at, said_info_state
from mccfr_spiel.common import display
from mccfr_spiel.policies.policy import Answers

_MAX_LABEL = 24


@dataclasses.dataclass(eq=False)
class DrawnNode:
    """A node of the drawing.

    Attributes:
        state: the game's.
        parent: None at the root.
        level: how many moves lead to it.
        label: what is written at the edge to the node.
        odds: the probability of a player's move to it; None if there is no policy, or
            if chance has made the move.
        number: of its infoset among those of the player who acts.
        known: what that player knows there, as people say it.
        end: what is written behind a node: returns, or dots where the tree goes on.
        below: its children.
        x, y: where it stands, which `place_nodes` finds.
        start: where the edge to it has come to its row, and the label begins.
    """

    state: pyspiel.State
    parent: "DrawnNode | None" = None
    level: int = 0
    label: str = ""
    odds: float | None = None
    number: int = 0
    known: str = ""
    end: str = ""
    below: list["DrawnNode"] = dataclasses.field(default_factory=list)
    x: float = 0.0
    y: float = 0.0
    start: float = 0.0

    @property
    def player(self) -> int:
        """Who acts, as in OpenSpiel."""
        return int(self.state.current_player())


def drawn_nodes(
    state: pyspiel.State, policy: Any, depth: int | None
) -> list[DrawnNode]:
    """The nodes from a state on in depth-first order, with the words of people.

    Args:
        state: the first one.
        policy: what answers for states, if there is a policy.
        depth: how many moves the nodes go further; None for to the end.
    """
    nodes: list[DrawnNode] = []
    answers = None if policy is None else Answers(policy)
    numbers: dict[int, dict[str, int]] = {}
    stack = [DrawnNode(state)]
    # One pass takes a node off the stack and puts its children on, the last one first.
    while stack:
        node = stack.pop()
        nodes.append(node)
        state, player = node.state, node.player
        if state.is_terminal():
            node.end = ", ".join(f"{one:g}" for one in state.returns())
            continue
        odds: dict[int, float] = {}
        if player >= 0:
            known = state.information_state_string(player)
            mine = numbers.setdefault(player, {})
            node.number = mine.setdefault(known, 1 + len(mine))
            node.known = said_info_state(state.get_game(), player, known)
        if node.level == depth:
            node.end = "\u2026"
            continue
        if player < 0:
            odds = dict(state.chance_outcomes())
        elif answers is not None:
            odds = answers.action_probabilities(state)
        actions = state.legal_actions() if player >= 0 else list(odds)
        for action, name in zip(actions, said_at(state, player, actions), strict=True):
            one = DrawnNode(state.child(action), node, node.level + 1)
            one.label = display.one_line(name, _MAX_LABEL)
            if odds:
                odd = odds.get(action, 0.0)
                one.label += f" {odd:.2f}"
                one.odds = odd if player >= 0 else None
            node.below.append(one)
        stack += reversed(node.below)
    return nodes
