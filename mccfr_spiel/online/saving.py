"""The bot's infosets and the hand it plays, as arrays for a file and back."""

import itertools
from typing import Any, NamedTuple

import numpy as np

from mccfr_spiel import refusals
from mccfr_spiel.compiled.randomness import infoset_place
from mccfr_spiel.limits.budget import Budget
from mccfr_spiel.online.infosets import Infoset, bytes_of
from mccfr_spiel.storage import checkpoint

Move = tuple[Infoset, int, float]
"""An own move: the infoset, the action's number, the probability it was drawn with."""


class Learned(NamedTuple):
    """What a bot knows.

    Attributes:
        infosets: information-state string -> what was learned there, ancestors first.
        hand: the own moves of the hand that is being played.
    """

    infosets: dict[str, Infoset]
    hand: list[Move]


def pack(learned: Learned) -> tuple[list[list[Any]], dict[str, np.ndarray]]:
    """What `unpack` reads: the hand for a file's header, and the arrays.

    An infoset that the bot had no room to keep is known to the hand alone. It has the
    number -1 and is forgotten with the hand.
    """
    infosets = list(learned.infosets.values())
    numbers = {id(infoset): number for number, infoset in enumerate(infosets)}
    hand = [
        [numbers.get(id(met), -1), chosen, q, len(met.actions)]
        for met, chosen, q in learned.hand
    ]
    parents = [
        (numbers[id(i.parent[0])], i.parent[1]) if i.parent else (-1, -1)
        for i in infosets
    ]
    arrays = {
        "counts": np.array([len(i.actions) for i in infosets], np.int64),
        "actions": _flat([i.actions for i in infosets], np.int64),
        "policy": _flat([i.policy for i in infosets], np.float64),
        "regret": _flat([i.regret.values for i in infosets], np.float64),
        "average": _flat([i.average.values for i in infosets], np.float64),
        "exponents": _pairs(
            [(i.regret.exponent, i.average.exponent) for i in infosets]
        ),
        "parents": _pairs(parents),
    }
    arrays |= checkpoint.pack_strings(list(learned.infosets))
    return hand, arrays


def unpack(
    hand: list[list[Any]], arrays: dict[str, np.ndarray], player: int, budget: Budget
) -> Learned:
    """Reads what `pack` made and takes its bytes from the budget.

    Raises:
        DamagedError: the arrays do not fit together or hold no policy.
        MemoryBudgetError: there is no room for what they hold.
    """
    counts = arrays["counts"].tolist()
    if counts and min(counts) < 1:
        raise checkpoint.DamagedError("The file has an infoset without actions.")
    names = checkpoint.unpack_strings(arrays["text"], arrays["ends"])
    if len(set(names)) != len(names):
        raise checkpoint.DamagedError("The file has a string twice.")
    budget.meet(len(names), 0, sum(map(bytes_of, names, counts)))
    infosets = _infosets(names, counts, arrays, player)
    moves = [
        _move(number, chosen, q, num_actions, infosets)
        for number, chosen, q, num_actions in hand
    ]
    return Learned(dict(zip(names, infosets, strict=True)), moves)


def _infosets(
    names: list[str], counts: list[int], arrays: dict[str, np.ndarray], player: int
) -> list[Infoset]:
    """The infosets of a file in its order, in which a parent comes before its children.

    Each row has one infoset's numbers. Its parent is given by number, and only those
    made by earlier rows are accepted.
    """
    rows = zip(
        names,
        arrays["parents"].tolist(),
        _split(arrays["actions"], counts, np.int64),
        _split(arrays["policy"], counts, np.float64),
        _split(arrays["regret"], counts, np.float64),
        _split(arrays["average"], [count + 1 for count in counts], np.float64),
        arrays["exponents"].tolist(),
        strict=True,
    )
    infosets: list[Infoset] = []
    for name, parent, actions, policy, regret, average, exponents in rows:
        above = None
        if parent != [-1, -1]:
            before = infosets[_below(parent[0], len(infosets))]
            above = before, _below(parent[1], len(before.actions))
        infoset = Infoset(infoset_place(player, name), actions, above)
        if min(policy) < 0 or not abs(sum(policy) - 1) < 1e-6:
            raise checkpoint.DamagedError(f"The file has the policy {policy}.")
        infoset.policy = policy
        infoset.regret.values, infoset.average.values = regret, average
        infoset.regret.exponent, infoset.average.exponent = exponents
        infosets.append(infoset)
    return infosets


def _move(
    number: Any, chosen: Any, q: Any, num_actions: Any, infosets: list[Infoset]
) -> Move:
    """A move of the hand; see `pack` for an infoset of number -1."""
    if number == -1:
        actions = list(range(refusals.integer(num_actions, "num_actions", 1)))
        infoset = Infoset(0, actions, None)
    else:
        infoset = infosets[_below(number, len(infosets))]
    q = refusals.number(q, "q", 0, 1, open_low=True)
    return infoset, _below(chosen, len(infoset.actions)), q


def _flat(rows: list[list[Any]], dtype: Any) -> np.ndarray:
    return np.array(list(itertools.chain.from_iterable(rows)), dtype)


def _pairs(rows: list[tuple[int, int]]) -> np.ndarray:
    return np.array(rows, np.int64).reshape(-1, 2)


def _split(values: np.ndarray, counts: list[int], dtype: Any) -> list[list[Any]]:
    """Splits values into rows of the given lengths; raises DamagedError if they do not
    fit."""
    finite = values.dtype != np.float64 or np.isfinite(values).all()
    if values.dtype != dtype or values.shape != (sum(counts),) or not finite:
        raise checkpoint.DamagedError("The file's tables do not fit together.")
    flat = iter(values.tolist())
    return [list(itertools.islice(flat, count)) for count in counts]


def _below(number: Any, size: int) -> int:
    """Returns an index below `size`; raises DamagedError if it is none."""
    if not isinstance(number, int) or not 0 <= number < size:
        raise checkpoint.DamagedError(f"The file has the number {number!r} of {size}.")
    return number
