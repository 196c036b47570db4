"""Games of the papers that OpenSpiel lacks; importing this package registers them.

The folder lies at the top of the repository but is installed as `mccfr_spiel.games`, so
that it does not shadow another folder `games`. PAPER_GAMES lists the games of Lanctot
et al. 2009 and of Farina, Kroer, Sandholm 2020 at their published sizes, as strings for
`pyspiel.load_game`.
"""

if __name__ == "games":
    raise ImportError(
        "Import mccfr_spiel.games instead of games: the package is installed there."
    )

from . import (
    dark_hex,
    goofspiel,
    holdem_subgame,
    leduc_ranks,
    one_card_poker,
    princess_and_monster,
    search,
)

__all__ = [
    "PAPER_GAMES",
    "dark_hex",
    "goofspiel",
    "holdem_subgame",
    "leduc_ranks",
    "one_card_poker",
    "princess_and_monster",
    "search",
]

PAPER_GAMES = {
    # Lanctot, Waugh, Zinkevich, Bowling 2009
    "Goofspiel, 7 cards": "python_goofspiel(num_cards=7)",
    "One-Card Poker, 500 cards": "python_one_card_poker(cards=500)",
    "Princess and Monster, 3x3": (
        "python_princess_and_monster(rows=3,cols=3,horizon=13)"
    ),
    "Latent Tic-Tac-Toe": "latent_ttt",
    # Farina, Kroer, Sandholm 2020
    "Leduc13": "python_leduc_ranks(ranks=13)",
    "Goofspiel, three decks of 4": (
        "python_goofspiel(num_cards=4,imp_info=False,points_order=random,"
        "returns_type=point_difference)"
    ),
    "Search, 4 turns": "python_search(turns=4)",
    "Search, 5 turns": "python_search(turns=5)",
    "Battleship, 3x2": (
        "battleship(board_width=3,board_height=2,ship_sizes=[2],ship_values=[1],"
        "num_shots=3,allow_repeated_shots=false)"
    ),
}
