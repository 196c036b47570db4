"""OpenSpiel's solver classes, with the same names, signatures and methods, but computed
by `Solver`.

To use them, change only the import. They differ from OpenSpiel's classes in three ways:
they are many times faster, the average policy of external sampling is exact for both
average types, and a returned policy does not change when the solver continues.

OpenSpiel's Python classes draw from numpy's global generator. The classes here take
their seed from that generator unless they are given a `seed`, so runs repeat after
`np.random.seed` and differ otherwise. The pyspiel classes have an argument `seed` with
a fixed default.
"""

import contextlib
import enum
import functools
from typing import Any

import numpy as np
import pyspiel

from mccfr_spiel import algorithms
from mccfr_spiel.arenas.evaluating import full_pass
from mccfr_spiel.arenas.infosets.loading import load_game
from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.common import refusals
from mccfr_spiel.common.budget import TreeFullError
from mccfr_spiel.common.display import line, never_raises
from mccfr_spiel.policies.policy import SequencePolicy
from mccfr_spiel.policies.tabular_policy import TabularPolicy
from mccfr_spiel.solving.solver import Solver


class AverageType(enum.Enum):
    """OpenSpiel's names for the two ways to average in external sampling.

    SIMPLE and FULL have the same effect here: the average policy is exact.
    """

    SIMPLE = 0
    FULL = 1


class _OnSolver:
    """Base class of all solver classes here: an object that contains a Solver."""

    _solver: Solver

    def _run(
        self, game: pyspiel.Game, algorithm: algorithms.Algorithm, seed: int = 0
    ) -> None:
        self._solver = Solver(game, algorithm, seed=seed)

    @never_raises
    def __repr__(self) -> str:
        return line(self, str(self._solver))


class _CFRSolver(_OnSolver):
    """`open_spiel.python.algorithms.cfr._CFRSolver`, with the methods of
    `pyspiel.CFRSolver` in addition.

    `average_policy` and `current_policy` return an OpenSpiel TabularPolicy in Python,
    which `pyspiel.exploitability`, `pyspiel.nash_conv` and
    `pyspiel.TabularBestResponse` accept. For functions that need a `pyspiel.Policy`,
    such as `pyspiel.expected_returns`, use `tabular_average_policy` and
    `tabular_current_policy`.
    """

    def __init__(
        self,
        game: pyspiel.Game,
        alternating_updates: bool,
        linear_averaging: bool,
        regret_matching_plus: bool,
    ) -> None:
        parts = linear_averaging, regret_matching_plus
        self._run(game, _algorithm(*parts, alternating=bool(alternating_updates)))

    def evaluate_and_update_policy(self) -> None:
        """Runs one iteration."""
        self._solver.iteration()

    def current_policy(self) -> TabularPolicy:
        """Returns a copy of the policy of the next iteration."""
        return self._tabular(self._solver.current_vector())

    def average_policy(self) -> TabularPolicy:
        """Returns a copy of the average policy."""
        return self._tabular(self._solver.average_vector())

    def tabular_current_policy(self) -> pyspiel.TabularPolicy:
        """Returns a copy of `current_policy()` as a policy in C++."""
        return pyspiel.TabularPolicy(self.current_policy())

    def tabular_average_policy(self) -> pyspiel.TabularPolicy:
        """Returns a copy of `average_policy()` as a policy in C++."""
        return pyspiel.TabularPolicy(self.average_policy())

    def _tabular(self, vector: np.ndarray) -> TabularPolicy:
        uniform, rows, columns = self._places
        policy = uniform.__copy__()
        num_players = self._solver.tree.num_players
        policy.action_probability_array[rows, columns] = vector[num_players:]
        return policy

    @functools.cached_property
    def _places(self) -> tuple[TabularPolicy, np.ndarray, np.ndarray]:
        """A uniform TabularPolicy, and where sequences are in its table.

        Returns:
            The policy, and the rows and columns `[S - P]` of the nonempty sequences in
            `action_probability_array`.
        """
        tree = self._solver.tree
        uniform = TabularPolicy(tree.game)
        players = tree.infosets["player"].tolist()
        keys = map(uniform.key, tree.info_states, players)
        rows = np.array([uniform.state_lookup[key] for key in keys], np.int64)
        columns = tree.actions[tree.num_players :]
        return uniform, np.repeat(rows, tree.infosets["num_actions"]), columns

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k != "_places"}


