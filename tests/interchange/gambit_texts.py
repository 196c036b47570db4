"""Texts of small Gambit files with known equilibria."""

import pathlib
import tempfile

from mccfr_spiel.arenas.infosets.loading import load_game


def game_of(text):
    """The game of a text, which is written into a temporary file."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "game.efg")
        path.write_text(text, encoding="utf-8", newline="")
        return load_game(str(path))


POKER = """\
EFG 2 R "One-card poker" { "Ann" "Bob" }
"Payoffs at an inner node, lists left out, a gap in the numbers of infosets."

c "" 1 "deal" { "High" 1/2 "Low" 0.5 } 0
p "" 1 1 "high" { "raise" "fold" } 0
p "" 2 1 "" { "meet" "pass" } 0
t "" 1 "big win" { 2, -2 }
t "" 2 "win" { 1 -1 }
t "" 2
p "" 1 7 "low" { "raise" "fold" } 3 "ante" { -1 1 }
p "" 2 1 0
t "" 4 "" { -1, 1 }
t "" 5 "" { 2, -2 }
t "" 0
"""
"""Myerson 1991, figure 2.1. The payoffs of a folded low card are at an inner node. The
value is 1/3: Ann raises a low card with probability 1/3, and Bob passes with
probability 1/3."""

PENNIES = """\
NFG 1 R "Matching pennies" { "Odd" "Even" }
{ { "heads" "tails" } { "heads" "tails" } }
"The first player's strategy changes fastest."
-1 1
1 -1
1 -1
-1 1
"""

O_NEILL = """\
NFG 1 D "O'Neill 1987" { "Row" "Column" } { 4 4 }
{ { "win" 1, -1 } { "loss" -1, 1 } }
1 2 2 2
2 2 1 1
2 1 2 1
2 1 1 2
"""
"""In equilibrium Row wins with probability 2/5, so the value is -1/5."""

TWO_STAGES = """\
EFG 2 R "Matching pennies, twice" { "Odd" "Even" }
p "" 1 1 "first choice" { "H" "T" } 0
p "" 2 1 "" { "H" "T" } 0
p "" 1 2 "" { "H" "T" } 1 "even" { -1, 1 }
p "" 2 2 "" { "H" "T" } 0
t "" 1
t "" 2 "odd" { 1, -1 }
p "" 2 2 0
t "" 2
t "" 1
p "" 1 3 "" { "H" "T" } 2
p "" 2 3 "" { "H" "T" } 0
t "" 1
t "" 2
p "" 2 3 0
t "" 2
t "" 1
p "" 2 1 0
p "" 1 4 "" { "H" "T" } 2
p "" 2 4 "" { "H" "T" } 0
t "" 1
t "" 2
p "" 2 4 0
t "" 2
t "" 1
p "" 1 5 "" { "H" "T" } 1
p "" 2 5 "" { "H" "T" } 0
t "" 1
t "" 2
p "" 2 5 0
t "" 2
t "" 1
"""
"""The payoffs of the first stage are at inner nodes."""

HORSE = """\
EFG 2 R "Selten's horse" { "1" "2" "3" }
p "" 1 1 "" { "C" "D" } 0
p "" 2 1 "" { "c" "d" } 0
t "" 1 "" { 1, 1, 1 }
p "" 3 1 "" { "L" "R" } 0
t "" 2 "" { 4, 4, 0 }
t "" 3 "" { 0, 0, 1 }
p "" 3 1 0
t "" 4 "" { 3, 3, 2 }
t "" 5 "" { 0, 0, 0 }
"""
"""Selten 1975. Its pure equilibria are (D, c, L) and (C, c, R)."""

COMMITMENT = """\
EFG 2 R "Commitment, observed with noise" { "Leader" "Follower" }
p "" 1 1 "" { "S" "C" } 0
c "" 1 "" { "s" 99/100 "c" 1/100 } 0
p "" 2 1 "saw s" { "S" "C" } 0
t "" 1 "" { 5, 2 }
t "" 2 "" { 3, 1 }
p "" 2 2 "saw c" { "S" "C" } 0
t "" 1
t "" 2
c "" 2 "" { "s" .01 "c" .99 } 0
p "" 2 1 0
t "" 3 "" { 6, 3 }
t "" 4 "" { 4, 4 }
p "" 2 2 0
t "" 3
t "" 4
"""
"""Bagwell 1995: in the only pure equilibrium both players always choose C."""

SHAPLEY = """\
NFG 1 R "Shapley 1974" { "Row" "Column" } { 3 3 }
1 0 0 0 0 1  0 1 1 0 0 0  0 0 0 1 1 0
"""
"""The uniform profile is the only equilibrium, with 1/3 for each player."""

SEXES = """\
NFG 1 R "Battle of the sexes" { "She" "He" }
{ { "ballet" "boxing" } { "ballet" "boxing" } }
2 1 0 0 0 0 1 2
"""
"""In the mixed equilibrium She chooses ballet with probability 2/3, and He with
probability 1/3. Both get 2/3."""

PRISONERS = """\
NFG 1 R "Prisoner's dilemma" { "" "" }
{ { "defect" "cooperate" } { "defect" "cooperate" } }
{ { "" 1 1 } { "" 0 3 } { "" 3 0 } { "" 2 2 } }
1 2 3 4
"""

FORGETFUL = """\
EFG 2 R "Absent-minded driver" { "Driver" }
p "" 1 1 "at an exit" { "leave" "stay" } 0
t "" 1 "" { 0 }
p "" 1 1 0
t "" 2 "" { 4 }
t "" 3 "" { 1 }
"""

LABELS = """\
EFG 2 R "A \\"quoted\\" title" { "X" "" "X" }
p "" 1 1 "same" { "a" "a" "" } 0
t "" 0
p "" 2 1 "same" { "b" } 0
t "" 1 "" { 1/3, -2.5e-3, .5 }
p "" 3 4 "only \\"one\\"" { "c" "d" } 0
t "" 1
t "" 0
"""
"""Equal and empty labels, and labels with quotes."""


def nim(stones: int) -> str:
    """Nim with one heap: players take 1 or 2 stones; taking the last stone wins."""
    lines = [f'EFG 2 R "Nim with {stones}" {{ "First" "Second" }}']
    numbers = [0, 0]

    def add(left: int, player: int) -> None:
        if left == 0:
            lines.append(
                f't "" {1 + player} "" {{ {(-1, 1)[player]} {(1, -1)[player]} }}'
            )
            return
        numbers[player] += 1
        actions = " ".join(f'"take {count}"' for count in range(1, min(left, 2) + 1))
        lines.append(f'p "" {player + 1} {numbers[player]} "" {{ {actions} }} 0')
        for count in range(1, min(left, 2) + 1):
            add(left - count, 1 - player)

    add(stones, 0)
    return "\n".join(lines)
