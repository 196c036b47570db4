"""Names <-> Settings: the only place where names become values.

The command line, settings.json and users of `named_settings` describe a run by names
and numbers without structure: `--sampling=outcome --epsilon=0.4`. SETTINGS lists them.
"""

import types
from collections.abc import Mapping
from typing import Any

from mccfr_spiel.algorithms import SCHEDULES
from mccfr_spiel.experiments.algorithm_names import (
    METHODS,
    PARTS,
    make_method,
    written,
)
from mccfr_spiel.experiments.settings import FIELDS, Settings
from mccfr_spiel.experiments.tables import Count, Setting, table_of
from mccfr_spiel.storage.results_folder import load_string

Flags = Mapping[str, Any]
"""What a run is told, by names in SETTINGS; what is missing or None has its default."""


class _Names:
    """What names say beside the fields of `Settings`.

    Attributes:
        players: Number of players, where the game has a choice.
        algorithm: Or the repr of an algorithm, as "Algorithm(outcome(0.4), ftrl(0.5))".
            Sampling, minimizer, averaging and alternating replace parts of it, except
            in offline methods, which have none.
    """

    players: Count | None = None
    algorithm: str = written(Settings().algorithm)


_NAMES = table_of(_Names)
_WORDS = f"What to run: {', '.join([*METHODS, *SCHEDULES])}. "

SETTINGS: dict[str, Setting] = {
    "game": FIELDS["game"],
    "players": _NAMES["players"],
    "algorithm": _NAMES["algorithm"]._replace(help=_WORDS + _NAMES["algorithm"].help),
    **PARTS,
    **{name: one for name, one in FIELDS.items() if name not in ("game", "algorithm")},
}
"""The table of settings: name -> what may be said of it, in the order of files."""

DEFAULT: Flags = types.MappingProxyType(
    {name: setting.default for name, setting in SETTINGS.items()}
)
"""What each setting is when it is not given."""

CHANGEABLE = (
    "iterations",
    "until_nodes_touched",
    "until_nash_conv",
    "until_pot_percent",
    "max_memory",
    "twin",
    "threads",
    "keep_policies",
)
"""The settings that may be others when a run is resumed."""


def named_settings(**given: Any) -> Settings:
    """The settings that names describe.

        named_settings(game="kuhn_poker", players=3, algorithm="cfr", sampling="chance")

    The names are those of SETTINGS, which are flags of the command line, too: `players`
    is added to the game, `algorithm` is a name in `algorithm_names.METHODS` or in
    `algorithms.SCHEDULES` or the repr of an algorithm, whose parts the others replace,
    and the rest are the fields of `Settings`.

    Raises:
        ValueError: a name is unknown, a number is out of range, or a parameter is given
            that the method does not have.
    """
    for name in given:
        if name not in SETTINGS:
            raise ValueError(f"{name}= is none of the settings {', '.join(SETTINGS)}.")
    fields = {name: given[name] for name in FIELDS if name in given}
    fields["game"] = load_string(
        given.get("game") or DEFAULT["game"], given.get("players")
    )
    fields["algorithm"] = make_method(with_horizon(given))
    return Settings(**fields)


def flags_of(settings: Settings) -> dict[str, Any]:
    """The names and values that describe settings: the inverse of `named_settings`."""
    fields = {name: getattr(settings, name) for name in FIELDS}
    flags = fields | {"algorithm": written(settings.algorithm)}
    return {name: flags[name] for name in SETTINGS if flags.get(name) is not None}


def with_horizon(flags: Flags) -> Flags:
    """The flags with the horizon that they imply, which --iterations may not change
    when a run is resumed."""
    name = flags.get("algorithm")
    if name not in SCHEDULES or flags.get("horizon") is not None:
        return flags
    nodes = flags.get("until_nodes_touched")
    if nodes is not None:
        raise ValueError(
            f"algorithm={name} with until_nodes_touched={nodes} needs a horizon: the "
            "number of iterations in the course of which its parameters change, such "
            "as horizon=1000."
        )
    return {**flags, "horizon": flags.get("iterations") or DEFAULT["iterations"]}
