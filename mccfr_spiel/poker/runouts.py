"""Reports over cards and boards: what the next card, or another flop, changes."""

import importlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from mccfr_spiel.arenas.worlds.public_tree import DEAL, DECISION
from mccfr_spiel.poker.cards import DECK
from mccfr_spiel.poker.decision import Decision, steps_of


def rows_by_card(
    study: Any, history: str | Sequence[int | str]
) -> list[dict[str, Any]]:
    """A row per card that can be dealt at the end of a history.

    Args:
        study: a `Study`.
        history: actions and cards up to a deal, see `Study.decision`.

    Returns:
        Rows with the card, its probability, the EV and the equity of each player after
        it, and the frequency of each action of the player who acts first. Frequencies
        are missing if all chips are in the pot. Cards that cannot be dealt because
        every hand contains them have no row.

    Raises:
        ValueError: no card is dealt at the end of the history, or all players are
            all-in.
    """
    steps = steps_of(history)
    node, known = study.next_deal(steps)
    if node.kind != DEAL and len(known) == 5:
        raise ValueError(
            f"No card is dealt after {', '.join(map(str, steps)) or 'the start'}, "
            "because the board has five cards. Use a history of the flop or turn."
        )
    if node.kind != DEAL:
        raise ValueError(
            f"No card is dealt after {', '.join(map(str, steps)) or 'the start'}. "
            "The history must end with the last action of a street, such as "
            '"Check, Check".'
        )
    if study.subgame.nodes[node.children[0]].kind != DECISION:
        raise ValueError(
            "All chips are in the pot, so nobody acts after the next card. "
            "ms.poker.equities has the players' shares of the pot."
        )
    rows, masses = [], []
    for card in range(len(DECK)):
        if card in known:
            continue
        decision = study.decision((*steps, DECK[card]))
        mass = float(decision.masses(0).sum())
        if mass > 0:
            rows.append({"card": DECK[card], **summary(decision)})
            masses.append(mass)
    for row, share in zip(rows, np.array(masses) / sum(masses), strict=True):
        row["probability"] = float(share)
    return rows


def summary(decision: Decision) -> dict[str, Any]:
    """EV and equity of both players at a decision, and the frequency of each action."""
    evs, equities = decision.node_evs().tolist(), decision.node_equities().tolist()
    totals = np.atleast_1d(decision.totals()).tolist()
    return {
        "probability": 1.0,
        **{f"ev{player}": evs[player] for player in range(2)},
        **{f"equity{player}": equities[player] for player in range(2)},
        **dict(zip(decision.actions, totals, strict=True)),
    }


def frame_of(rows: Iterable[dict[str, Any]], index: str) -> Any:
    """A pandas DataFrame of rows.

    Args:
        rows: column -> value, all with the same columns.
        index: the column that becomes the index.

    Raises:
        ImportError: pandas is not installed.
    """
    try:
        pandas = importlib.import_module("pandas")
    except ImportError as error:
        raise ImportError("Reports need pandas: pip install pandas.") from error
    return pandas.DataFrame(list(rows)).set_index(index)
