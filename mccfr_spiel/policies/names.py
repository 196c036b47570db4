"""The part of a tree that a policy takes along into a file, JSON or a pickle.

How people say what a game calls its actions, and what a player knows: files and the API
have OpenSpiel's strings, but tables, the page, drawings and games in the terminal write
what is said. Four of OpenSpiel's games have words of their own here. Of all others'
strings only what the row says anyway is left out, such as the player. The words of
compiled rules stay as they are.
"""

import functools
import itertools
import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyspiel

from mccfr_spiel.common.arrays import INFOSET, sequences_at
from mccfr_spiel.common.checkpoint import (
    POLICY,
    CheckpointError,
    Contents,
    DamagedError,
    check_infosets,
    check_strings,
    loaded_abstraction,
    odd_contents_in_words,
    pack_strings,
    saved_abstraction,
)
from mccfr_spiel.common.display import brief, counted, line, never_raises, title
from mccfr_spiel.tree.game_tree import (
    Abstraction,
    GameTree,
    load_game,
    saved_game,
    turn_based,
)
from mccfr_spiel.tree.infosets import TextNames
from mccfr_spiel.tree.loading import has_name, has_rules, names_at

_ARRAYS = {
    "infosets": INFOSET,
    "actions": np.dtype(np.int64),
    "text": np.dtype(np.uint8),
    "ends": np.dtype(np.int64),
    "vector": np.dtype(np.float64),
}
"""What the file of a policy holds."""


_MOST_OFF = 1e-6
"""How far from 1 the probabilities at an infoset may add up to."""


class Names:
    """The infosets that a tree had met, with their names, in a few arrays.

    The attributes have the same names and meanings as those of a GameTree; places are
    those of nobody, since a policy draws nothing.
    """

    def __init__(
        self,
        source: pyspiel.Game,
        arrays: dict[str, np.ndarray],
        abstraction: Abstraction | None = None,
    ) -> None:
        """Keeps the arrays.

        Args:
            source: the game.
            arrays: `infosets` `[I]` of dtype INFOSET; `actions` `[S]`; and the strings
                as `pack_strings` makes them.
            abstraction: the tree's abstraction, if it has one.
        """
        self.source = source
        self.abstraction = abstraction
        self.game = turn_based(source)
        self.num_players: int = self.game.num_players()
        self.arrays = arrays
        self.infosets = arrays["infosets"]
        self.actions = arrays["actions"]
        self.num_infosets = len(self.infosets)
        self.num_sequences = len(self.actions)
        players = self.infosets["player"]
        self.infoset_names = TextNames(arrays["text"], arrays["ends"], players)
        self.find = self.infoset_names.find
        self.info_state = self.infoset_names.info_state

    @never_raises
    def __repr__(self) -> str:
        return line(self, title(self.source), counted(self.num_infosets, "infoset"))

    def __reduce__(self) -> tuple[Any, ...]:
        return Names, (self.source, self.arrays, self.abstraction)

    def find_at(self, state: pyspiel.State, player: int) -> int:
        """The number of the infoset of a state where a player acts, -1 if not met."""
        read = self.abstraction or pyspiel.State.information_state_string
        return self.find(read(state, player), player)

    @functools.cached_property
    def info_states(self) -> list[str]:
        """`[I]` the information-state strings."""
        return self.infoset_names.strings()

    @functools.cached_property
    def shared_strings(self) -> set[str]:
        """The information-state strings that several players have."""
        return self.infoset_names.shared()


def names_of(tree: Any, num_infosets: int, num_sequences: int) -> Names:
    """Makes Names of the first infosets of a GameTree; returns Names as they are."""
    if isinstance(tree, Names):
        return tree
    infosets = tree.infosets[:num_infosets].copy()
    infosets["place"] = 0
    # One by one: a list of all strings might not fit into memory.
    strings = itertools.islice(tree.infoset_names, num_infosets)
    arrays = {"infosets": infosets, "actions": tree.actions[:num_sequences]}
    return Names(tree.source, arrays | pack_strings(strings), tree.abstraction)


