"""Plain phrases for actions and information states, such as "Raise" or "J\u2660 | bet,
call".

Files and the API use OpenSpiel's strings. Printed tables, the web page, drawings and
games in the terminal show phrases instead. This module defines phrases for Kuhn, Leduc
and universal poker and for liar's dice. In other games, only parts of OpenSpiel's
strings are removed that are displayed elsewhere, such as the player. Compiled rules and
game files define phrases of their own, which are used unchanged.
"""

import re
from collections.abc import Iterable, Sequence

import pyspiel

from mccfr_spiel.arenas.infosets.action_names import names_at
from mccfr_spiel.arenas.rules.bound_rules import rules_of

_RANKS = dict(zip("TJQKA", ("Ten", "Jack", "Queen", "King", "Ace"), strict=True))
_SUITS = dict(zip("shdc", ("spades", "hearts", "diamonds", "clubs"), strict=True))
_SIGNS = dict(zip("shdc", "\u2660\u2665\u2666\u2663", strict=True))
_CARD = re.compile(r"[2-9TJQKA][cdhs]")
_BY_RANK = "JQKA"
"""Ranks of the cards of Kuhn and Leduc poker, which OpenSpiel numbers from 0. With more
than three players there are more ranks, and numbers are displayed instead."""

_COUNTS = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight")

_BID = re.compile(r"\b(\d+)-(\d+)\b")
"""A bid of liar's dice, such as `2-5` for two fives."""

_NEEDLESS = {"Observer", "Player", "Current player", "Current turn", "Terminal?"}
"""Names of parts of information-state strings that are displayed elsewhere or never
change."""


def said_at(state: pyspiel.State, player: int, actions: Sequence[int]) -> list[str]:
    """Phrases for a player's actions, or for chance outcomes, at a state.

    Args:
        state: the state.
        player: acting player, or the number of the chance player.
        actions: all legal actions. Some phrases depend on the alternatives: OpenSpiel's
            "Bet" becomes "Raise" if the player may also fold.

    Raises:
        ValueError: see `names_at`.
    """
    return said(state.get_game(), player, names_at(state, player, actions))


def said(game: pyspiel.Game, player: int, names: Sequence[str]) -> list[str]:
    """Phrases for all actions of one infoset.

    Args:
        game: the game, or its turn-based form.
        player: acting player; negative for chance.
        names: OpenSpiel's names of all legal actions.

    Returns:
        One phrase per name. If different names would have equal phrases, the names.
    """
    if _defines_phrases(game):
        return list(names)
    if player < 0:
        spoken = [_said_outcome(game, name) for name in names]
    else:
        spoken = [_without_player(name, player) for name in names]
        if _name(game) in ("leduc_poker", "universal_poker"):
            spoken = [_said_bet(name, "Fold" in spoken) for name in spoken]
        elif _name(game) == "liars_dice":
            spoken = [_BID.sub(_said_bid, name) for name in spoken]
    return spoken if len(set(spoken)) == len(set(names)) else list(names)


def card_in(game: pyspiel.Game, name: str) -> str:
    r"""The card or die in the name of a chance outcome, such as `J\u2660` or `4`."""
    thing = re.split(r"[:\s]", name)[-1]
    return _signs(_dealt(game, thing)) or thing


def said_info_state(game: pyspiel.Game, player: int, info_state: str) -> str:
    """A phrase in one line for an information state, such as `J\u2660 | bet, call`.

    Args:
        game: the game, or its turn-based form.
        player: player of the information state.
        info_state: OpenSpiel's string.
    """
    name, phrase = _name(game), ""
    if _defines_phrases(game):
        names = getattr(game, "player_names", None)
        return info_state.removeprefix(f"{names[player]}: ") if names else info_state
    if name in ("kuhn_poker", "leduc_poker", "universal_poker"):
        phrase = _said_poker(game, info_state)
    elif name == "liars_dice":
        dice, _, bids = _BID.sub(_said_bid, info_state).partition(" ")
        bids = re.sub(r"(?<=[\ds]) ", ", ", bids)
        phrase = " | ".join(filter(None, (", ".join(dice), bids)))
    parts = re.findall(r"\[(.*?)\]", info_state) if info_state[:1] == "[" else []
    pairs = [part.partition(":") for part in parts or info_state.splitlines()]
    phrase = phrase or " \u00b7 ".join(
        f"{key.removeprefix(f'P{player} ')}{colon} {value.strip()}".strip()
        for key, colon, value in pairs
        if key not in _NEEDLESS and (value.strip() or not colon)
    )
    return phrase or info_state


def _defines_phrases(game: pyspiel.Game) -> bool:
    """Whether the strings of a game are phrases: compiled rules and game files."""
    return rules_of(game) is not None or hasattr(game, "player_names")


def _name(game: pyspiel.Game) -> str:
    """The short name of a game without the prefix `python_`."""
    return game.get_type().short_name.removeprefix("python_")


