"""Whole trees of OpenSpiel's games, expanded by their compiled twins.

The tree is that of the game itself: its nodes, infosets, strings and numbers are those
of an expansion through pyspiel, to the bit. Only the time differs. So nothing that is
made of a tree, such as a checkpoint or a policy, knows how the tree was expanded.
"""

import math
import statistics
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyspiel

from mccfr_spiel.arrays import Name, shared_by
from mccfr_spiel.compiled.randomness import infoset_place
from mccfr_spiel.limits.forecast import forecast, refusal
from mccfr_spiel.rules.declared import GameError
from mccfr_spiel.rules.expansion import Expansion, expand_rules
from mccfr_spiel.rules.kernel import Pool
from mccfr_spiel.tree.identity import told_by_string
from mccfr_spiel.tree.loading import turn_based
from mccfr_spiel.tree.names import stored_name
from mccfr_spiel.tree.whole import Expandable
from mccfr_spiel.twins.catalog import TWINS, difference_to, twin_of
from mccfr_spiel.twins.names import key_of, spelled
from mccfr_spiel.twins.twin import BoundTwin

WORTH_EXPANDING = 100_000
"""A twin expands trees from so many nodes on, for which pyspiel takes a quarter of a
second. It is compiled in 6 to 8 s, once on a machine; whether it has been does not
matter, so that a run goes alike whatever ran before."""

WORTH_WALKING = 500_000
"""Solvers that sample, and plays, go over a twin from trees of so many nodes on."""

_NEAR = 10
"""A tree is looked at closely if about so many times its nodes would not fit."""

_HISTORIES, _MOVES = 20, 400
"""What is played at each load: some 10 ms."""


class TwinWarning(UserWarning):
    """A twin does not play as its game does, so it was not used."""


class TwinNames:
    """The names of the infosets of a tree that a twin expanded, kept as keys."""

    def __init__(self, rules: BoundTwin, keys: Pool, infosets: np.ndarray) -> None:
        """Keeps the keys.

        Args:
            rules: the twin.
            keys: of the infosets.
            infosets: `[I]` the tree's.
        """
        self._rules, self._infosets = rules, infosets
        self._keys = keys._replace(table=np.zeros(0, np.int32))  # it finds by string
        self._index: tuple[np.ndarray, np.ndarray] | None = None

    def __len__(self) -> int:
        return len(self._infosets)

    def __iter__(self) -> Iterator[str]:
        return spelled(self._rules, self._keys, len(self))

    def strings(self) -> list[str]:
        """`[I]` the information-state strings."""
        return list(self)

    def info_state(self, infoset: int) -> str:
        """The information-state string of an infoset."""
        if not 0 <= infoset < len(self):
            raise IndexError(f"There is no infoset {infoset} among {len(self)}.")
        return self._rules.info_state(*key_of(self._keys, infoset))

    def stored(self, players: Sequence[int]) -> Iterable[str]:
        """`[I]` the names as files spell them."""
        owners: dict[str, int] = {}
        strings = spelled(self._rules, self._keys, len(self))
        for string, player in zip(strings, players, strict=True):
            is_first = owners.setdefault(string, player) == player
            yield stored_name(string if is_first else (player, string), player)

    def shared(self, players: Sequence[int]) -> set[str]:
        """The strings that more than one player has."""
        return shared_by(spelled(self._rules, self._keys, len(self)), players)

    def get(self, name: Name, default: int = -1) -> int:
        """The infoset with that name, found by its hash, or the default."""
        player, string = (None, name) if isinstance(name, str) else name
        found = [self._find(p, string) for p in range(self._rules.num_players)]
        first = min((infoset for infoset in found if infoset >= 0), default=-1)
        if player is None:
            return first if first >= 0 else default
        # Only a player who was not the first with the string has a pair for a name.
        is_pair = found[player] >= 0 and found[player] != first
        return found[player] if is_pair else default

    def _find(self, player: int, string: str) -> int:
        """The player's infoset with that string; -1 if there is none."""
        if self._index is None:
            hashes = np.fromiter(map(hash, self), np.int64, len(self))
            order = np.argsort(hashes, kind="stable").astype(np.int32)
            self._index = hashes[order], order
        hashes, order = self._index
        position = int(np.searchsorted(hashes, np.int64(hash(string))))
        while position < len(self) and hashes[position] == hash(string):
            infoset = int(order[position])
            is_its = self._infosets[infoset]["player"] == player
            if is_its and self.info_state(infoset) == string:
                return infoset
            position += 1
        return -1

    @property
    def nbytes(self) -> int:
        """The bytes of the keys, and of what finds them if it has been made."""
        return sum(array.nbytes for array in (*self._keys, *(self._index or ())))


