"""Conditional gaps: gains of best responses, given that play reaches an infoset.

NashConv weighs an infoset by the probability of reaching it, so it hides losses at
infosets that only mistakes reach. The conditional gap omits this weight:

    gap(I) = max over policies from I on of u(given I) - u(given I) under the policy

"Given I" weighs the histories of I by their counterfactual reach, the probability of
chance and of the opponents. If the sum of these weights is 0, the player lacks beliefs
at I, and the gap is undefined.
"""

import importlib
from typing import Any, NamedTuple

import numpy as np

from mccfr_spiel.arenas.evaluating import full_pass, read_policy
from mccfr_spiel.arenas.full_pass import FullPass
from mccfr_spiel.arenas.infosets.action_names import names_anywhere
from mccfr_spiel.arenas.infosets.phrases import said, said_info_state
from mccfr_spiel.arenas.infosets.table import InfosetTable
from mccfr_spiel.arenas.request import Game
from mccfr_spiel.common import refusals
from mccfr_spiel.common.budget import MaxMemory
from mccfr_spiel.common.display import (
    counted,
    html_table,
    never_raises,
    one_line,
    one_lines,
    short,
    text_table,
    title,
)
from mccfr_spiel.kernels.gap_pass import fill_gaps
from mccfr_spiel.policies.trembled_vectors import within_trembles

SHOWN = 5
"""Number of infosets that the text of `ConditionalGaps` names."""

_HEADER = ("player", "information state", "others' reach", "own reach", "gap", "best")
_RIGHT = {0, 2, 3, 4}
_MOST_OF_STRING = 60


class GapRow(NamedTuple):
    """The conditional gap of one infoset.

    Attributes:
        info_state: information-state string.
        player: acting player.
        others_reach: counterfactual reach, the probability of chance and the opponents.
        own_reach: probability of the player's actions before the infoset.
        gap: conditional gap; NaN without beliefs.
        best_action: OpenSpiel's number of the best action; -1 without beliefs.
    """

    info_state: str
    player: int
    others_reach: float
    own_reach: float
    gap: float
    best_action: int


