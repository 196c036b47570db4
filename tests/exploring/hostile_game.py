"""A game whose strings try to become HTML."""

import dataclasses

import pyspiel

import mccfr_spiel as ms
from tests.small_games import Tree, chance, leaf, move, small_game

HOSTILE = "</script><script>window.stolen=1</script><img src=x onerror='stolen=1'>"


def hostile_game() -> pyspiel.Game:
    """Player 0 guesses a coin; its states and moves are named like HTML."""

    def guess(right: int) -> Tree:
        ends = [
            leaf(1.0, -1.0) if side == right else leaf(-1.0, 1.0) for side in (0, 1)
        ]
        tree = move(0, HOSTILE, *ends)
        return dataclasses.replace(tree, names=("<b>left</b>" + HOSTILE, "&lt;right"))

    coin = chance((0.5, guess(0)), (0.5, guess(1)))
    return small_game(dataclasses.replace(coin, names=(HOSTILE, "<!-- x -->")))


def hostile_policy() -> ms.SequencePolicy:
    """The uniform policy of that game."""
    return ms.Solver(hostile_game(), ms.CFR).average_policy()
