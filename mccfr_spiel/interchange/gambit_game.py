"""The OpenSpiel game `python_gambit`, made from a file of Gambit.

Its load string contains the file's path, as in `python_gambit(path=/games/poker.efg)`,
or its text. Characters that load strings cannot hold are percent-encoded.
"""

import os
import pathlib
import urllib.parse
from typing import Any

import pyspiel

from mccfr_spiel.common.arrays import CHANCE_NODE
from mccfr_spiel.interchange.efg_reader import read_efg
from mccfr_spiel.interchange.form import GameForm, clean_label
from mccfr_spiel.interchange.nfg_reader import read_nfg
from mccfr_spiel.interchange.tokens import WORD, GameFileError, Tokens

NAME = "python_gambit"

_READERS = {("EFG", "2"): read_efg, ("NFG", "1"): read_nfg}

_PLAIN = "/\\:._-~+@ "
"""Characters beside letters and digits that stay as they are in load strings."""

_LARGEST = 1e100
"""The largest payoff."""


def game_of_file(path: str | os.PathLike[str]) -> "GambitGame":
    """Loads a game from an .efg or .nfg file.

    Raises:
        GameFileError: the file breaks its format; the message names line and token.
        ValueError: there is no such file, or it cannot be read.
    """
    return GambitGame({"path": _encoded(os.path.abspath(os.path.expanduser(path)))})


def game_of_text(text: str) -> "GambitGame":
    """Makes a game from the text of an .efg or .nfg file.

    Raises:
        GameFileError: the text breaks the format; the message names line and token.
    """
    return GambitGame({"text": _encoded(text)})


def _encoded(text: str) -> str:
    return urllib.parse.quote(text, safe=_PLAIN)


def read_form(text: str, source: str) -> GameForm:
    """Reads the text of a file, which begins with `EFG 2 R` or `NFG 1 R`.

    Args:
        text: the file's text.
        source: the file's name in messages.

    Raises:
        GameFileError: the text breaks the format; the message names line and token.
    """
    tokens = Tokens(text, source)
    kind = tokens.take(WORD, "EFG or NFG at the beginning of the file")
    version = tokens.current
    tokens.whole("the format's version")
    if (kind.text, version.text) not in _READERS:
        tokens.fail("expected EFG 2 or NFG 1 at the beginning of the file", kind)
    numbers = tokens.take(WORD, "R or D")
    if numbers.text not in ("R", "D"):
        tokens.fail("expected R or D", numbers)
    form = _READERS[kind.text, version.text](tokens)
    rows = set(form.payoffs.values())
    if any(abs(payoff) > _LARGEST for payoffs in rows for payoff in payoffs):
        raise GameFileError(f"{source}: expected payoffs of at most {_LARGEST:g}.")
    return form


def _form_of(parameters: dict[str, Any]) -> tuple[GameForm, str]:
    """The form that parameters describe, and a title of the game."""
    path, text = (
        urllib.parse.unquote(parameters.get(name, "")) for name in ("path", "text")
    )
    if bool(path) == bool(text):
        raise ValueError(
            f"{NAME} needs either path=... or text=..., found {parameters}."
        )
    if text:
        form = read_form(text, "the game's text")
        return form, form.title
    file = pathlib.Path(path)
    try:
        form = read_form(file.read_text(encoding="utf-8-sig"), str(file))
    except OSError as error:
        raise ValueError(f"The game file {file} cannot be read: {error}.") from error
    except UnicodeDecodeError as error:
        raise GameFileError(f"{file}: expected text in UTF-8, {error}.") from error
    return form, f"{form.title} ({file.name})"


def _type_of(form: GameForm) -> pyspiel.GameType:
    kinds = pyspiel.GameType
    has_chance = any(one.player == CHANCE_NODE for one in form.infosets)
    sums = {sum(payoffs) for payoffs in set(form.payoffs.values())}
    utility = kinds.Utility.GENERAL_SUM
    if len(sums) == 1 and len(form.players) > 1:
        utility = kinds.Utility.CONSTANT_SUM if any(sums) else kinds.Utility.ZERO_SUM
    return kinds(
        short_name=NAME,
        long_name=clean_label(form.title),
        dynamics=kinds.Dynamics.SEQUENTIAL,
        chance_mode=kinds.ChanceMode.EXPLICIT_STOCHASTIC
        if has_chance
        else kinds.ChanceMode.DETERMINISTIC,
        information=kinds.Information.IMPERFECT_INFORMATION,
        utility=utility,
        reward_model=kinds.RewardModel.TERMINAL,
        max_num_players=len(form.players),
        min_num_players=len(form.players),
        provides_information_state_string=True,
        provides_information_state_tensor=False,
        provides_observation_string=True,
        provides_observation_tensor=False,
        parameter_specification={"path": "", "text": ""},
        default_loadable=False,
    )


