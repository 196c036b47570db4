"""Damaged Gambit files raise errors that name the line and the token."""

import re

import pytest

from mccfr_spiel.interchange.tokens import GameFileError
from tests.interchange.gambit_texts import O_NEILL, PENNIES, POKER, game_of

HIGH = 'p "" 1 1 "high" { "raise" "fold" } 0'
DEAL = '{ "High" 1/2 "Low" 0.5 }'
BOTH = '{ { "heads" "tails" } { "heads" "tails" } }'

DICE = """\
EFG 2 R "" { "Ann" }
c "" 1 "" { "a" 1/2 "b" 1/2 } 0
t "" 0
c "" 1 "" { "a" 1/2 "b" 1/2 } 1 "" { 1 }
t "" 0
t "" 0
"""

MUTATIONS = [
    # text, old, new, line, token, expected
    (POKER, "EFG 2", "EFG 3", 1, "'EFG'", "EFG 2 or NFG 1"),
    (POKER, "EFG 2", "XFG 2", 1, "'XFG'", "EFG 2 or NFG 1"),
    (POKER, "EFG 2", "EFG two", 1, "'two'", "the format's version"),
    (POKER, "EFG 2", '"EFG" 2', 1, "'EFG'", "EFG or NFG"),
    (POKER, ' R "One', ' Q "One', 1, "'Q'", "R or D"),
    (POKER, '"One-card poker" ', "", 1, "'{'", "title"),
    (POKER, '{ "Ann" "Bob" }', "{ }", 2, "'Payoffs", "at least one player"),
    (POKER, '"Bob" }', "Bob }", 1, "'Bob'", "a text or '}'"),
    (POKER, '"Bob" }', '"Bob"', 4, "'c'", "a text or '}'"),
    (POKER, 'c "" 1', 'x "" 1', 4, "'x'", "c, p or t"),
    (POKER, 'c "" 1', "c 1", 4, "'1'", "node's label"),
    (POKER, 'c "" 1', 'c "" one', 4, "'one'", "number of an information set"),
    (POKER, "1/2", "1/3", 4, "'{'", "sum to 1, found 0.8333"),
    (POKER, "1/2", "1/0", 4, "'1/0'", "a denominator other than 0"),
    (POKER, "1/2", "-1/2", 4, "'-1/2'", "from 0 to 1"),
    (POKER, "1/2", "3/2", 4, "'3/2'", "from 0 to 1"),
    (POKER, "1/2", "half", 4, "'half'", "a probability"),
    (POKER, "1/2", "1e99999", 4, "'1e99999'", "a number of at most 1e+100"),
    (POKER, "0.5 }", "0.5", 4, "'0'", "an action's label or '}'"),
    (POKER, DEAL, "{ }", 4, "'{'", "at least one action"),
    (POKER, DEAL, "", 4, "'0'", "a list of actions"),
    (POKER, 'p "" 1 1', 'p "" 3 1', 5, "'3'", "a player from 1 to 2"),
    (POKER, 'p "" 1 1', 'p "" 0 1', 5, "'0'", "a player from 1 to 2"),
    (POKER, 'p "" 1 1', 'p "" 1 1.5', 5, "'1.5'", "number of an information set"),
    (POKER, 'p "" 1 1', 'p "" 1 -1', 5, "'-1'", "number of an information set"),
    (POKER, HIGH, HIGH[:-2], 6, "'p'", "number of an outcome"),
    (POKER, '"high" {', '"high"', 5, "'raise'", "a list of actions"),
    (POKER, '"pass" }', "pass }", 6, "'pass'", "an action's label"),
    (POKER, '{ "meet" "pass" }', '{ "meet" }', 10, "'p'", "end of the file"),
    (POKER, '"big win" { 2, -2 }', '"" { 2 }', 7, "'}'", "a payoff of player 2"),
    (POKER, '"big win" { 2, -2 }', '"" { 2, -2, 1 }', 7, "'1'", "'}' after 2 payoffs"),
    (POKER, '"big win" { 2, -2 }', '"" { 2,, -2 }', 7, "','", "a payoff"),
    (POKER, '"big win" { 2, -2 }', '"" { two, -2 }', 7, "'two'", "a payoff"),
    (POKER, '"big win" { 2, -2 }', '"" 2, -2 }', 7, "'2'", "'{' before payoffs"),
    (POKER, "{ 1 -1 }", "{ 1 -1", 9, "'t'", "'}' after 2 payoffs"),
    (POKER, 't "" 2\n', 't "" 9\n', 9, "'9'", "no earlier node has this outcome"),
    (
        POKER,
        't "" 2\n',
        't "" 2 "" { 1 1 }\n',
        9,
        "'2'",
        "that this outcome had before",
    ),
    (POKER, 'p "" 2 1 0', 'p "" 2 1 "" { "meet" } 0', 11, "'1'", "which this infos"),
    (POKER, 'p "" 2 1 0', 'p "" 2 5 0', 11, "'0'", "a list of actions"),
    (DICE, '"b" 1/2 } 1', '"c" 1/2 } 1', 4, "'1'", "['a', 'b'] with probabilities 1/2"),
    (POKER, 't "" 0\n', "", 14, "the end of the file", "c, p or t"),
    (POKER, 't "" 0\n', 't "" 0\nt "" 0\n', 15, "'t'", "the end of the file"),
    (POKER, 't "" 0\n', 't "', 14, "'\"'", "closing double quote"),
    (POKER, "{ -1 1 }", "{ -1 1e }", 10, "'1e'", "a payoff of player 2"),
    (PENNIES, "NFG 1", "NFG 2", 1, "'NFG'", "EFG 2 or NFG 1"),
    (PENNIES, '{ "Odd" "Even" }', "{ }", 2, "'{'", "at least one player"),
    (PENNIES, '{ "Odd" "Even" }', '{ "Odd" }', 2, "'{'", "of 1 players, found 2"),
    (PENNIES, BOTH, '{ { "heads" "tails" } }', 2, "'{'", "of 2 players, found 1"),
    (PENNIES, BOTH, '{ { "heads" "tails" } { } }', 2, "'{'", "one strategy"),
    (PENNIES, BOTH, "{ 2 two }", 2, "'two'", "a number of strategies"),
    (PENNIES, BOTH, "{ 2 0 }", 2, "'0'", "at least one strategy"),
    (PENNIES, BOTH, "{ 2 3000000 }", 2, "'3000000'", "at most 2,000,000"),
    (PENNIES, "1 -1\n-1 1\n", "1 -1\n-1\n", 8, "the end of the file", "of player 2"),
    (PENNIES, "1 -1\n-1 1\n", "1 -1\n-1 1\n7", 8, "'7'", "after 4 profiles"),
    (PENNIES, "1 -1\n-1 1\n", "1 -1\n-1 x\n", 7, "'x'", "a payoff of player 2"),
    (O_NEILL, "2 1 1 2", "2 1 1 3", 6, "'3'", "an outcome from 0 to 2"),
    (O_NEILL, "2 1 1 2", "2 1 1", 7, "the end of the file", "number of an outcome"),
    (O_NEILL, '"win" 1, -1', '"win" 1', 2, "'}'", "a payoff of player 2"),
    (O_NEILL, '"win" 1, -1', "1, -1", 2, "'1'", "the outcome's label"),
]


@pytest.mark.parametrize(("text", "old", "new", "line", "token", "expected"), MUTATIONS)
def test_damaged_file_is_refused_at_line_and_token(
    text, old, new, line, token, expected
):
    game_of(text)
    start = text.rindex(old) if text is PENNIES and old[0] == "1" else text.index(old)
    mutated = text[:start] + new + text[start + len(old) :]
    where = re.escape(f", line {line}, at {token}")
    with pytest.raises(GameFileError, match=f"{where}.*{re.escape(expected)}"):
        game_of(mutated)


def test_at_least_fifty_mutations_are_tested():
    assert len(MUTATIONS) >= 50