def _algorithm(
    is_linear: bool, is_plus: bool, *, alternating: bool
) -> algorithms.Algorithm:
    base = algorithms.CFR_PLUS if is_plus else algorithms.CFR
    averaging = algorithms.LINEAR if is_linear else algorithms.UNIFORM
    return base._replace(averaging=averaging, alternating=alternating)


class CFRSolver(_CFRSolver):
    """`open_spiel.python.algorithms.cfr.CFRSolver` and `pyspiel.CFRSolver`."""

    def __init__(self, game: pyspiel.Game) -> None:
        self._run(game, algorithms.CFR)


class CFRPlusSolver(_CFRSolver):
    """`open_spiel.python.algorithms.cfr.CFRPlusSolver` and `pyspiel.CFRPlusSolver`."""

    def __init__(self, game: pyspiel.Game) -> None:
        self._run(game, algorithms.CFR_PLUS)


class DCFRSolver(_CFRSolver):
    """`open_spiel.python.algorithms.discounted_cfr.DCFRSolver`."""

    def __init__(
        self,
        game: pyspiel.Game,
        alpha: float = 3 / 2,
        beta: float = 0,
        gamma: float = 2,
    ) -> None:
        rule = algorithms.discounted_regret_matching(alpha, beta)
        average = algorithms.polynomial(gamma)
        self._run(game, algorithms.DCFR._replace(minimizer=rule, averaging=average))


class LCFRSolver(DCFRSolver):
    """`open_spiel.python.algorithms.discounted_cfr.LCFRSolver`."""

    def __init__(self, game: pyspiel.Game) -> None:
        super().__init__(game, alpha=1, beta=1, gamma=1)


class CFRBRSolver(_CFRSolver):
    """`open_spiel.python.algorithms.cfr_br.CFRBRSolver` and `pyspiel.CFRBRSolver`.

    In each iteration, a player is updated against a best response of the other player.
    It is the best response to the player's policy before the iteration (Johanson et al.
    2012).
    """

    def __init__(
        self,
        game: pyspiel.Game,
        linear_averaging: bool = False,
        regret_matching_plus: bool = False,
    ) -> None:
        game = load_game(game)
        if game.num_players() != 2:
            raise ValueError(
                f"CFR-BR needs 2 players, but {game} has {game.num_players()}."
            )
        base = _algorithm(linear_averaging, regret_matching_plus, alternating=False)
        estimator = algorithms.own_estimator(_against_best_responses)
        self._run(game, base._replace(sampling=estimator))


def _against_best_responses(
    tree: GameTree, policy: np.ndarray, player: int, rng: np.random.Generator
) -> tuple[np.ndarray, int]:
    """The player's gradient against the other player's best response to `policy`.

    If several actions of the best response have the same value except for rounding, it
    plays the first of them. The arguments and return values are those of an estimator,
    see `algorithms.own_estimator`.
    """
    passes, other, played = full_pass(tree), 1 - player, policy.copy()
    gradient = passes.gradient(passes.plan(policy), other)
    tie = _TIE * np.abs(gradient).max()
    for infoset in tree.infosets[tree.infosets["player"] == other][::-1]:
        start = infoset["first_sequence"]
        best = gradient[start : start + infoset["num_actions"]]
        gradient[infoset["parent"]] += best.max()
        played[start : start + len(best)] = 0.0
        played[start + np.argmax(best >= best.max() - tie)] = 1.0
    return passes.gradient(passes.plan(played), player), 2 * tree.num_nodes


_TIE = 1e-12
"""Values whose difference is at most this factor times the largest absolute gradient
count as equal."""