def checked_vector(tree: GameTree | Names, vector: np.ndarray) -> np.ndarray:
    """Returns the vector `[S]`; raises ValueError unless it is a distribution at every
    infoset of the tree."""
    check_shape(tree, vector, vector)
    if tree.num_infosets == 0:
        return vector
    first = tree.infosets["first_sequence"]
    is_right = np.abs(np.add.reduceat(vector, first) - 1) < _MOST_OFF
    is_right &= np.minimum.reduceat(vector, first) >= 0
    if not is_right.all():
        infoset = int(np.argmin(is_right))
        start = first[infoset]
        values = vector[start : start + tree.infosets[infoset]["num_actions"]]
        raise ValueError(
            f"The policy is no distribution over the {len(values)} legal actions at "
            f"the state {tree.info_state(infoset)!r}: {values.tolist()}"
        )
    return vector


def check_shape(tree: GameTree | Names, vector: np.ndarray, given: Any) -> None:
    """Raises ValueError, which shows what was given, unless a vector `[S]` is over a
    tree's sequences."""
    if vector.shape != (tree.num_sequences,):
        raise ValueError(
            f"A policy vector for {brief(tree.source)} has the shape "
            f"({tree.num_sequences},), not {vector.shape}: {given!r}."
        )


def uniform_vector(tree: GameTree | Names) -> np.ndarray:
    """`[S]` the policy that plays all legal actions alike, over a tree's sequences."""
    counts = tree.infosets["num_actions"]
    return np.concatenate((np.ones(tree.num_players), np.repeat(1 / counts, counts)))


def sequences_of(tree: GameTree, player: int) -> np.ndarray:
    """The numbers of a player's sequences, the empty one excepted."""
    owners = np.repeat(tree.infosets["player"], tree.infosets["num_actions"])
    return tree.num_players + np.flatnonzero(owners == player)


def to_contents(names: Names, vector: np.ndarray) -> Contents:
    """A policy in the form that common/checkpoint.py writes."""
    header = {
        "version": POLICY.version,
        "game": str(names.source),
        "abstracted": saved_abstraction(names.abstraction),
    }
    return Contents(header, names.arrays | {"vector": np.asarray(vector, np.float64)})


def from_contents(
    contents: Contents, game: pyspiel.Game | str | None, abstraction: Abstraction | None
) -> tuple[Names, np.ndarray]:
    """Reads the names and the vector `[S]` from what `to_contents` made.

    Args:
        contents: the contents of a file, which may hold anything.
        game: the game, if its load string is not enough to make it.
        abstraction: the abstraction that the policy had, if it had one.

    Raises:
        CheckpointError: the contents make no policy, or one for another game.
        ValueError: the game cannot be loaded.
    """
    with odd_contents_in_words(POLICY):
        header, arrays = contents
        source = saved_game(header["game"]) if game is None else load_game(game)
        if not has_name(source, header["game"]):
            raise CheckpointError(
                f"The file has a policy for {header['game']}, not for {brief(source)}."
            )
        abstraction = loaded_abstraction(header["abstracted"], abstraction)
        arrays = {name: arrays[name] for name in _ARRAYS}
        for name, array in arrays.items():
            if array.dtype != _ARRAYS[name] or array.ndim != 1:
                raise DamagedError(
                    f"The file's array {name!r} is {array.dtype} {array.shape}."
                )
        vector = arrays.pop("vector")
        names = Names(source, arrays, abstraction)
        check_strings(arrays["text"], arrays["ends"])
        check_infosets(
            len(arrays["ends"]), names.infosets, names.actions, names.num_players
        )
        try:
            return _checked(names, vector)
        except ValueError as error:
            raise DamagedError(str(error)) from error


def _checked(names: Names, vector: np.ndarray) -> tuple[Names, np.ndarray]:
    """The names and the vector of a file, if they make a policy of the game; raises
    ValueError."""
    actions, most = names.actions, names.game.num_distinct_actions()
    wrong = np.flatnonzero((actions < 0) | (actions >= most))
    wrong = wrong[wrong >= names.num_players]
    if len(wrong):
        first = names.infosets["first_sequence"]
        infoset = int(np.searchsorted(first, wrong[0], side="right")) - 1
        here = sequences_at(names.infosets[[infoset]])
        raise DamagedError(
            f"The actions {actions[here].tolist()} at the state "
            f"{names.info_state(infoset)!r} are not all among the {most} of "
            f"{brief(names.source)}: the game's rules are not those of the policy."
        )
    return names, checked_vector(names, vector)


