"""Rules and sizes of a game that begins with zeros, and of one that has no chance."""

from collections.abc import Sequence

from mccfr_spiel.rules.description import Sizes, compiled


@compiled
def start_from_zeros(settings, state):
    """`Rules.start` of a game whose first state is all zeros."""


@compiled
def no_chance_probs(settings, state, probs):
    """`Rules.chance_probs` of a game without chance."""


def sizes_without_chance(
    *, state: int, num_actions: int, max_moves: int, key: Sequence[int]
) -> Sizes:
    """The sizes of a twin without chance; a twin's returns are declared by its game."""
    return Sizes(
        state=state,
        num_actions=num_actions,
        max_chance_outcomes=0,
        max_moves=max_moves,
        max_chance_moves=0,
        key=tuple(key),
        min_utility=0.0,
        max_utility=0.0,
    )