def _without_player(name: str, player: int) -> str:
    """Removes the player from OpenSpiel's name of an action, and simplifies the rest:
    `[P0]Bid: 1` becomes `Bid 1`, and `Bribe(amount=2)` becomes `Bribe 2`."""
    prefix = rf"player={player} move=|\[P{player}\]|[Pp](l|layer )?{player}(?!\d):?"
    short = re.sub(rf"^({prefix})\s*", "", name)
    short = re.sub(r"^([A-Za-z ]+): ?(-?\d+)$", r"\1 \2", short)
    call = re.fullmatch(r"([A-Z][A-Za-z]+)\(\w+=(\w+)\)", short)
    if call is not None:
        verb = re.sub(r"(?<=[a-z])[A-Z]", lambda at: f" {at[0].lower()}", call[1])
        return verb + {"True": ": yes", "False": ": no"}.get(call[2], f" {call[2]}")
    is_word = short != name and re.match(r"[a-z]{3}", short)
    return short[0].upper() + short[1:] if is_word else short or name


def _said_bet(name: str, may_fold: bool) -> str:
    """A phrase for a move in poker.

    Args:
        name: OpenSpiel's name of the move.
        may_fold: whether the player may fold. If not, there is no bet to call, so
            "Call" is a check and "Raise" is a bet.
    """
    verbs = {"Bet": "Raise"} if may_fold else {"Call": "Check", "Raise": "Bet"}
    move, amount = name.rstrip("0123456789"), re.sub(r"\D", "", name)
    move = (verbs | {"AllIn": "All-in"}).get(move, move)
    return f"{move} to {amount}" if amount else move


def _said_outcome(game: pyspiel.Game, name: str) -> str:
    """A phrase for a chance outcome: `deals Jack of spades`, `rolls 4`, or otherwise
    OpenSpiel's name of the outcome without prefixes."""
    short = re.sub(r"^(player=-1 move=|[Cc]hance outcome:? ?)", "", name)
    verb, _, thing = re.sub("^(Deal|Roll):? ?(?=.)", r"\1s\n", short).rpartition("\n")
    card = _dealt(game, thing)
    if card:
        rank = _RANKS.get(card[0], card[0])
        return f"deals {rank}" + (f" of {_SUITS[card[1]]}" if card[1:] else "")
    return f"{verb.lower()} {thing}".strip() or name


def _dealt(game: pyspiel.Game, thing: str) -> str:
    """The card in a chance outcome, such as `Js`, or `J` in games without suits.

    Args:
        game: the game. In Kuhn and Leduc poker, cards are numbers in order of ranks.
        thing: the part of the outcome's name that may be a card.

    Returns:
        The card; an empty string if `thing` is not a card.
    """
    card = int(thing) if thing.isdecimal() else -1
    if _name(game) not in ("kuhn_poker", "leduc_poker") or card < 0:
        return thing if _CARD.fullmatch(thing) else ""
    suits = "sh" if _name(game) == "leduc_poker" else ""
    if not suits or game.get_parameters().get("suit_isomorphism"):
        suits = [""]
    few = game.num_players() < len(_BY_RANK)
    rank = _BY_RANK[card // len(suits)] if few else ""
    return rank and rank + suits[card % len(suits)]


def _signs(cards: str) -> str:
    """Replaces the letters of suits in a string of cards by symbols."""
    return _CARD.sub(lambda card: card[0][0] + _SIGNS[card[0][1]], cards)


def _said_bid(bid: re.Match[str]) -> str:
    """A phrase for a bid of liar's dice, such as `two 5s`."""
    count = int(bid[1])
    amount = _COUNTS[count] if count < len(_COUNTS) else bid[1]
    return f"{amount} {bid[2]}" + ("s" if count > 1 else "")


def _said_bets(moves: Iterable[str], faces_bet: bool, is_duel: bool) -> str:
    """A phrase for the moves of a betting round.

    Args:
        moves: each move as f (fold), c (call or check), r (raise or bet), or r300 for a
            raise to 300.
        faces_bet: whether there is a bet before the first move, such as a blind.
        is_duel: whether there are two players. In a duel, a call ends the bet, so a
            later c is a check.
    """
    verbs = []
    for move in moves:
        verb = {"f": "fold", "c": "call" if faces_bet else "check"}.get(move)
        verbs.append(verb or ("raise" if faces_bet else "bet") + f" to {move[1:]}")
        faces_bet = move[0] == "r" or (faces_bet and not is_duel)
    return ", ".join(verbs).replace(" to ,", ",").removesuffix(" to ")


def _said_poker(game: pyspiel.Game, info_state: str) -> str:
    """A phrase such as `J\u2660 | bet, call | Q\u2665 | check` for an information state
    of Kuhn, Leduc or universal poker; empty if the string has another format."""
    parts = dict(re.findall(r"\[(\w+): ?(.*?)\]", info_state))
    parameters, has_blinds = game.get_parameters(), False
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
        rounds = [
            re.findall(r"[a-z]\d*", part) for part in parts["Sequences"].split("|")
        ]
        sizes = [2 * int(count) for count in str(parameters["numBoardCards"]).split()]
        has_blinds = len(set(str(parameters["blind"]).split())) > 1
    else:
        return ""
    # `sizes` contains, per round, the number of characters of the board cards that the
    # round reveals.
    board, phrase = cards
    for position, moves in enumerate(rounds):
        start = sum(sizes[:position])
        bets = _said_bets(moves, has_blinds and position == 0, game.num_players() == 2)
        for part in (board[start : start + sizes[position]], bets):
            phrase += f" | {part}" if part else ""
    return phrase
