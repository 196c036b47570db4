"""The strings of a policy's infosets, told apart where players share them."""

import difflib
import functools

import numpy as np

from mccfr_spiel.display.lines import brief
from mccfr_spiel.policies.names import Names
from mccfr_spiel.policies.tabular import OWNED, owned
from mccfr_spiel.tree.game_tree import GameTree
from mccfr_spiel.tree.names import shared_by

_SEARCHED = 5_000
"""Among so many strings those near one that is missing are looked for."""


class Strings:
    """The information-state strings that a policy has met.

    A string that several players have stands for none of their infosets. Theirs are
    "player 0: " + string, "player 1: " + string, and so on.
    """

    def __init__(self, tree: GameTree | Names, infosets: np.ndarray) -> None:
        """Keeps the names; no string is made yet.

        Args:
            tree: the source of the names, which may go on growing.
            infosets: `[I]` those of the policy.
        """
        self._tree, self._infosets = tree, infosets

    @property
    def met(self) -> list[str]:
        """`[I]` the strings as the game has them."""
        return self._tree.info_states[: len(self._infosets)]

    @functools.cached_property
    def shared(self) -> set[str]:
        """The strings that several players have at the infosets of the policy.

        The tree may have met more of them since.
        """
        if not self._tree.shared_strings:
            return set()
        return shared_by(self.met, self._infosets["player"])

    @functools.cached_property
    def unique(self) -> list[str]:
        """`[I]` the strings, with their players where they are shared."""
        shared = self.shared
        if not shared:
            return self.met
        players = self._infosets["player"].tolist()
        return [
            owned(name, player) if name in shared else name
            for name, player in zip(self.met, players, strict=True)
        ]

    def number_of(self, info_state: str) -> int | None:
        """The infoset that `unique` has under a string; None if there is none."""
        owners = self._owners(info_state)
        if len(owners) == 1:
            return next(iter(owners.values()))
        owned_string = OWNED.fullmatch(info_state)
        if owners or owned_string is None:
            return None
        owners = self._owners(owned_string[2])
        return owners.get(int(owned_string[1])) if len(owners) > 1 else None

    def why_missing(self, info_state: str) -> str:
        """Says why `number_of` finds no infoset, and what was perhaps meant."""
        owners = self._owners(info_state)
        if owners:
            spelled = " or ".join(repr(owned(info_state, player)) for player in owners)
            return (
                f"More than one player has the information state {info_state!r}; ask "
                f"for {spelled}."
            )
        near = difflib.get_close_matches(info_state, self.unique[:_SEARCHED], n=3)
        hint = f" Near it: {', '.join(map(repr, near))}." if near else ""
        return (
            f"The policy for {brief(self._tree.source)} has met no information state "
            f"{info_state!r}.{hint}"
        )

    def _owners(self, info_state: str) -> dict[int, int]:
        """The infosets with a string, by their players."""
        found = {
            player: self._tree.find(info_state, player)
            for player in range(self._tree.num_players)
        }
        return {p: n for p, n in found.items() if 0 <= n < len(self._infosets)}
