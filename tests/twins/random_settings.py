"""Random settings of the games that have twins, on which twin and game are compared."""

import random
from collections.abc import Callable, Iterator

import pyspiel
from open_spiel.python.games import liars_poker  # noqa: F401

from mccfr_spiel.tree.loading import turn_based
from mccfr_spiel.twins import difference_to, twin_of

Choice = random.Random


def _kuhn_poker(draw: Choice) -> dict[str, object]:
    return {"players": draw.randint(2, 10)}


def _leduc_poker(draw: Choice) -> dict[str, object]:
    players = draw.randint(2, 10)
    return {
        "players": players,
        "action_mapping": draw.random() < 0.5,
        "suit_isomorphism": draw.random() < 0.5,
        "starting_player": draw.randrange(players),
    }


def _liars_dice(draw: Choice) -> dict[str, object]:
    dice = draw.randint(1, 5)
    return {
        "numdice": dice,
        "dice_sides": draw.randint(1, 9 if dice > 1 else 20),
        "bidding_rule": draw.choice(("reset-face", "reset-quantity")),
    }


def _liars_poker(draw: Choice) -> dict[str, object]:
    return {"hand_length": draw.randint(1, 6), "num_digits": draw.randint(1, 10)}


def _goofspiel(draw: Choice) -> dict[str, object]:
    cards = draw.randint(2, 16)
    turns = [n for n in range(1, cards + 1) if n != cards - 1]
    return {
        "players": draw.randint(2, 10),
        "num_cards": cards,
        "num_turns": draw.choice((-1, draw.choice(turns))),
        "imp_info": draw.random() < 0.6,
        "egocentric": draw.random() < 0.3,
        "points_order": draw.choice(("random", "ascending", "descending")),
        "returns_type": draw.choice(("win_loss", "point_difference", "total_points")),
    }


def _battleship(draw: Choice) -> dict[str, object]:
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


def _phantom_ttt(draw: Choice) -> dict[str, object]:
    return {
        "obstype": draw.choice(("reveal-nothing", "reveal-numturns")),
        "gameversion": draw.choice(("classical", "abrupt")),
    }


def _dark_hex(draw: Choice) -> dict[str, object]:
    return {
        "obstype": draw.choice(("reveal-nothing", "reveal-numturns")),
        "gameversion": draw.choice(("cdh", "adh")),
        "num_rows": draw.randint(2, 7),
        "num_cols": draw.randint(2, 7),
    }


SETTINGS: dict[str, Callable[[Choice], dict[str, object]]] = {
    "battleship": _battleship,
    "dark_hex": _dark_hex,
    "goofspiel": _goofspiel,
    "kuhn_poker": _kuhn_poker,
    "leduc_poker": _leduc_poker,
    "liars_dice": _liars_dice,
    "phantom_ttt": _phantom_ttt,
    "python_liars_poker": _liars_poker,
}
"""Game -> random values of its parameters."""


def random_games(name: str, count: int, seed: int) -> Iterator[str]:
    """Load strings of a game with random parameters, different as far as possible.

    Args:
        name: the game, one of `SETTINGS`.
        count: how many.
        seed: of the draws.
    """
    draw, seen = random.Random(seed), set()
    for _ in range(100 * count):
        values = SETTINGS[name](draw)
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
