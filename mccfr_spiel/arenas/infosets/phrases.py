"""Phrases."""

import re
from collections.abc import Iterable, Sequence

import pyspiel

from mccfr_spiel.arenas.infosets.action_names import names_at
from mccfr_spiel.arenas.rules.bound_rules import (
    rules_of,
)

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
    if rules_of(game) is not None:  # whose words are people's already
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
    if rules_of(game) is not None:
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
    """A move in poker: a player without a bet to call checks or bets."""
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