# --- a policy as JSON, which people and other programs can read -----------------------
#
#     {"game": "kuhn_poker()", "players": [{"0": {"0": 0.8, "1": 0.2}, ...}, {...}]}
#
# Each player has a table information-state string -> action -> probability. States that
# are not listed were never met, and the policy is uniform there.


def is_of_file(value: Any) -> bool:
    """Whether a value has the form of a policy in JSON, not that of one table."""
    return isinstance(value, dict) and value.keys() == {"game", "players"}


def with_int_actions(table: dict[str, Any]) -> dict[str, Any]:
    """Converts the actions of a table from strings, as JSON has them, to integers.

    Raises:
        ValueError: an action is neither an integer nor the string of one.
    """
    return {
        name: _row_of(name, row) if _has_strings(row) else row
        for name, row in table.items()
    }


def _has_strings(row: Any) -> bool:
    return isinstance(row, dict) and any(isinstance(key, str) for key in row)


def from_json(value: Any, source: pyspiel.Game) -> tuple[Names, np.ndarray]:
    """Reads the names of a policy and its vector `[S]` from what `write_policy` wrote.

    A file does not say which sequence leads to an infoset, and nothing asks for it, so
    every infoset has the player's empty sequence for a parent.

    Raises:
        ValueError: a state has no distribution.
        DamagedError: the value is no policy, or belongs to another game.
    """
    num_players, tables = source.num_players(), value["players"]
    if not isinstance(tables, list):
        raise DamagedError("The policy has no list of players.")
    if len(tables) != num_players:
        raise DamagedError(
            f"The policy has tables for {len(tables)} players; the game has "
            f"{num_players} players."
        )
    if not all(isinstance(table, dict) for table in tables):
        raise DamagedError("This is no table information state -> action -> number.")
    names = [name for table in tables for name in table]
    players = [player for player, table in enumerate(tables) for _ in table]
    rows = [
        sorted(_row_of(*pair).items()) for table in tables for pair in table.items()
    ]
    counts = np.array(list(map(len, rows)), np.int64)
    infosets = np.zeros(len(rows), INFOSET)
    infosets["first_sequence"] = num_players + np.cumsum(counts) - counts
    infosets["num_actions"], infosets["player"] = counts, players
    infosets["parent"] = players
    pairs = [pair for row in rows for pair in row]
    actions = np.array([0] * num_players + [action for action, _ in pairs], np.int64)
    arrays = {"infosets": infosets, "actions": actions} | pack_strings(names)
    vector = np.array([1.0] * num_players + [value for _, value in pairs])
    return _checked(Names(source, arrays), vector)


def _row_of(name: str, row: Any) -> dict[int, float]:
    if not isinstance(row, dict) or not row:
        raise DamagedError(f"There are no probabilities of actions at {name!r}: {row}")
    found: dict[int, float] = {}
    for key, value in row.items():
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not re.fullmatch(r"\d{1,18}", str(key)) or not is_number:
            raise DamagedError(
                f"At the state {name!r} {key!r}: {value!r} is no action with its "
                "probability."
            )
        found[int(key)] = float(value)
    if len(found) != len(row):
        raise DamagedError(f"An action is listed twice at the state {name!r}.")
    if not all(math.isfinite(value) for value in found.values()):
        raise DamagedError(f"The state {name!r} has probabilities that are not finite.")
    return found


# --- what a game calls its actions, as people say it, and what a player knows ---------

_RANKS = dict(zip("TJQKA", ("Ten", "Jack", "Queen", "King", "Ace"), strict=True))
_SUITS = dict(zip("shdc", ("spades", "hearts", "diamonds", "clubs"), strict=True))
_SIGNS = dict(zip("shdc", "\u2660\u2665\u2666\u2663", strict=True))
_CARD = re.compile(r"[2-9TJQKA][cdhs]")
_BY_RANK = "JQKA"
"""The ranks of OpenSpiel's Kuhn and Leduc poker, which number them, up to four."""

_COUNTS = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight")