def _info_of(
    form: GameForm, utility: pyspiel.GameType.Utility, most_moves: int
) -> pyspiel.GameInfo:
    rows = set(form.payoffs.values())
    values = [float(payoff) for payoffs in rows for payoff in payoffs]
    counts = {True: [1], False: [0]}  # of actions, by whether a player has them
    for infoset in form.infosets:
        counts[infoset.player != CHANCE_NODE].append(len(infoset.actions))
    more = {}
    if utility != pyspiel.GameType.Utility.GENERAL_SUM:
        more["utility_sum"] = float(sum(rows.pop()))
    return pyspiel.GameInfo(
        num_distinct_actions=max(counts[True]),
        max_chance_outcomes=max(counts[False]),
        num_players=len(form.players),
        min_utility=min(values),
        max_utility=max(values),
        max_game_length=max(most_moves, 1),
        **more,
    )


class GambitGame(pyspiel.Game):
    """A game of a Gambit file.

    Attributes:
        form: the game in extensive form.
        player_names: names of the players.
        shown_title: the game's title with the name of its file.
    """

    def __init__(self, parameters: dict[str, Any] | None = None) -> None:
        """Reads the file; called by `pyspiel.load_game`.

        Args:
            parameters: `path` of the file, or its `text`, both percent-encoded.

        Raises:
            ValueError: the file cannot be read.
            GameFileError: it breaks the format.
        """
        given = {name: value for name, value in (parameters or {}).items() if value}
        form, title = _form_of(given)
        kind = _type_of(form)
        most_moves, self._most_chance_moves = form.longest_history()
        super().__init__(kind, _info_of(form, kind.utility, most_moves), given)
        self.form, self.shown_title = form, title
        self.player_names = form.players

    def new_initial_state(self) -> "GambitState":
        """The root."""
        return GambitState(self)

    def max_chance_nodes_in_history(self) -> int:
        """The most moves of chance in a history."""
        return self._most_chance_moves

    def make_py_observer(
        self, iig_obs_type: Any = None, params: Any = None
    ) -> "GambitObserver":
        """An observer whose strings are the information states."""
        return GambitObserver()


class GambitState(pyspiel.State):
    """A state of a `GambitGame`: a node of its form."""

    def __init__(self, game: GambitGame) -> None:
        """Begins at the root; called by `Game.new_initial_state`."""
        super().__init__(game)
        # Copies of a state copy its attributes, so they are small.
        self._node = 0

    @property
    def _form(self) -> GameForm:
        game: Any = self.get_game()
        return game.form

    def current_player(self) -> int:
        """The player who acts, or CHANCE_NODE or TERMINAL."""
        return self._form.player(self._node)

    def is_terminal(self) -> bool:
        """Whether the game is over."""
        return self._form.infoset_of[self._node] < 0

    def _legal_actions(self, player: int) -> list[int]:
        is_acting = player == self._form.player(self._node)
        return [*range(len(self._form.children[self._node]))] if is_acting else []

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """The outcomes of a chance node and their probabilities."""
        form = self._form
        return [*enumerate(form.infosets[form.infoset_of[self._node]].probs)]

    def _apply_action(self, action: int) -> None:
        self._node = self._form.children[self._node][action]

    def _action_to_string(self, player: int, action: int) -> str:
        form = self._form
        return form.infosets[form.infoset_of[self._node]].actions[action]

    def returns(self) -> list[float]:
        """The players' payoffs, which are zeros before the end."""
        form = self._form
        zeros = (0,) * len(form.players)
        return [float(payoff) for payoff in form.payoffs.get(self._node, zeros)]

    def information_state_string(self, player: int | None = None) -> str:
        """The infoset where a player acts; elsewhere the player's last move."""
        form = self._form
        acting = form.player(self._node)
        player = acting if player is None else player
        if player == acting:
            return form.infosets[form.infoset_of[self._node]].name
        node, known = 0, f"{form.players[player]} has not moved"
        for action in self.history():
            if form.player(node) == player:
                infoset = form.infosets[form.infoset_of[node]]
                known = f"{infoset.name}, then {infoset.actions[action]}"
            node = form.children[node][action]
        return known

    def observation_string(self, player: int | None = None) -> str:
        """The information state."""
        return self.information_state_string(player)

    def __str__(self) -> str:
        """The moves so far."""
        form, node, words = self._form, 0, []
        for action in self.history():
            infoset = form.infosets[form.infoset_of[node]]
            is_chance = infoset.player == CHANCE_NODE
            name = "chance" if is_chance else form.players[infoset.player]
            words.append(f"{name}: {infoset.actions[action]}")
            node = form.children[node][action]
        return "\n".join(words) or "the beginning"


class GambitObserver:
    """Shows information states as text, as OpenSpiel's observation.py wants it.

    Attributes:
        tensor: None, because there are no tensors.
        dict: empty.
    """

    def __init__(self) -> None:
        """Makes an observer without tensors."""
        self.tensor, self.dict = None, {}

    def set_from(self, state: GambitState, player: int) -> None:
        """Does nothing, because there are no tensors."""

    def string_from(self, state: GambitState, player: int) -> str:
        """The information state as text."""
        return state.information_state_string(player)


_SMALLEST = 'EFG 2 R "" { "Player" } t "" 0'
pyspiel.register_game(_type_of(read_form(_SMALLEST, NAME)), GambitGame)