def expanded_by_twin(
    tree: Expandable, most: int, *, is_forced: bool
) -> Expansion | None:
    """The whole tree of a game by its compiled twin.

    Args:
        tree: which gets the expansion.
        most: how many nodes there may be.
        is_forced: whether the tree's size does not matter, see `WORTH_EXPANDING`.

    Returns:
        None where pyspiel should expand the tree: the game has no twin, its tree is
        small, the twin differs from it, or the tree cannot be made, which pyspiel's
        expansion says in the game's own words.

    Raises:
        TreeFullError, MemoryBudgetError: the tree has more nodes, or does not fit.
    """
    twin = known_twin(tree.game)
    if twin is None:
        return None
    nodes = _estimate_of(tree)
    if not is_forced and nodes < WORTH_EXPANDING:
        return None
    if nodes > most / _NEAR:
        error = refusal(tree.forecast(most), str(tree.source), most, tree.budget)
        if error is not None:
            raise error
    if not plays_alike(tree.game, twin):
        return None
    try:
        whole = expand_rules(twin, most, tree.budget)
    except GameError:
        return None
    return whole._replace(names=_spell(twin, whole))


def twin_for_walks(tree: Expandable, *, is_forced: bool) -> BoundTwin | None:
    """The twin over which walks go that keep no nodes of a tree.

    Args:
        tree: of the game.
        is_forced: whether the tree's size does not matter, see `WORTH_WALKING`.

    Returns:
        None if there is none, or it differs from the game, or the tree is small.
    """
    twin = known_twin(tree.game)
    if twin is None or not (is_forced or _estimate_of(tree) >= WORTH_WALKING):
        return None
    return twin if plays_alike(tree.game, twin) else None


def plays_alike(game: pyspiel.Game, twin: BoundTwin) -> bool:
    """Whether a twin plays some random histories, other ones at each call, as its game.

    If not, a TwinWarning says how they differ, and after which history.
    """
    difference = difference_to(game, twin, histories=_HISTORIES, moves=_MOVES)
    if difference is None:
        return True
    warnings.warn(
        f"The compiled twin of {game} is not used, since it differs from it: "
        f"{difference}. OpenSpiel's game is used, which takes longer.",
        TwinWarning,
        stacklevel=2,
    )
    return False


_estimates: dict[str, float] = {}
"""For games with twins, which their strings tell, what `_estimate` found."""


def _estimate_of(tree: Expandable) -> float:
    """`_estimate`, made once for each game with a twin."""
    name = str(tree.game)
    if name not in _estimates:
        _estimates[name] = _estimate(tree)
    return _estimates[name]


def _estimate(tree: Expandable) -> float:
    """About how many nodes a tree has, by a few random histories, always the same.

    Raises:
        ValueError: a history does not end.
    """
    found = forecast(
        tree.new_state,
        longest=tree.longest_history,
        per_infoset=tree.budget.per_infoset,
        most_nodes=math.inf,  # so few histories are followed
    )
    if found.endless is not None:
        tree.check_length(found.endless)
    return statistics.fmean(found.nodes)


def checked_twin(twin: Any, game: pyspiel.Game) -> bool | None:
    """The argument `twin` of public functions.

    Args:
        twin: None, True or False.
        game: as it was given.

    Raises:
        ValueError: it is none of these, or it is True and the game has no twin.
    """
    if twin is None or twin is False:
        return twin
    if twin is not True:
        raise ValueError(f"twin={twin!r} is none of None, True and False.")
    if known_twin(turn_based(game)) is None:
        raise ValueError(
            f"twin=True, but {game} has no compiled twin. The games "
            f"{', '.join(TWINS)} have one for most of their parameters."
        )
    return True


def known_twin(game: pyspiel.Game) -> BoundTwin | None:
    """The twin of a game that is surely OpenSpiel's own; None if there is none.

    Args:
        game: in its turn-based form.
    """
    twin = twin_of(game)
    return twin if twin is not None and told_by_string(game) else None


def _spell(twin: BoundTwin, whole: Expansion) -> TwinNames:
    """Puts the places of OpenSpiel's strings in place of those of the keys."""
    names: Any = whole.names  # which are KeyNames
    spelled = TwinNames(twin, names.keys, whole.infosets)
    players = whole.infosets["player"].tolist()
    places = map(infoset_place, players, spelled)
    whole.infosets["place"] = np.fromiter(places, np.uint64, len(players))
    return spelled
