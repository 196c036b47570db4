"""Metrics of all played policies together: CCE gap and external regret."""

from typing import Any


class GapMetric:
    """A metric that needs data of all iterations.

    Attributes:
        measure: method of `Solver` that returns one number per player.
        with_regret: argument `external_regret` of `Solver.track_cce`.
    """

    def __init__(self, name: str, measure: str, *, with_regret: bool) -> None:
        self.__name__ = name
        self.measure, self.with_regret = measure, with_regret

    def prepare(self, solver: Any) -> None:
        """Calls `solver.track_cce`; runs that record the metric call this method.

        Raises:
            ValueError: see `Solver.track_cce`; or the solver is an offline method.
        """
        if not hasattr(solver, "track_cce"):
            raise ValueError(
                f"{type(solver).__name__} has no {self.__name__}, because its "
                "iterations minimize no regrets: use nash_conv instead."
            )
        solver.track_cce(external_regret=self.with_regret)

    def __call__(self, solver: Any) -> float:
        """The largest number over all players.

        Raises:
            ValueError: `Solver.track_cce` was not called before the first iteration.
        """
        return float(getattr(solver, self.measure)().max())

    def __repr__(self) -> str:
        return f"ms.metrics.{self.__name__}"


cce_gap = GapMetric("cce_gap", "cce_gaps", with_regret=False)
"""The largest gap of a player in the coarse correlated equilibrium that all iterations
form, see `Solver.cce_gaps`. It works with any number of players and any payoffs."""

external_regret = GapMetric("external_regret", "external_regrets", with_regret=True)
"""The largest external regret of a player on the gradients of the updates, divided by
the sum of weights, see `Solver.external_regrets`."""
