"""Reads Gambit's strategic games (.nfg, version 1).

In the extensive form players choose one after another, without seeing the choices of
the others. The file lists one payoff vector, or one number of an outcome, for each
profile of strategies; the first player's strategy changes fastest.
"""

import math
from fractions import Fraction

from mccfr_spiel.interchange.form import FormInfoset, GameForm, Payoffs, distinct
from mccfr_spiel.interchange.tokens import END, NUMBER, TEXT, Tokens

MOST_PROFILES = 2_000_000
"""The most profiles of strategies that a file may have."""


def read_nfg(tokens: Tokens) -> GameForm:
    """Reads a strategic game, from its title on.

    Raises:
        GameFileError: the file breaks the format; the message names line and token.
    """
    title = tokens.take(TEXT, "the game's title in double quotes").text
    names = tokens.texts("the players' names")
    if not names:
        tokens.fail("expected at least one player before this")
    players = distinct(names, "Player")
    strategies = _strategies(tokens, len(players))
    tokens.skip(TEXT)  # the comment
    shape = [len(own) for own in strategies]
    num_profiles = math.prod(shape)
    if num_profiles > MOST_PROFILES:
        tokens.fail(f"expected at most {MOST_PROFILES:,} profiles of strategies")
    if tokens.current.kind == "{":
        payoffs = _by_outcomes(tokens, len(players), num_profiles)
    else:
        payoffs = [_payoffs(tokens, len(players)) for _ in range(num_profiles)]
    if tokens.current.kind != END:
        tokens.fail(f"expected the end of the file after {num_profiles:,} profiles")
    infosets = [
        FormInfoset(player, players[player], strategies[player])
        for player in range(len(players))
    ]
    form = GameForm(title or "Untitled game", players, infosets)
    _add_nodes(form, shape, payoffs)
    return form


def _strategies(tokens: Tokens, num_players: int) -> list[tuple[str, ...]]:
    """Reads names of strategies, or how many each player has."""
    start = tokens.take("{", "'{' before the strategies")
    found = []
    while not tokens.skip("}"):
        token = tokens.current
        if token.kind == "{":
            names = tokens.texts("a player's strategies")
        else:
            count = tokens.whole("a number of strategies, '{' or '}'")
            if count > MOST_PROFILES:
                tokens.fail(f"expected at most {MOST_PROFILES:,} strategies", token)
            names = [str(strategy + 1) for strategy in range(count)]
        if not names:
            tokens.fail("expected at least one strategy", token)
        found.append(distinct(names, "strategy"))
    if len(found) != num_players:
        tokens.fail(
            f"expected strategies of {num_players} players, found {len(found)}", start
        )
    return found


def _payoffs(tokens: Tokens, num_players: int) -> Payoffs:
    """Reads a payoff for each player."""
    payoffs = []
    for player in range(num_players):
        payoffs.append(tokens.number(f"a payoff of player {player + 1}"))
        if tokens.skip(",") and tokens.current.kind != NUMBER:
            tokens.fail("expected a payoff after a comma")
    return tuple(payoffs)


def _by_outcomes(tokens: Tokens, num_players: int, num_profiles: int) -> list[Payoffs]:
    """Reads the list of outcomes, then the outcome of each profile."""
    outcomes = [(Fraction(0),) * num_players]  # outcome 0 pays nothing
    tokens.take("{", "'{' before the outcomes")
    while not tokens.skip("}"):
        tokens.take("{", "'{' before an outcome, or '}' after the last one")
        tokens.take(TEXT, "the outcome's label in double quotes")
        outcomes.append(_payoffs(tokens, num_players))
        tokens.take("}", f"'}}' after {num_players} payoffs")
    payoffs = []
    for _ in range(num_profiles):
        token = tokens.current
        outcome = tokens.whole("the number of an outcome")
        if outcome >= len(outcomes):
            tokens.fail(f"expected an outcome from 0 to {len(outcomes) - 1}", token)
        payoffs.append(outcomes[outcome])
    return payoffs


def _add_nodes(form: GameForm, shape: list[int], payoffs: list[Payoffs]) -> None:
    """Adds a level of nodes for each player, then the ends."""
    level, stride = [(-1, 0)], 1  # parents of the next nodes, numbers of their profiles
    for player, count in enumerate(shape):
        nodes = [(form.add_node(parent, player), first) for parent, first in level]
        level = [
            (node, first + stride * k) for node, first in nodes for k in range(count)
        ]
        stride *= count
    for parent, profile in level:
        form.payoffs[form.add_node(parent, -1)] = payoffs[profile]
