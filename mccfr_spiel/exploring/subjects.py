"""What a page shows: a game, policies for it, and the game's tree.

A policy answers for single states at once. Values, best responses and lists need the
game's whole tree. A solver or a saved tree may supply it; otherwise a thread expands
the game, and a game with more than a million nodes is shown without values.
"""

import math
import os
import pathlib
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

import pyspiel

from mccfr_spiel.arenas.evaluating import complete_table, is_arena, table_beside
from mccfr_spiel.arenas.infosets.identity import same_name
from mccfr_spiel.arenas.infosets.loading import load_game, turn_based
from mccfr_spiel.arenas.infosets.table import InfosetTable
from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.common.csv_files import read_table
from mccfr_spiel.common.display import brief, title
from mccfr_spiel.common.folder_lock import LOCK
from mccfr_spiel.exploring.background import LONG, PATIENCE, Work, WorkingError
from mccfr_spiel.exploring.policy_numbers import PolicyEvaluation
from mccfr_spiel.exploring.policy_reader import PolicyReader, common_game
from mccfr_spiel.exploring.shown_policies import ShownPolicy
from mccfr_spiel.exploring.spots import title_of
from mccfr_spiel.policies.policy_table import (
    MOST_NODES,
)
from mccfr_spiel.solving.reading import RESULTS

KEPT_BYTES = 1 << 29
"""Memory for the numbers of all policies. The numbers of two policies, the shown policy
and the policy to compare with, are always cached."""

_BYTES_PER_SEQUENCE = 48
"""Size of `Numbers` per sequence: four arrays `[S]` and three shorter ones `[I]`."""

_MAX_KEPT = 64
"""The largest number of policies whose numbers are cached."""

_MAX_ROWS = 5_000
"""The largest number of rows of a run that a page shows."""