_BID = re.compile(r"\b(\d+)-(\d+)\b")

_NEEDLESS = {"Observer", "Player", "Current player", "Current turn", "Terminal?"}
"""Parts of information-state strings that the row says, or that are always the same."""


def said_at(state: pyspiel.State, player: int, actions: Sequence[int]) -> list[str]:
    """A player's actions, or chance's outcomes, at a state as people say them.

    Args:
        state: where they are possible.
        player: who acts there.
        actions: all that are possible, since some names depend on the others.

    Raises:
        ValueError: as `names_at`.
    """
    return said(state.get_game(), player, names_at(state, player, actions))


def said(game: pyspiel.Game, player: int, names: Sequence[str]) -> list[str]:
    """The actions at one infoset as people say them, from all their names there."""
    if has_rules(game):
        return list(names)
    if player < 0:
        spoken = [_said_outcome(game, name) for name in names]
    else:
        spoken = [_without_player(name, player) for name in names]
        if _kind(game) in ("leduc_poker", "universal_poker"):
            spoken = [_said_bet(name, "Fold" in spoken) for name in spoken]
        elif _kind(game) == "liars_dice":
            spoken = [_BID.sub(_said_bid, name) for name in spoken]
    return spoken if len(set(spoken)) == len(set(names)) else list(names)


def card_in(game: pyspiel.Game, name: str) -> str:
    """The card, the die or the like that a name of chance's outcome has, in short: the
    `J\u2660` of a Jack of spades."""
    thing = re.split(r"[:\s]", name)[-1]
    return _signs(_dealt(game, thing)) or thing


def said_info_state(game: pyspiel.Game, player: int, info_state: str) -> str:
    """What a player knows in one line, as people say it; `J\u2660 | bet, call`.

    Args:
        game: which may be the turn-based form of another one.
        player: whose information-state string it is.
        info_state: the string.
    """
    kind, words = _kind(game), ""
    if has_rules(game):
        return info_state
    if kind in ("kuhn_poker", "leduc_poker", "universal_poker"):
        words = _said_poker(game, info_state)
    elif kind == "liars_dice":
        dice, _, bids = _BID.sub(_said_bid, info_state).partition(" ")
        bids = re.sub(r"(?<=[\ds]) ", ", ", bids)
        words = " | ".join(filter(None, (", ".join(dice), bids)))
    parts = re.findall(r"\[(.*?)\]", info_state) if info_state[:1] == "[" else []
    pairs = [part.partition(":") for part in parts or info_state.splitlines()]
    words = words or " \u00b7 ".join(
        f"{key.removeprefix(f'P{player} ')}{colon} {value.strip()}".strip()
        for key, colon, value in pairs
        if key not in _NEEDLESS and (value.strip() or not colon)
    )
    return words or info_state


def _kind(game: pyspiel.Game) -> str:
    """The game's name, for those that have words here."""
    return game.get_type().short_name.removeprefix("python_")


def _without_player(name: str, player: int) -> str:
    """Names such as `[P0]Bid: 1`, `Pl0: shoot at (0, 0)` and `Bribe(amount=2)`."""
    who = rf"player={player} move=|\[P{player}\]|[Pp](l|layer )?{player}(?!\d):?"
    short = re.sub(rf"^({who})\s*", "", name)
    short = re.sub(r"^([A-Za-z ]+): ?(-?\d+)$", r"\1 \2", short)
    call = re.fullmatch(r"([A-Z][A-Za-z]+)\(\w+=(\w+)\)", short)
    if call is not None:
        verb = re.sub(r"(?<=[a-z])[A-Z]", lambda at: f" {at[0].lower()}", call[1])
        return verb + {"True": ": yes", "False": ": no"}.get(call[2], f" {call[2]}")
    is_word = short != name and re.match(r"[a-z]{3}", short)
    return short[0].upper() + short[1:] if is_word else short or name


def _said_bet(name: str, may_fold: bool) -> str:
    """Betting in poker: who need not call a bet checks or bets."""
    words = {"Bet": "Raise"} if may_fold else {"Call": "Check", "Raise": "Bet"}
    move, amount = name.rstrip("0123456789"), re.sub(r"\D", "", name)
    move = (words | {"AllIn": "All-in"}).get(move, move)
    return f"{move} to {amount}" if amount else move


