"""Plain phrases for actions and information states, such as "Raise" or "J\u2660 | bet,
call".

Files and the API use OpenSpiel's strings. Tables, the page, drawings and games in the
terminal show phrases instead. Kuhn, Leduc and universal poker and liar's dice have
their own phrases here. Strings of other games only lose parts that the reader sees
elsewhere, such as the player. Compiled rules and game files define their own phrases,
which are used unchanged.
"""

import re
from collections.abc import Iterable, Sequence

import pyspiel

from mccfr_spiel.arenas.infosets.action_names import names_at
from mccfr_spiel.arenas.rules.bound_rules import (
    rules_of,
)
from mccfr_spiel.common.display import player_name

_RANKS = dict(zip("TJQKA", ("Ten", "Jack", "Queen", "King", "Ace"), strict=True))
_SUITS = dict(zip("shdc", ("spades", "hearts", "diamonds", "clubs"), strict=True))
_SIGNS = dict(zip("shdc", "\u2660\u2665\u2666\u2663", strict=True))
_CARD = re.compile(r"[2-9TJQKA][cdhs]")
_BY_RANK = "JQKA"
"""The highest ranks of Kuhn and Leduc poker, which number ranks from 0; for up to three
players."""

_COUNTS = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight")

_BID = re.compile(r"\b(\d+)-(\d+)\b")

_NEEDLESS = {"Observer", "Player", "Current player", "Current turn", "Terminal?"}
"""Parts of information-state strings that are shown elsewhere or never change."""


def said_at(state: pyspiel.State, player: int, actions: Sequence[int]) -> list[str]:
    """Phrases for a player's actions, or for chance outcomes, at a state.

    Args:
        state: the state.
        player: acting player, or chance.
        actions: all legal actions, because some phrases depend on the alternatives.

    Raises:
        ValueError: see `names_at`.
    """
    return said(state.get_game(), player, names_at(state, player, actions))


def said(game: pyspiel.Game, player: int, names: Sequence[str]) -> list[str]:
    """Phrases for all actions of one infoset, given OpenSpiel's names of all of
    them."""
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
    r"""The card, die or similar in the name of a chance outcome, such as `J\u2660`."""
    thing = re.split(r"[:\s]", name)[-1]
    return _signs(_dealt(game, thing)) or thing


def said_info_state(game: pyspiel.Game, player: int, info_state: str) -> str:
    """A phrase for an information state in one line, such as `J\u2660 | bet, call`.

    Args:
        game: the game, or its turn-based form.
        player: owner of the information state.
        info_state: OpenSpiel's string.
    """
    name, phrase = _name(game), ""
    if _defines_phrases(game):
        return info_state.removeprefix(player_name(game, player, "") + ": ")
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
    """Removes the player from names such as `[P0]Bid: 1`, `Pl0: shoot at (0, 0)` and
    `Bribe(amount=2)`."""
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
    """A move in poker. Without a bet to call, a player checks or bets."""
    verbs = {"Bet": "Raise"} if may_fold else {"Call": "Check", "Raise": "Bet"}
    move, amount = name.rstrip("0123456789"), re.sub(r"\D", "", name)
    move = (verbs | {"AllIn": "All-in"}).get(move, move)
    return f"{move} to {amount}" if amount else move


def _said_outcome(game: pyspiel.Game, name: str) -> str:
    """`deals Jack of spades`, `rolls 4`, or the name of the outcome without
    prefixes."""
    short = re.sub(r"^(player=-1 move=|[Cc]hance outcome:? ?)", "", name)
    verb, _, thing = re.sub("^(Deal|Roll):? ?(?=.)", r"\1s\n", short).rpartition("\n")
    card = _dealt(game, thing)
    if card:
        rank = _RANKS.get(card[0], card[0])
        return f"deals {rank}" + (f" of {_SUITS[card[1]]}" if card[1:] else "")
    return f"{verb.lower()} {thing}".strip() or name


def _dealt(game: pyspiel.Game, thing: str) -> str:
    """The card of an outcome such as `Js`, or `J` in games without suits; empty if
    there is none.

    Kuhn and Leduc poker number their cards by rank.
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
    """Cards with symbols for their suits."""
    return _CARD.sub(lambda card: card[0][0] + _SIGNS[card[0][1]], cards)


def _said_bid(bid: re.Match[str]) -> str:
    """A bid of liar's dice, such as `two 5s`."""
    count = int(bid[1])
    amount = _COUNTS[count] if count < len(_COUNTS) else bid[1]
    return f"{amount} {bid[2]}" + ("s" if count > 1 else "")


def _said_bets(moves: Iterable[str], faces_bet: bool, is_duel: bool) -> str:
    """The moves of a betting round.

    Args:
        moves: f, c, r, or r300 for a raise to 300.
        faces_bet: whether there is a bet before the first move.
        is_duel: whether there are two players.
    """
    verbs = []
    for move in moves:
        verb = {"f": "fold", "c": "call" if faces_bet else "check"}.get(move)
        verbs.append(verb or ("raise" if faces_bet else "bet") + f" to {move[1:]}")
        faces_bet = move[0] == "r" or (faces_bet and not is_duel)
    return ", ".join(verbs).replace(" to ,", ",").removesuffix(" to ")


def _said_poker(game: pyspiel.Game, info_state: str) -> str:
    """`J\u2660 | bet, call | Q\u2665 | check` for the strings of Kuhn, Leduc and
    universal poker; empty if the string has another format."""
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
    # `sizes` counts the characters of board cards that each round reveals.
    board, phrase = cards
    for position, moves in enumerate(rounds):
        start = sum(sizes[:position])
        bets = _said_bets(moves, has_blinds and position == 0, game.num_players() == 2)
        for part in (board[start : start + sizes[position]], bets):
            phrase += f" | {part}" if part else ""
    return phrase