class ConditionalGaps:
    """Conditional gaps of a policy.

    Printing shows a summary and the infosets with the largest gaps. The arrays follow
    the order of the infosets in `tree`.

    Attributes:
        tree: information sets of the game.
        tremble: smallest probability of an action, see `conditional_gaps`.
        player: `[I]` acting player.
        others_reach: `[I]` counterfactual reach, the probability of chance and the
            opponents.
        own_reach: `[I]` probability of the player's actions before the infoset.
        gap: `[I]` conditional gap; NaN without beliefs.
        best_action: `[I]` OpenSpiel's number of the best action; -1 without beliefs.
    """

    def __init__(
        self, passes: FullPass, vector: np.ndarray, tremble: float = 0.0
    ) -> None:
        """Computes the gaps.

        Args:
            passes: passes over the whole game.
            vector: `[S]` policies of all players.
            tremble: smallest probability of an action.
        """
        tree = passes.table
        self.tree: InfosetTable = tree
        self.tremble = tremble
        infosets, players = tree.infosets, range(tree.num_players)
        vector = np.ascontiguousarray(vector, np.float64)
        vector = within_trembles(infosets, vector, tremble)
        plan = passes.plan(vector)
        values = passes.gradients(plan, players)
        self.others_reach = passes.reaches(plan)
        self.gap = np.empty(len(infosets))
        choice = np.empty(len(infosets), np.int32)
        fill_gaps(
            infosets,
            vector,
            tremble,
            self.others_reach,
            values,
            values.copy(),
            self.gap,
            choice,
        )
        self.player = np.array(infosets["player"])
        self.own_reach = plan[infosets["parent"]]
        self.best_action = np.where(np.isnan(self.gap), -1, tree.actions[choice])

    def __len__(self) -> int:
        """Number of infosets."""
        return len(self.gap)

    @property
    def known(self) -> np.ndarray:
        """The defined gaps: those of infosets with beliefs."""
        return self.gap[~np.isnan(self.gap)]

    @property
    def num_without_beliefs(self) -> int:
        """Number of infosets whose counterfactual reach is 0."""
        return len(self) - len(self.known)

    @property
    def max(self) -> float:
        """The largest gap; 0 in a game without infosets."""
        return float(np.max(self.known, initial=0.0))

    @property
    def mean(self) -> float:
        """Mean over the infosets with beliefs; 0 in a game without infosets."""
        return float(self.known.mean()) if len(self.known) else 0.0

    def quantile(self, share: float) -> float:
        """A quantile of the gaps over the infosets with beliefs.

        Args:
            share: number from 0 to 1, such as 0.99. The result is interpolated between
                two gaps.

        Raises:
            ValueError: `share` is not a number from 0 to 1.
        """
        share = refusals.number(share, "share", 0.0, 1.0)
        return float(np.quantile(self.known, share)) if len(self.known) else 0.0

    def worst(self, count: int = SHOWN) -> list[GapRow]:
        """The infosets with the largest gaps, in descending order.

        Args:
            count: largest number of rows.
        """
        count = refusals.integer(count, "count", least=0)
        order = np.argsort(-self.gap, kind="stable")[: min(count, len(self.known))]
        return [self.row(infoset) for infoset in order.tolist()]

    def row(self, infoset: int) -> GapRow:
        """Name, reach and gap of an infoset.

        Args:
            infoset: index of the infoset in the arrays.
        """
        columns = self.player, self.others_reach, self.own_reach, self.gap
        values = [column[infoset].item() for column in (*columns, self.best_action)]
        return GapRow(self.tree.info_state(infoset), *values)

    def to_pandas(self) -> Any:
        """Converts the gaps to a DataFrame with one line per infoset.

        The columns are the fields of `GapRow`.

        Raises:
            ImportError: pandas is not installed.
        """
        try:
            pandas = importlib.import_module("pandas")
        except ImportError as error:
            raise ImportError(
                "to_pandas needs pandas: pip install pandas. The gaps are also "
                "available as arrays, such as gaps.gap."
            ) from error
        columns = {"info_state": self.tree.info_states}
        columns |= {name: getattr(self, name) for name in GapRow._fields[1:]}
        return pandas.DataFrame(columns)

    def _heading(self) -> str:
        within = f" within trembles of {self.tremble:g}" if self.tremble else ""
        without = self.num_without_beliefs
        parts = [
            f"{title(self.tree.source)}: {counted(len(self), 'information state')}",
            f"largest conditional gap{within} {short(self.max)}",
            f"mean {short(self.mean)}",
            f"99 % at most {short(self.quantile(0.99))}",
            f"{without:,} without beliefs" if without else "",
        ]
        return ", ".join(filter(None, parts))

    def _cells(self) -> list[tuple[str, ...]]:
        rows, game = self.worst(), self.tree.game
        texts = [said_info_state(game, row.player, row.info_state) for row in rows]
        strings = one_lines(texts, _MOST_OF_STRING)
        return [
            (
                str(row.player),
                string,
                short(row.others_reach),
                short(row.own_reach),
                short(row.gap),
                one_line(self._action_name(row)),
            )
            for row, string in zip(rows, strings, strict=True)
        ]

    def _action_name(self, row: GapRow) -> str:
        """The name of the best action."""
        game = self.tree.game
        infoset = self.tree.find(row.info_state, row.player)
        state = next(iter(self.tree.states([infoset])), None)
        names = names_anywhere(game, row.player, [row.best_action], state)
        return said(game, row.player, names)[0]

    def __str__(self) -> str:
        """The summary, and a table of the infosets with the largest gaps."""
        return f"{self._heading()}\n{text_table(_HEADER, self._cells(), _RIGHT)}"

    @never_raises
    def __repr__(self) -> str:
        """Returns the same text as `str`."""
        return str(self)

    @never_raises
    def _repr_html_(self) -> str:
        return html_table(_HEADER, self._cells(), _RIGHT, caption=self._heading())


def conditional_gaps(
    game: Game,
    policy: Any,
    tremble: float = 0.0,
    *,
    max_memory: MaxMemory = None,
    threads: int | None = 1,
    twin: bool | None = None,
    store: str = "auto",
) -> ConditionalGaps:
    """Gains of best responses, given that play reaches an infoset.

        gaps = ms.evaluation.conditional_gaps("leduc_poker", policy)
        print(gaps)  # a summary and the five infosets with the largest gaps
        gaps.max, gaps.mean, gaps.quantile(0.99), gaps.to_pandas()

    The gap of an infoset is the return of a best response from this infoset on, minus
    the return of the policy. Both returns assume that the opponents follow the policy.
    Games may be general-sum games of any number of players. Arguments and errors that
    are not listed here are those of `expected_returns`.

    If `tremble` is positive, the responder plays an action at an infoset with n actions
    with a probability of at least min(tremble, 1 / (2 n)). Where the policy violates
    this bound, it is first mixed with the uniform policy. The gaps of policies learned
    with trembles approach 0.

    Args:
        game: a game, its load string, or its tree.
        policy: one policy for all players, or a list `[P]` with one policy per player.
        tremble: smallest probability of an action, a number in [0, 0.5).

    Raises:
        ValueError: `tremble` is out of range; the policy lacks an infoset; or passes
            recompute the worlds or histories of the game, see `store`.
    """
    tremble = refusals.tremble(tremble)
    tree, vector = read_policy(game, policy, max_memory, twin, store)
    return ConditionalGaps(full_pass(tree, threads), vector, tremble)
