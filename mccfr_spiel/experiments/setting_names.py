"""Named settings: names and plain values -> `Settings` -> names and plain values.

The command line, settings.json and `named_settings` describe a run by the names in
SETTINGS, with strings and numbers as values: `--sampling=outcome --epsilon=0.4`. Names
become values in `named_settings` and nowhere else.
"""

import types
from typing import Any

from mccfr_spiel.algorithms import EXTERNAL_SAMPLING, SCHEDULES
from mccfr_spiel.common import refusals
from mccfr_spiel.experiments.algorithm_names import METHODS, make_method, written
from mccfr_spiel.experiments.algorithm_parts import PARTS
from mccfr_spiel.experiments.load_strings import (
    load_string,
)
from mccfr_spiel.experiments.setting_tables import Setting
from mccfr_spiel.experiments.settings import FIELDS, Flags, Settings, with_horizon

_ALGORITHM = (
    f"Algorithm: {', '.join([*METHODS, *SCHEDULES])}. Or the repr of an algorithm, "
    'such as "Algorithm(outcome(0.4), ftrl(0.5))". The flags sampling, minimizer, '
    "averaging and alternating replace its parts. Offline methods (egt, practical_egt, "
    "mirror_prox, lp, sparsified_lp) have no such parts."
)

SETTINGS: dict[str, Setting] = {
    "game": FIELDS["game"],
    "players": Setting(
        "players",
        int,
        None,
        "Number of players, for games that allow several numbers.",
        least=1,
    ),
    "algorithm": Setting("algorithm", str, written(EXTERNAL_SAMPLING), _ALGORITHM),
    **PARTS,
    **{name: s for name, s in FIELDS.items() if name not in ("game", "algorithm")},
}
"""All settings of a run by name, in the order of files and of --help."""

DEFAULT: Flags = types.MappingProxyType(
    {name: setting.default for name, setting in SETTINGS.items()}
)
"""The default of each setting."""

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
"""The settings that may change when a run is resumed."""


def named_settings(**given: Any) -> Settings:
    """Makes settings from names and plain values.

        named_settings(game="kuhn_poker", players=3, algorithm="cfr", sampling="chance")

    The names are those in SETTINGS, which are also flags of `mccfr-spiel solve`.
    `players` becomes a parameter of the game. `algorithm` is a name in
    `algorithm_names.METHODS` or `algorithms.SCHEDULES`, or the repr of an algorithm.
    The settings in `algorithm_parts.PARTS` replace its parts, and the remaining ones
    are fields of `Settings`.

    Raises:
        ValueError: a name is unknown, a number is out of range, or the method does not
            have a given parameter.
    """
    for name, value in given.items():
        if name not in SETTINGS:
            raise ValueError(
                f"Unknown setting {name}={value!r}.{refusals.near(name, SETTINGS)} "
                f"Expected {', '.join(SETTINGS)}."
            )
        if value is not None:
            SETTINGS[name].checked(value)
    fields = {name: given[name] for name in FIELDS if given.get(name) is not None}
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
