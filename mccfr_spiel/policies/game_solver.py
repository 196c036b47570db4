"""What every solver of this package offers, whatever method it runs.

The loop that measures convergence (experiments/runs.py) and the code that writes
results use solvers only through these protocols, so a new method needs no change there.
"""

from typing import Protocol

import numpy as np

from mccfr_spiel.policies.policy import SequencePolicy
from mccfr_spiel.tree.game_tree import GameTree


class GameSolver(Protocol):
    """A computation that runs in steps and has a policy after each of them.

    `Solver`, the first-order methods and `LinearProgramRun` are game solvers.

    Attributes:
        tree: the game's tree. It grows while an algorithm that samples is running.
        seconds: time spent in `iterate` and `iterate_until` so far.
    """

    tree: GameTree
    seconds: float

    @property
    def num_iterations(self) -> int:
        """Iterations done so far."""
        ...

    @property
    def nodes_touched(self) -> int:
        """Nodes of the tree visited so far: a cost that all methods share."""
        ...

    def iterate(self, num_iterations: int, /) -> None:
        """Runs some iterations."""
        ...

    def iterate_until(self, nodes_touched: float, /) -> None:
        """Runs iterations until so many nodes have been touched in all."""
        ...

    def average_vector(self) -> np.ndarray:
        """`[S]` the policy to report, over the tree's sequences."""
        ...

    def average_policy(self) -> SequencePolicy:
        """A snapshot of the policy to report."""
        ...
