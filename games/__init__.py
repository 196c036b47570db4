"""Games that OpenSpiel lacks; importing this package registers them.

The folder is at the top of the repository, and the package is `mccfr_spiel.games`, so
that a folder `games` of yours is not in its way.

PAPER_GAMES names every game of Lanctot et al. 2009 and of Farina, Kroer, Sandholm 2020
at its published size, with the string that `pyspiel.load_game` takes.
"""

if __name__ == "games":
    raise ImportError("The papers' games are in mccfr_spiel.games: import that.")

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
