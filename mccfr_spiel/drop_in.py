"""OpenSpiel's solver classes by name, signature and method, on top of Solver.

Change the import and nothing else. What differs: they are many times faster; averages
are exact whatever the average type; a policy that was returned does not change when the
solver goes on; and randomness comes from the `seed` argument alone.
"""

import contextlib
import enum

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy

from mccfr_spiel.algorithms import (
    EXTERNAL_SAMPLING,
    FULL,
    LINEAR,
    OUTCOME_SAMPLING,
    UNIFORM,
    Algorithm,
    outcome,
    regret_matching,
    regret_matching_plus,
)
from mccfr_spiel.game_tree import TreeFullError
from mccfr_spiel.policy import SequencePolicy, check_strings_unshared
from mccfr_spiel.solver import Solver


class AverageType(enum.Enum):
    """OpenSpiel's ways to average in external sampling; both are exact here."""

    SIMPLE = 0
    FULL = 1


class _CFRSolver:
    """`open_spiel.python.algorithms.cfr._CFRSolver`."""

    def __init__(
        self,
        game: pyspiel.Game,
        alternating_updates: bool,
        linear_averaging: bool,
        regret_matching_plus: bool,
    ) -> None:
        self._solver = Solver(
            game,
            Algorithm(
                FULL,
                _MINIMIZERS[bool(regret_matching_plus)],
                LINEAR if linear_averaging else UNIFORM,
                alternating=bool(alternating_updates),
            ),
        )
        self._uniform: openspiel_policy.TabularPolicy | None = None

    def evaluate_and_update_policy(self) -> None:
        """Runs one iteration."""
        self._solver.iteration()

    def current_policy(self) -> openspiel_policy.TabularPolicy:
        """A copy of the policy that the next iteration uses."""
        return self._tabular(self._solver.current_vector())

    def average_policy(self) -> openspiel_policy.TabularPolicy:
        """A copy of the average policy."""
        return self._tabular(self._solver.average_vector())

    def _tabular(self, vector: np.ndarray) -> openspiel_policy.TabularPolicy:
        tree = self._solver.tree
        if self._uniform is None:
            check_strings_unshared(tree)
            self._uniform = openspiel_policy.TabularPolicy(tree.game)
            rows = np.fromiter(
                (self._uniform.state_lookup[name] for name in tree.info_states),
                np.int64,
                tree.num_infosets,
            )
            self._rows = np.repeat(rows, tree.infosets["num_actions"])
            self._columns = tree.actions[tree.num_players :]
        policy = self._uniform.__copy__()
        policy._random_state = np.random.RandomState()  # left out by its __copy__
        table = policy.action_probability_array
        table[self._rows, self._columns] = vector[tree.num_players :]
        return policy


_MINIMIZERS = {False: regret_matching(), True: regret_matching_plus()}


class CFRSolver(_CFRSolver):
    """`open_spiel.python.algorithms.cfr.CFRSolver` and `pyspiel.CFRSolver`."""

    def __init__(self, game: pyspiel.Game) -> None:
        super().__init__(
            game,
            alternating_updates=True,
            linear_averaging=False,
            regret_matching_plus=False,
        )


class CFRPlusSolver(_CFRSolver):
    """`open_spiel.python.algorithms.cfr.CFRPlusSolver` and `pyspiel.CFRPlusSolver`."""

    def __init__(self, game: pyspiel.Game) -> None:
        super().__init__(
            game,
            alternating_updates=True,
            linear_averaging=True,
            regret_matching_plus=True,
        )


class ExternalSamplingSolver:
    """`open_spiel.python.algorithms.external_sampling_mccfr.ExternalSamplingSolver`."""

    def __init__(
        self,
        game: pyspiel.Game,
        average_type: AverageType = AverageType.SIMPLE,
        *,
        seed: int = 0,
    ) -> None:
        """As OpenSpiel's; `seed` is ours: numpy's global generator is not used."""
        _check_average_type(average_type)
        self._solver = Solver(game, EXTERNAL_SAMPLING, seed=seed)

    def iteration(self) -> None:
        """Runs one iteration: one walk for each player."""
        self._solver.iteration()

    def average_policy(self) -> SequencePolicy:
        """A snapshot of the average policy."""
        return self._solver.average_policy()


class OutcomeSamplingSolver:
    """`open_spiel.python.algorithms.outcome_sampling_mccfr.OutcomeSamplingSolver`."""

    def __init__(self, game: pyspiel.Game, *, seed: int = 0) -> None:
        """As OpenSpiel's; `seed` is ours: numpy's global generator is not used."""
        self._solver = Solver(game, OUTCOME_SAMPLING, seed=seed)

    def iteration(self) -> None:
        """Runs one iteration: one walk for each player."""
        self._solver.iteration()

    def average_policy(self) -> SequencePolicy:
        """A snapshot of the average policy."""
        return self._solver.average_policy()


class _PyspielSolver:
    """What pyspiel's two MCCFR solvers share."""

    def __init__(self, game: pyspiel.Game, algorithm: Algorithm, seed: int) -> None:
        self._solver = Solver(game, algorithm, seed=seed)
        # Else states that walks do not meet are not in the policy's table.
        with contextlib.suppress(TreeFullError):
            self._solver.tree.expand_all(most=_MOST_NODES_EXPANDED)

    def run_iteration(self) -> None:
        """Runs one iteration: one walk for each player."""
        self._solver.iteration()

    def average_policy(self) -> pyspiel.PartialTabularPolicy:
        """A copy of the average policy, uniform at states that were never met."""
        return self._solver.average_policy().to_pyspiel()


_MOST_NODES_EXPANDED = 1_000_000
"""Up to here pyspiel.nash_conv(game, policy) finds every state in a policy's table."""


class ExternalSamplingMCCFRSolver(_PyspielSolver):
    """`pyspiel.ExternalSamplingMCCFRSolver`."""

    def __init__(
        self,
        game: pyspiel.Game,
        seed: int = 0,
        avg_type: pyspiel.MCCFRAverageType | AverageType = AverageType.SIMPLE,
    ) -> None:
        _check_average_type(avg_type)
        super().__init__(game, EXTERNAL_SAMPLING, seed)


class OutcomeSamplingMCCFRSolver(_PyspielSolver):
    """`pyspiel.OutcomeSamplingMCCFRSolver`."""

    def __init__(
        self, game: pyspiel.Game, epsilon: float = 0.6, seed: int = -1
    ) -> None:
        super().__init__(game, Algorithm(outcome(epsilon), regret_matching()), seed)


def _check_average_type(average_type: object) -> None:
    """Any enumeration's SIMPLE and FULL will do: OpenSpiel has two of its own."""
    name = getattr(average_type, "name", None)
    if name not in AverageType.__members__:
        raise ValueError(f"{average_type!r} is not an AverageType: SIMPLE or FULL.")
