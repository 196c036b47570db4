"""Random settings of the games that have twins, on which twin and game are compared."""

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyspiel
from open_spiel.python.games import liars_poker  # noqa: F401

from mccfr_spiel.arenas.infosets.loading import turn_based
from mccfr_spiel.arenas.rules.twins import difference_to, twin_of

BOTH = True, False
OBSERVED = "reveal-nothing", "reveal-numturns"
VALUES: dict[str, dict[str, Sequence[object]]] = {
    "dark_hex": {
        "obstype": OBSERVED,
        "gameversion": ("cdh", "adh"),
        "num_rows": range(2, 8),
        "num_cols": range(2, 8),
    },
    "goofspiel": {
        "players": range(2, 11),
        "num_cards": range(2, 17),
        "num_turns": (*[-1] * 8, *range(1, 17)),
        "imp_info": BOTH,
        "egocentric": BOTH,
        "points_order": ("random", "ascending", "descending"),
        "returns_type": ("win_loss", "point_difference", "total_points"),
    },
    "kuhn_poker": {"players": range(2, 11)},
    "leduc_poker": {
        "players": range(2, 11),
        "action_mapping": BOTH,
        "suit_isomorphism": BOTH,
        "starting_player": range(10),
    },
    "liars_dice": {
        "numdice": range(1, 6),
        "dice_sides": range(1, 21),
        "bidding_rule": ("reset-face", "reset-quantity"),
    },
    "oshi_zumo": {
        "coins": range(1, 61),
        "size": range(1, 6),
        "horizon": (1, 2, 5, 20, 200),
        "min_bid": (*[0] * 60, *range(61)),
        "alesia": BOTH,
    },
    "phantom_ttt": {"obstype": OBSERVED, "gameversion": ("classical", "abrupt")},
    "python_liars_poker": {"hand_length": range(1, 7), "num_digits": range(1, 11)},
    "sheriff": {
        "num_rounds": range(1, 6),
        "max_items": range(1, 13),
        "max_bribe": range(13),
        "item_value": (1.0, 0.3, 5.0),
        "item_penalty": (2.0, 0.7),
        "sheriff_penalty": (3.0, 0.1),
    },
    "tiny_bridge_2p": {"abstracted": BOTH},
}
FIT: dict[str, Callable[[Any], bool]] = {
    "goofspiel": lambda v: (
        v["num_turns"] in (-1, *range(1, v["num_cards"] - 1))
        or v["num_turns"] == v["num_cards"]
    ),
    "leduc_poker": lambda v: v["starting_player"] < v["players"],
    "liars_dice": lambda v: v["numdice"] == 1 or v["dice_sides"] < 10,
    "oshi_zumo": lambda v: v["min_bid"] <= v["coins"],
}


def _battleship(draw: random.Random) -> dict[str, object]:
    rows, columns = draw.randint(1, 8), draw.randint(1, 7)
    if draw.random() < 0.4:  # more cells than fit the bits of a number
        rows, columns = draw.randint(8, 10), draw.randint(8, 10)
    # Ships that fill a third of the board's rows always fit.
    count = draw.randint(1, max(1, min(5, rows // 2)))
    repeats = draw.random() < 0.5
    sizes = [draw.randint(1, columns) for _ in range(count)]
    values = [draw.choice((0, 1, 0.1, 2.5, 3)) for _ in sizes]
    return {
        "board_height": rows,
        "board_width": columns,
        "ship_sizes": f"[{';'.join(map(str, sizes))}]",
        "ship_values": f"[{';'.join(map(str, values))}]",
        "num_shots": draw.randint(1, 2 if not repeats else 6)
        if rows * columns > 1
        else 1,
        "allow_repeated_shots": repeats,
        "loss_multiplier": draw.choice((1.0, 0.0, 2.0, 0.3, -1.0)),
    }


def _drawn(name: str, draw: random.Random) -> dict[str, object]:
    """Values of the parameters that go together."""
    if name == "battleship":
        return _battleship(draw)
    values = {key: draw.choice(options) for key, options in VALUES[name].items()}
    fits = FIT.get(name, lambda values: True)(values)
    return values if fits else _drawn(name, draw)


SETTINGS = {*VALUES, "battleship"}


def random_games(name: str, count: int, seed: int) -> Iterator[str]:
    """Load strings of a game with random parameters, different as far as possible.

    Args:
        name: the game, one of `SETTINGS`.
        count: how many.
        seed: of the draws.
    """
    draw, seen = random.Random(seed), set()
    for _ in range(100 * count):
        values = _drawn(name, draw)
        text = ",".join(f"{key}={value}" for key, value in values.items())
        if text not in seen:
            seen.add(text)
            yield f"{name}({text})"
        if len(seen) == count:
            return


def check(text: str, histories: int, seed: int) -> str | None:
    """The first difference between a game and its twin; None if there is none."""
    game = turn_based(pyspiel.load_game(text))
    twin = twin_of(game)
    if twin is None:
        return "it has no twin"
    return difference_to(game, twin, histories=histories, seed=seed)
