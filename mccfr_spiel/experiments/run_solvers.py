"""Solvers of runs: settings -> checks, tree, memory budget, solver, resumed solver."""

import pathlib
from typing import TYPE_CHECKING, Any

import pyspiel

from mccfr_spiel.algorithms import Algorithm, own_parts_of
from mccfr_spiel.arenas.choosing import refuse_everywhere, takes_worlds
from mccfr_spiel.arenas.infosets.string_checks import pot_of
from mccfr_spiel.arenas.infosets.table import Abstraction
from mccfr_spiel.arenas.needs import needs_of
from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.common.budget import Budget, MaxMemory
from mccfr_spiel.common.memory import free_memory, in_words, parse_bytes, resident
from mccfr_spiel.evaluation.theory import check_covered
from mccfr_spiel.experiments.importing import import_object
from mccfr_spiel.experiments.settings import Settings
from mccfr_spiel.offline import GameSolver, OfflineMethod, check_players
from mccfr_spiel.solving.solver import Solver

if TYPE_CHECKING:
    from mccfr_spiel.solving.crews import (
        Cluster,
    )

OWN_STRINGS: Abstraction = pyspiel.State.information_state_string
"""The abstraction that keeps a game's own strings."""

_LEAST_MEMORY = 2**20


def check(settings: Settings, *, splits: bool = False) -> None:
    """Raises ValueError if the game cannot be loaded or the method cannot solve it.

    The tree is not expanded, so errors that only the whole tree reveals come later.

    Args:
        settings: the run.
        splits: whether a cluster splits the run's batches.
    """
    tree, method = new_tree(settings), settings.algorithm
    settings.target(pot_of(tree.game))
    if isinstance(method, OfflineMethod):
        if splits:
            raise ValueError(
                f"A cluster splits batches of walks, but {method.name} has no walks. "
                "Use a sampling algorithm with a batch."
            )
        check_players(tree)
        return
    needs = needs_of(method, abstraction=tree.abstraction, cluster=splits)
    refuse_everywhere(tree, needs, settings.store)
    if settings.bounds:
        try:
            check_covered(tree.game, method)
        except ValueError as error:
            raise ValueError(f"bounds=True is not possible. {error}") from error


def new_tree(settings: Settings, max_memory: MaxMemory = None) -> GameTree:
    """Makes the tree of the settings' game, with no expanded nodes."""
    return GameTree(
        settings.game,
        max_nodes=settings.max_nodes,
        max_memory=max_memory,
        abstraction=abstraction_of(settings),
        twin=settings.twin,
    )


def abstraction_of(settings: Settings) -> Abstraction | None:
    """The user's abstraction; with allow_imperfect_recall, the game's own strings."""
    if settings.abstraction is not None:
        return import_object(settings.abstraction)
    return OWN_STRINGS if settings.allow_imperfect_recall else None


def budget_of(settings: Settings) -> Budget:
    """The memory available to the run's tree and tables.

    `max_memory` limits the whole process, so the memory in use is subtracted. Without
    exact evaluation, a quarter is reserved for learning a response after the run.

    Raises:
        ValueError: the process already uses more than `max_memory`.
    """
    if settings.max_memory is None:
        limit, note = free_memory() // 2, ", of the memory that was free"
    else:
        whole, used = parse_bytes(settings.max_memory), resident()
        limit = whole - used
        note = f", of the {in_words(whole)} that the process may take"
        if limit < _LEAST_MEMORY:
            raise ValueError(
                f"max_memory={settings.max_memory} is too small: the program itself "
                f"uses {in_words(used)}."
            )
    if settings.evaluate != "exact":
        limit = limit * 3 // 4
    return Budget(max(limit, 1), note=note)


def make_solver(
    settings: Settings,
    tree: GameTree | None = None,
    *,
    cluster: "Cluster | None" = None,
) -> GameSolver:
    """Makes the solver of a run.

    For exact evaluation it expands the whole tree, unless worlds provide the
    evaluation or the algorithm is full-width, in which case `Solver` decides.

    Args:
        settings: the run.
        tree: the game's complete tree, if it exists already.
        cluster: where batches of walks are split, see `Solver`.

    Raises:
        ValueError: the game cannot be solved; see `GameTree`, `Solver` and
            `OfflineMethod.start`.
    """
    tree = tree or new_tree(settings, budget_of(settings))
    method = settings.algorithm
    is_full_width = isinstance(method, Algorithm) and not method.sampling.is_sampled
    if settings.evaluate == "exact" and not (is_full_width or takes_worlds(tree)):
        tree.expand_all()
    if not isinstance(method, Algorithm):
        return method.start(tree)
    return Solver(
        tree,
        method,
        seed=settings.seed,
        store=settings.store,
        threads=settings.threads,
        cluster=cluster,
    )


def load_solver(
    settings: Settings,
    checkpoint: pathlib.Path,
    tree: GameTree | None = None,
    *,
    cluster: "Cluster | None" = None,
) -> Solver:
    """Loads the solver of a run from its newest intact checkpoint.

    Args:
        settings: the run.
        checkpoint: path of the checkpoint, see `Solver.load_newest`.
        tree: the game's complete tree, if it exists already.
        cluster: see `Solver`.

    Raises:
        FileNotFoundError: there is no checkpoint.
        ValueError: the checkpoint is damaged, belongs to another run, or is beyond the
            last iteration of the settings.
    """
    method = settings.algorithm
    assert isinstance(method, Algorithm)  # offline methods write no checkpoints
    own: dict[str, Any] = own_parts_of(method)
    solver = Solver.load_newest(
        checkpoint,
        tree or settings.game,
        abstraction=abstraction_of(settings),
        max_memory=budget_of(settings),
        threads=settings.threads,
        twin=settings.twin,
        cluster=cluster,
        **own,
    )
    if (solver.algorithm, solver.seed) != (settings.algorithm, settings.seed):
        raise ValueError(
            f"{checkpoint} belongs to a different run: expected {settings.algorithm!r} "
            f"and seed={settings.seed}, not {solver.algorithm!r} and "
            f"seed={solver.seed}."
        )
    by_iterations = settings.until_nodes_touched is None
    if by_iterations and solver.num_iterations > settings.iterations:
        raise ValueError(
            f"iterations={settings.iterations} is less than the "
            f"{solver.num_iterations} iterations of {checkpoint}. Increase "
            "the limit."
        )
    tree, is_exact = solver.tree, settings.evaluate == "exact"
    if is_exact and isinstance(tree, GameTree) and not takes_worlds(new_tree(settings)):
        tree.expand_all()
    return solver
