"""Contradictions between the settings of a run, as messages."""

from collections.abc import Iterator
from typing import Any

from mccfr_spiel.algorithms import EXTERNAL_SAMPLING
from mccfr_spiel.offline import OfflineMethod


def contradictions(settings: Any) -> Iterator[str]:
    """Yields a message for each contradiction between settings.

    Args:
        settings: a `Settings`, which imports this module.
    """
    method, is_exact = settings.algorithm, settings.evaluate == "exact"
    for name in ("until_nash_conv", "until_pot_percent"):
        if (target := getattr(settings, name)) is not None and not is_exact:
            yield (
                f"{name}={target} needs NashConv, but evaluate={settings.evaluate} "
                "does not compute NashConv. Drop one."
            )
    sampling = getattr(method, "sampling", EXTERNAL_SAMPLING.sampling)
    if settings.store == "none" and is_exact and sampling.is_sampled:
        yield (
            "store=none keeps no tree, but evaluate=exact needs the tree. Use "
            "evaluate=sampled, or drop store=none."
        )
    if settings.forgets:
        yield from _of_recall(settings)
    users = {"bounds": settings.bounds, "evaluate_last": settings.evaluate_last}
    if isinstance(method, OfflineMethod):
        users[method.name] = True
    for user, is_given in users.items():
        if is_given and not is_exact:
            yield (
                f"{user} needs the whole tree, but evaluate={settings.evaluate} does "
                "not expand the tree. Use evaluate=exact."
            )
    if isinstance(method, OfflineMethod):
        yield from _of_offline(settings, method)


def _of_recall(settings: Any) -> Iterator[str]:
    """Yields a message for each setting that imperfect recall excludes."""
    given = f"abstraction={settings.abstraction}"
    if settings.allow_imperfect_recall:
        own = "allow_imperfect_recall=True"
        if settings.abstraction is not None:
            yield (
                f"{own} keeps the game's own strings, but {given} replaces them. "
                "Drop one."
            )
        given = own
    elif ":" not in str(settings.abstraction):
        yield (
            f"{given} is not of the form MODULE:FUNCTION, such as "
            "my_buckets:by_strength."
        )
    if settings.evaluate == "exact":
        yield (
            f"{given} is given, but evaluate=exact needs a best response, which no "
            "simple algorithm finds for players who forget. Use evaluate=sampled "
            "or evaluate=none."
        )
    if settings.twin or settings.store == "none":
        other = "twin=True" if settings.twin else "store=none"
        yield (
            f"{other} is given, but compiled rules do not support players who "
            f"forget. Drop {other} or {given}."
        )


def _of_offline(settings: Any, method: OfflineMethod) -> Iterator[str]:
    """Yields a message for each setting that an offline method does not support."""
    if (nodes := settings.until_nodes_touched) is not None:
        yield (
            f"until_nodes_touched={nodes} is given, but {method.name} counts "
            "iterations. Use iterations instead."
        )
    if settings.evaluate_last:
        yield (
            f"{method.name} has only one policy, which it evaluates anyway. Drop "
            "evaluate_last=True."
        )
    if settings.keep_policies is not None and not method.is_iterative:
        yield (
            f"{method.name} has no intermediate policies. Drop "
            f"keep_policies={settings.keep_policies}."
        )
    if settings.bounds and not method.is_iterative:
        yield f"{method.name} has no convergence bound. Drop bounds=True."
