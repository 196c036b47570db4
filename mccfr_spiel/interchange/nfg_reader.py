"""Reads Gambit's strategic games (.nfg, version 1).

In the extensive form, players choose one after another without seeing the choices of
the others. A file has two variants. Both list the profiles of strategies so that the
first player's strategy changes fastest:

- one payoff vector per profile;
- a list of outcomes with payoffs, then one outcome number per profile.
"""

import math
from fractions import Fraction

from mccfr_spiel.interchange.form import FormInfoset, GameForm, Payoffs
from mccfr_spiel.interchange.labels import distinct
from mccfr_spiel.interchange.tokens import END, TEXT, Tokens

MAX_PROFILES = 2_000_000
"""Maximum number of strategy profiles in a file."""


def read_nfg(tokens: Tokens) -> GameForm:
    """Reads a strategic game, beginning at the title.

    Raises:
        GameFileError: the file breaks the format; the message names line and token.
    """
    title, names = tokens.title_and_players()
    players = distinct(names, "Player")
    strategies = _strategies(tokens, len(players))
    tokens.skip(TEXT)  # a comment
    shape = [len(own) for own in strategies]
    num_profiles = math.prod(shape)
    if num_profiles > MAX_PROFILES:
        tokens.fail(f"expected at most {MAX_PROFILES:,} strategy profiles")
    if tokens.current.kind == "{":
        payoffs = _payoffs_by_outcome(tokens, len(players), num_profiles)
    else:
        payoffs = [tokens.payoffs(len(players)) for _ in range(num_profiles)]
    if tokens.current.kind != END:
        tokens.fail(f"expected the end of the file after {num_profiles:,} profiles")
    infosets = [
        FormInfoset(player, name, own)
        for player, (name, own) in enumerate(zip(players, strategies, strict=True))
    ]
    form = GameForm(title, players, infosets)
    _add_nodes(form, shape, payoffs)
    return form


def _strategies(tokens: Tokens, num_players: int) -> list[tuple[str, ...]]:
    """Reads each player's strategies: a list of names, or a number."""
    start = tokens.take("{", "'{' before the strategies")
    strategies = []
    while not tokens.skip("}"):
        token = tokens.current
        if token.kind == "{":
            names = tokens.texts("a player's strategies")
        else:
            count = tokens.whole("a number of strategies, '{' or '}'")
            if count > MAX_PROFILES:
                tokens.fail(f"expected at most {MAX_PROFILES:,} strategies", token)
            names = [str(strategy + 1) for strategy in range(count)]
        if not names:
            tokens.fail("expected at least one strategy", token)
        strategies.append(distinct(names, "strategy"))
    if len(strategies) != num_players:
        tokens.fail(
            f"expected strategies of {num_players} players, found {len(strategies)}",
            start,
        )
    return strategies


def _payoffs_by_outcome(
    tokens: Tokens, num_players: int, num_profiles: int
) -> list[Payoffs]:
    """Reads a list of outcomes and each profile's outcome; returns the payoffs of each
    profile."""
    outcomes = [(Fraction(0),) * num_players]  # outcome 0 pays nothing
    tokens.take("{", "'{' before the outcomes")
    while not tokens.skip("}"):
        tokens.take("{", "'{' before an outcome, or '}' after the last outcome")
        tokens.take(TEXT, "the outcome's label in double quotes")
        outcomes.append(tokens.payoffs(num_players))
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
    """Adds one level of nodes per player, then the terminal nodes.

    Args:
        form: receives the nodes.
        shape: `[P]` number of strategies per player.
        payoffs: payoffs of each profile, in the order of the file.
    """
    # Missing nodes of the next level: parent, and the profile in which all later
    # players choose their first strategy.
    level, stride = [(-1, 0)], 1
    for player, count in enumerate(shape):
        nodes = [(form.add_node(parent, player), first) for parent, first in level]
        level = [
            (node, first + stride * strategy)
            for node, first in nodes
            for strategy in range(count)
        ]
        stride *= count
    for parent, profile in level:
        form.payoffs[form.add_node(parent, -1)] = payoffs[profile]