class _PythonSolver(_OnSolver):
    """The common methods of OpenSpiel's two MCCFR solvers in Python."""

    def __init__(
        self, game: pyspiel.Game, algorithm: algorithms.Algorithm, seed: int | None
    ) -> None:
        if seed is None:  # numpy's global generator, which OpenSpiel's classes use
            seed = int(np.random.randint(2**31 - 1))  # noqa: NPY002
        self._run(game, algorithm, seed)

    def iteration(self) -> None:
        """Runs one iteration: one walk per player."""
        self._solver.iteration()

    def average_policy(self) -> SequencePolicy:
        """Returns a copy of the average policy."""
        return self._solver.average_policy()


class ExternalSamplingSolver(_PythonSolver):
    """`open_spiel.python.algorithms.external_sampling_mccfr.ExternalSamplingSolver`."""

    def __init__(
        self,
        game: pyspiel.Game,
        average_type: AverageType = AverageType.SIMPLE,
        *,
        seed: int | None = None,
    ) -> None:
        """Makes the solver; numpy's global generator draws the seed if it is None."""
        _check_average_type(average_type)
        super().__init__(game, algorithms.EXTERNAL_SAMPLING, seed)


class OutcomeSamplingSolver(_PythonSolver):
    """`open_spiel.python.algorithms.outcome_sampling_mccfr.OutcomeSamplingSolver`."""

    def __init__(self, game: pyspiel.Game, *, seed: int | None = None) -> None:
        """Makes the solver; numpy's global generator draws the seed if it is None."""
        super().__init__(game, algorithms.OUTCOME_SAMPLING, seed)


class _PyspielSolver(_OnSolver):
    """The common methods of pyspiel's two MCCFR solvers."""

    def __init__(
        self, game: pyspiel.Game, algorithm: algorithms.Algorithm, seed: int
    ) -> None:
        self._run(game, algorithm, seed)
        # pyspiel.nash_conv needs the policy at every state, also at states that no walk
        # has visited. A completely expanded tree has them all. If the tree is too
        # large, its expansion fails and is undone, and the tree grows during walks.
        tree: Any = self._solver.tree
        # If the solver stores infosets only, and walks run the game's compiled rules,
        # there is no tree to expand.
        if not isinstance(tree, GameTree):
            return
        with contextlib.suppress(TreeFullError):
            tree.expand_all(
                most=_MOST_NODES_EXPANDED, most_memory=tree.budget.limit // 8
            )

    def run_iteration(self) -> None:
        """Runs one iteration: one walk per player."""
        self._solver.iteration()

    def average_policy(self) -> pyspiel.PartialTabularPolicy:
        """Returns a copy of the average policy.

        It is uniform at states that no walk has visited.
        """
        return self._solver.average_policy().to_pyspiel()


_MOST_NODES_EXPANDED = 1_000_000
"""The largest number of nodes in a tree that is expanded before the first iteration."""


class ExternalSamplingMCCFRSolver(_PyspielSolver):
    """`pyspiel.ExternalSamplingMCCFRSolver`."""

    def __init__(
        self,
        game: pyspiel.Game,
        seed: int = 0,
        avg_type: pyspiel.MCCFRAverageType | AverageType = AverageType.SIMPLE,
    ) -> None:
        _check_average_type(avg_type)
        super().__init__(game, algorithms.EXTERNAL_SAMPLING, seed)


class OutcomeSamplingMCCFRSolver(_PyspielSolver):
    """`pyspiel.OutcomeSamplingMCCFRSolver`."""

    def __init__(
        self, game: pyspiel.Game, epsilon: float = 0.6, seed: int = -1
    ) -> None:
        """Makes the solver. All negative seeds are equivalent."""
        seed = max(refusals.integer(seed, "seed"), -1)
        sampling = algorithms.outcome(epsilon)
        super().__init__(
            game, algorithms.OUTCOME_SAMPLING._replace(sampling=sampling), seed
        )


def _check_average_type(average_type: object) -> None:
    """Raises ValueError unless the argument is the member SIMPLE or FULL of an
    enumeration.

    Any enumeration is accepted, because OpenSpiel has one in Python and one in C++.
    """
    name = getattr(average_type, "name", None)
    if name not in AverageType.__members__:
        raise ValueError(f"{average_type!r} must be an AverageType, SIMPLE or FULL.")