def _said_outcome(game: pyspiel.Game, name: str) -> str:
    """`deals Jack of spades`, `rolls 4`, and others without what is needless."""
    short = re.sub(r"^(player=-1 move=|[Cc]hance outcome:? ?)", "", name)
    verb, _, thing = re.sub("^(Deal|Roll):? ?(?=.)", r"\1s\n", short).rpartition("\n")
    card = _dealt(game, thing)
    if card:
        rank = _RANKS.get(card[0], card[0])
        return f"deals {rank}" + (f" of {_SUITS[card[1]]}" if card[1:] else "")
    return f"{verb.lower()} {thing}".strip() or name


def _dealt(game: pyspiel.Game, thing: str) -> str:
    """The card of an outcome such as `Js`, or `J` where there are no suits; "" if it is
    none. Kuhn and Leduc poker number theirs by rank."""
    number = int(thing) if thing.isdecimal() else -1
    if _kind(game) not in ("kuhn_poker", "leduc_poker") or number < 0:
        return thing if _CARD.fullmatch(thing) else ""
    suits = "sh" if _kind(game) == "leduc_poker" else ""
    if not suits or game.get_parameters().get("suit_isomorphism"):
        suits = [""]
    few = game.num_players() < len(_BY_RANK)
    rank = _BY_RANK[number // len(suits)] if few else ""
    return rank and rank + suits[number % len(suits)]


def _signs(cards: str) -> str:
    """Cards with the signs of their suits."""
    return _CARD.sub(lambda card: card[0][0] + _SIGNS[card[0][1]], cards)


def _said_bid(bid: re.Match[str]) -> str:
    """`two 5s`, of liar's dice."""
    count = int(bid[1])
    amount = _COUNTS[count] if count < len(_COUNTS) else bid[1]
    return f"{amount} {bid[2]}" + ("s" if count > 1 else "")


def _said_bets(moves: Iterable[str], faces_bet: bool, is_duel: bool) -> str:
    """The moves of a round of poker: f, c, r, and r300 for a raise to 300."""
    words = []
    for move in moves:
        verb = {"f": "fold", "c": "call" if faces_bet else "check"}.get(move)
        words.append(verb or ("raise" if faces_bet else "bet") + f" to {move[1:]}")
        faces_bet = move[0] == "r" or (faces_bet and not is_duel)
    return ", ".join(words).replace(" to ,", ",").removesuffix(" to ")


def _said_poker(game: pyspiel.Game, info_state: str) -> str:
    """`J\u2660 | bet, call | Q\u2665 | check`; "" of Kuhn, Leduc and universal poker's
    strings for what is in none of their forms."""
    parts = dict(re.findall(r"\[(\w+): ?(.*?)\]", info_state))
    given, has_blinds = game.get_parameters(), False
    kuhn = re.fullmatch(r"(?:p\d+ card:)?(\d+) ?([pb]*)", info_state)
    if kuhn is not None:
        moves = ", ".join("pass" if move == "p" else "bet" for move in kuhn[2])
        return " | ".join(filter(None, (_dealt(game, kuhn[1]) or kuhn[1], moves)))
    if "Round1" in parts:
        cards = [card_in(game, parts.get(key, "")) for key in ("Public", "Private")]
        rounds = [
            ["fcr"[int(move)] for move in parts[key].split()]
            for key in ("Round1", "Round2")
        ]
        sizes = [0, len(cards[0])]
    elif "Sequences" in parts:
        cards = [_signs(parts[key]) for key in ("Public", "Private")]
        rounds = [re.findall(r"[a-z]\d*", one) for one in parts["Sequences"].split("|")]
        sizes = [2 * int(one) for one in str(given["numBoardCards"]).split()]
        has_blinds = len(set(str(given["blind"]).split())) > 1
    else:
        return ""
    board, words = cards
    for number, moves in enumerate(rounds):
        start = sum(sizes[:number])
        said_moves = _said_bets(
            moves, has_blinds and number == 0, game.num_players() == 2
        )
        for part in (board[start : start + sizes[number]], said_moves):
            words += f" | {part}" if part else ""
    return words