class Subject:
    """The game, the policies and the tree of a page.

    Attributes:
        source: the game as the user passed it.
        game: turn-based form of `source`.
        title: the game's name in headings.
        candidates: the policies.
        folder: the first folder of results among the arguments; None without one.
        history: the recorded rows of the first solver with a history.
        start: history at which the page opens: the likeliest hands of a hold'em
            subgame, nothing in other games.
        is_holdem: whether the game is a hold'em subgame. Such a game has a tree of
            hands instead of histories, and a `Study` instead of `Numbers`.
    """

    def __init__(
        self, sources: Any, game: pyspiel.Game | str | GameTree | None = None
    ) -> None:
        """Reads the policies and starts expanding the tree, unless it is complete.

        Arguments and errors are those of `explore`.
        """
        tree = game if isinstance(game, InfosetTable) else None
        self._reader = PolicyReader(
            game.source if isinstance(game, InfosetTable) else game, tree
        )
        self._run = ""
        self.candidates: list[ShownPolicy] = []
        self.folder: pathlib.Path | None = None
        self.history: Sequence[Mapping[str, Any]] = ()
        is_labelled = (
            isinstance(sources, Mapping) and sources and not _is_table(sources)
        )
        labelled: Mapping[str, Any] = sources if is_labelled else {"": sources}
        for label, source in labelled.items():
            self._add(source, label)
        if not self.candidates:
            raise ValueError("Nothing to explore: pass a solver or a policy.")
        in_memory = [shown.policy for shown in self.candidates if shown.read is None]
        self.source = load_game(self._reader.game or common_game(in_memory))
        self.game = turn_based(self.source)
        for index, candidate in enumerate(self.candidates):
            if candidate.read is None:
                self.candidate(index)
        trees = [self._reader.tree, *(getattr(p, "tree", None) for p in in_memory)]
        tree = next((tree for tree in trees if is_arena(tree)), None)
        subgame = getattr(self.game, "subgame", None)
        self.is_holdem = subgame is not None
        self.title = title_of(subgame) if subgame else title(self.source)
        self.start: list[int] = subgame.likely_deal() if subgame else []
        self._lock = threading.Lock()
        self._evaluations: OrderedDict[ShownPolicy, PolicyEvaluation] = OrderedDict()
        message = "The game's tree is being expanded."
        if self.is_holdem:
            message = "The hands are being listed; try again in a moment."
        self._tree = Work(lambda: self._whole(tree), message).begin()
        if tree is not None and (tree.is_complete or tree.abstraction is not None):
            self.tree(None)  # returns, or raises inside, at once

    # --- policies --------------------------------------------------------------

    def _add(self, source: Any, label: str) -> None:
        """Reads the policies of one argument of `explore`."""
        policies = list(self._reader.read(source, label))
        self.candidates += policies
        if isinstance(source, str | os.PathLike):
            if self.folder is None and pathlib.Path(source).is_dir():
                self.folder = pathlib.Path(source).resolve()
                self._run = policies[0].label
        elif hasattr(source, "average_policy"):
            self.history = self.history or getattr(source, "history", ())
            if self._reader.tree is None:
                self._reader.tree = getattr(source, "tree", None)

    def update_policies(self) -> int:
        """Adds policies that the folder's run has saved; returns the new total."""
        if self.folder is not None:
            with self._lock:
                iterations = {
                    p.iteration for p in self.candidates if p.run == self._run
                }
                kept = self._reader.kept_in(self.folder, self._run)
                self.candidates += [p for p in kept if p.iteration not in iterations]
        return len(self.candidates)

    def candidate(self, index: int) -> ShownPolicy:
        """The policy with an index, read from the policy's file if necessary.

        Raises:
            ValueError: the file is damaged, or the policy is for another game.
            OSError: the file cannot be read.
        """
        candidate = self.candidates[index]
        game = getattr(candidate.policy, "game", None)
        if isinstance(game, pyspiel.Game) and not any(
            same_name(game, own) for own in (self.source, self.game)
        ):
            raise ValueError(
                f"{candidate.label} is a policy for {game}, not for "
                f"{brief(self.source)}: one page shows policies for one game."
            )
        return candidate

    # --- the tree ----------------------------------------------------------------

    def _whole(self, tree: GameTree | None) -> GameTree:
        if self.is_holdem:
            return complete_table(tree or self.source, store="blocks")
        if tree is not None and tree.abstraction is not None:
            raise ValueError(
                "The page shows the policy at each state, without values, best "
                "responses and lists: these need perfect recall, and players may "
                "forget with an abstraction."
            )
        try:
            if tree is None:
                return GameTree(self.source, max_nodes=MOST_NODES).expand_all()
            return table_beside(tree, self.source, max_nodes=MOST_NODES)
        except Exception as error:  # a game's code may raise any exception
            raise ValueError(
                "The page shows the policy at each state; values, best responses and "
                f"lists need the game's whole tree, which is not available. {error}"
            ) from error

    def tree(self, seconds: float | None = 0.0) -> GameTree | None:
        """The whole tree of histories; None if it is not complete after `seconds`."""
        try:
            return self.need_tree(seconds)
        except ValueError:
            return None

    def state_of_tree(self) -> tuple[str, str]:
        """The state of the tree of histories, and the reason if it is not complete.

        | state | meaning |
        |---|---|
        | "ready" | the tree is complete |
        | "working" | a thread is expanding it |
        | "hands" | a hold'em subgame, which has a tree of hands instead |
        | "none" | it cannot be expanded |
        """
        try:
            self.need_tree(0.0)
        except WorkingError as error:
            return "working", str(error)
        except ValueError as error:
            return "hands" if self.is_holdem else "none", str(error)
        return "ready", ""

    def need_tree(self, seconds: float | None = PATIENCE) -> GameTree:
        """The whole tree of histories.

        Raises:
            ValueError: the tree cannot be expanded; the message says why.
            WorkingError: the tree is not complete after `seconds`.
        """
        if self.is_holdem:
            raise ValueError(
                "A hold'em subgame has no lists: see Cards, which shows all hands."
            )
        return self._tree.result(seconds)

    def need_infosets(self) -> GameTree:
        """The whole tree of histories or of hands; errors of `need_tree`."""
        return self._tree.result(LONG) if self.is_holdem else self.need_tree()

    # --- numbers -----------------------------------------------------------------

    def evaluation(self, candidate: ShownPolicy) -> PolicyEvaluation:
        """The evaluation of a policy, new if it is not in the cache.

        The cache discards the evaluations that were used least recently.

        Raises:
            ValueError: the tree is missing.
        """
        tree = self.need_infosets()
        with self._lock:
            if candidate not in self._evaluations:
                self._evaluations[candidate] = PolicyEvaluation(tree, candidate)
            self._evaluations.move_to_end(candidate)
            limit = KEPT_BYTES // (_BYTES_PER_SEQUENCE * tree.num_sequences)
            while len(self._evaluations) > max(2, min(_MAX_KEPT, limit)):
                self._evaluations.popitem(last=False)[1].is_wanted = False
            return self._evaluations[candidate]

    def rows(self) -> dict[str, Any]:
        """The numeric columns of the folder's results.csv, or of the solver's history.

        Returns:
            {"columns": name -> values, None where a row lacks a number; "running":
            whether the run seems active}.
        """
        rows, is_running = self.history, False
        if self.folder is not None:
            rows, _ = read_table(self.folder / RESULTS)
            # A killed run leaves its lock behind and seems active. Acquiring the lock
            # to find out could make a run fail that starts at this moment.
            is_running = (self.folder / LOCK).exists()
        rows = rows[-_MAX_ROWS:]
        names = dict.fromkeys(name for row in rows for name in row)
        columns = {name: [_number(row.get(name)) for row in rows] for name in names}
        columns = {k: v for k, v in columns.items() if v.count(None) < len(rows)}
        return {"columns": columns, "running": is_running}


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def _is_table(mapping: Mapping[Any, Any]) -> bool:
    """Whether a mapping is a policy rather than labelled policies.

    A policy maps strings to rows, action -> probability, or has the key "policy".
    """
    first = next(iter(mapping.values()))
    has_rows = isinstance(first, Mapping) and not any(
        isinstance(value, Mapping) for value in first.values()
    )
    return "policy" in mapping or has_rows
