"""A linear program of restricted two-player games, written for tests.

It shares nothing with the package: the sequence form comes from pyspiel's states.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pyspiel
import scipy.optimize

from tests.reference import read_game, turn_based

Key = Any  # (player, information-state string)


class Part(NamedTuple):
    """An opponent who follows a known policy with a share of each decision.

    Attributes:
        weight: weight of this opponent in the objective.
        share: infoset -> probability of the known policy.
        known: infoset -> known policy, by the order of legal actions.
    """

    weight: float
    share: Callable[[Key], float]
    known: Callable[[Key], list[float]]


def value_against(
    game: str, player: int, parts: list[Part], tremble: float = 0.0
) -> float:
    """The largest weighted sum of a player's returns against restricted opponents.

    The variables are the player's plan x over sequences, and for each opponent and each
    of its infosets the value to the player and the worst value of an action there.

    Args:
        game: load string.
        player: the player who maximizes.
        parts: the opponents; each minimizes against the same x.
        tremble: least probability of the player's actions, clamped at half of an even
            share.
    """
    loaded = turn_based(game)
    _, infosets = read_game(loaded)
    columns: dict[Any, int] = {}
    parents: dict[Key, Any] = {}
    payoffs: dict[Any, list[tuple[float, int]]] = {}

    def column(*key: Any) -> int:
        return columns.setdefault(key, len(columns))

    def walk(state: pyspiel.State, chance: float, last: list[Any]) -> None:
        if state.is_terminal():
            entry = chance * state.returns()[player], column("x", last[player])
            payoffs.setdefault(last[1 - player], []).append(entry)
            return
        acting = state.current_player()
        if acting < 0:
            for action, prob in state.chance_outcomes():
                walk(state.child(action), chance * prob, last)
            return
        key = acting, state.information_state_string(acting)
        parents[key] = last[acting]
        for action in state.legal_actions():
            after = [*last]
            after[acting] = (key, action)
            walk(state.child(action), chance, after)

    walk(loaded.new_initial_state(), 1.0, ["", ""])
    equal: list[tuple[dict[int, float], float]] = [({column("x", ""): 1.0}, 1.0)]
    upper: list[dict[int, float]] = []
    for key, infoset in infosets.items():
        own = [(key, action) for action in infoset.actions]
        if key[0] != player:
            continue
        parent, floor = column("x", parents[key]), min(tremble, 0.5 / len(own))
        row = {column("x", sequence): 1.0 for sequence in own}
        equal.append((row | {parent: -1.0}, 0.0))
        upper += [{column("x", sequence): -1.0, parent: floor} for sequence in own]
    below: dict[Any, list[Key]] = {}
    for key, last in parents.items():
        if key[0] != player:
            below.setdefault(last, []).append(key)
    cost: dict[int, float] = {}

    def worth(number: int, sequence: Any) -> dict[int, float]:
        """The player's value after a sequence of an opponent, as a sum of columns."""
        row: dict[int, float] = {}
        for payoff, variable in payoffs.get(sequence, []):
            row[variable] = row.get(variable, 0.0) + payoff
        for child in below.get(sequence, []):
            row[column("value", number, child)] = 1.0
        return row

    for number, part in enumerate(parts):
        for key, infoset in infosets.items():
            if key[0] == player:
                continue
            worst, value = column("worst", number, key), column("value", number, key)
            share, known = part.share(key), part.known(key)
            total = {value: -1.0, worst: 1.0 - share}
            for k, action in enumerate(infoset.actions):
                row = worth(number, (key, action))
                upper.append({worst: 1.0} | {c: -x for c, x in row.items()})
                for variable, amount in row.items():
                    more = share * known[k] * amount
                    total[variable] = total.get(variable, 0.0) + more
            equal.append((total, 0.0))
        for variable, amount in worth(number, "").items():
            cost[variable] = cost.get(variable, 0.0) - part.weight * amount

    def matrix(rows: list[dict[int, float]]) -> np.ndarray:
        result = np.zeros((len(rows), len(columns)))
        for line, row in zip(result, rows, strict=True):
            line[list(row)] = list(row.values())
        return result

    result = scipy.optimize.linprog(
        matrix([cost])[0],
        A_ub=matrix(upper),
        b_ub=np.zeros(len(upper)),
        A_eq=matrix([row for row, _ in equal]),
        b_eq=[right for _, right in equal],
        bounds=[(0, None) if key[0] == "x" else (None, None) for key in columns],
        options={"primal_feasibility_tolerance": 1e-10},
    )
    assert result.status == 0
    return -float(result.fun)


def even(game: str) -> Callable[[Key], list[float]]:
    """The uniform policy at each infoset of a game."""
    _, infosets = read_game(turn_based(game))
    return lambda key: [1 / len(infosets[key].actions)] * len(infosets[key].actions)
