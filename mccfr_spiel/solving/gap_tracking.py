"""GapTracking: the methods of `Solver` that measure all played policies together."""

from typing import Any, NoReturn

import numpy as np

from mccfr_spiel.algorithms import Algorithm, OwnEstimator
from mccfr_spiel.arenas.evaluating import full_pass
from mccfr_spiel.arenas.infosets.lock import TreeLock, reads
from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.common import refusals
from mccfr_spiel.common.display import brief
from mccfr_spiel.kernels import tables as layout
from mccfr_spiel.solving.played_gradients import PlayedGradients
from mccfr_spiel.solving.state import SolverState, take_tables


class GapTracking:
    """Gaps of the coarse correlated equilibrium that a solver's iterations form."""

    algorithm: Algorithm
    state: SolverState
    tree: Any
    lock: TreeLock

    def track_cce(self, *, external_regret: bool = False) -> None:
        """Prepares `cce_gaps`: from now on, iterations also average gradients.

        Call it before the first iteration. It allocates vectors over the sequences of
        the game. Full-width iterations take two to three times as long. With sampling,
        the tree is expanded completely, and gradients are computed in at least 64
        iterations while their number doubles. Policies do not change. Checkpoints,
        pickles and copies keep the data.

        Args:
            external_regret: whether to prepare `external_regrets`, too.

        Raises:
            ValueError: an iteration has begun; the solver has an abstraction or walks
                over compiled rules; or the updates have no exact gradients and
                `external_regret` is True.
            TreeFullError, MemoryBudgetError: (both ValueError) the complete tree or the
                vectors do not fit.
        """
        updates = refusals.flag(external_regret, "external_regret")
        present = self.state.gradients
        if present is not None and (present.updates is not None or not updates):
            return
        if self.state.counts[layout.ITERATION] > 0:
            raise ValueError(
                f"track_cce must be called before the first iteration, and "
                f"{self.state.counts[layout.ITERATION]:,} have begun, whose gradients "
                "are lost. Make a new solver, call track_cce(), and then iterate."
            )
        self._check_trackable(updates=updates)
        tree = self.tree
        if isinstance(tree, GameTree) and not tree.is_complete:
            tree.expand_all()
        self._begin_tracking(updates=updates)

    def _check_trackable(self, *, updates: bool) -> None:
        """Raises ValueError if the gradients of the solver cannot be averaged."""
        tree, sampling = self.tree, self.algorithm.sampling
        if tree.abstraction is not None:
            raise ValueError(
                "CCE gaps need perfect recall, which an abstraction does not "
                "guarantee. Make the solver without abstraction=."
            )
        if tree.store == "blocks":
            raise ValueError(
                "CCE gaps need gradients over sequences, which blocks of hands do not "
                'have. Make the solver with store="worlds".'
            )
        if self.state.full_pass is None and not isinstance(tree, GameTree):
            raise ValueError(
                f"CCE gaps need gradients of the whole game, but the solver walks over "
                f"the rules of {brief(tree.source)} without nodes. Make the solver "
                'with store="tree".'
            )
        if updates and (sampling.is_sampled or isinstance(sampling, OwnEstimator)):
            raise ValueError(
                f"external_regret needs exact gradients of the updates, and {sampling} "
                "estimates them. Use cce_gap, or an algorithm that samples nothing, "
                "such as ms.CFR."
            )

    @reads
    def _begin_tracking(self, *, updates: bool) -> None:
        state = self.state
        passes = state.full_pass or full_pass(self.tree)
        gradients = PlayedGradients(state, passes, updates=updates)
        size = 8 * gradients.num_vectors
        take_tables(self.tree.budget, gradients, 0, size, self.tree.sizes)
        state.gradients = gradients

    @reads
    def cce_gaps(self) -> np.ndarray:
        """`[P]` gap of each player in the coarse correlated equilibrium (CCE).

        The gap is what a player could have gained by one fixed policy in all
        iterations, while the other players played as they did, per unit of weight:

            max over plans q of <q, G> - mean of u(sigma_t)

        where sigma_t is the joint policy with which iteration t begins, G the mean of
        the player's gradients at sigma_t, and u the player's return. Means are weighted
        as in `average_policy`. If all gaps are at most eps, to draw an iteration by its
        weight and to recommend its policy to all players is an eps-CCE, for any number
        of players and any payoffs. An average over few iterations can have negative
        gaps.

        Gaps are exact for algorithms that do not sample. With sampling they are
        estimates: gradients are exact, but computed at one random iteration of each
        block of at most 1/64 of the iterations before it. So the mean gradient has no
        bias at the end of a block, and the gaps are overestimated slightly.

        Raises:
            ValueError: `track_cce` was not called before the first iteration, or no
                iteration has begun.
        """
        return self._tracked("cce_gaps", "track_cce()").gaps()

    @reads
    def external_regrets(self) -> np.ndarray:
        """`[P]` external regret on the gradients of the updates, per unit of weight.

        With simultaneous updates it equals `cce_gaps`. With alternating updates, the
        gradient of a player is taken after the update of the players before, so the
        numbers differ; theorems on regret minimizers bound this one.

        Raises:
            ValueError: `track_cce(external_regret=True)` was not called before the
                first iteration, or no iteration has begun.
        """
        call = "track_cce(external_regret=True)"
        gradients = self._tracked("external_regrets", call)
        if gradients.updates is None:
            _refuse("external_regrets", call)
        return gradients.external_regrets()

    def _tracked(self, name: str, call: str) -> PlayedGradients:
        gradients = self.state.gradients
        if gradients is None:
            _refuse(name, call)
        if gradients.is_empty:
            raise ValueError(f"{name} needs at least one iteration; call iterate.")
        return gradients

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Copies the arrays of a checkpoint into a new solver.

        Args:
            arrays: the arrays of the checkpoint.

        Raises:
            DamagedError: the arrays are not those of a solver on this tree.
            KeyError: an array is missing.
        """
        if "played_gradient" in arrays:
            self.track_cce(external_regret="updates_gradient" in arrays)
        self.state.restore(arrays)
        if self.state.gradients is not None:
            self.state.gradients.restore(arrays)


def _refuse(name: str, call: str) -> NoReturn:
    raise ValueError(
        f"{name} needs data of all iterations, which this solver did not collect. Make "
        f"a new solver and call solver.{call} before the first iteration."
    )
