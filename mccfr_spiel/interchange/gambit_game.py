"""The OpenSpiel game `python_gambit`, which plays the game of a Gambit file.

The load string contains the path of the file, as in
`python_gambit(path=/games/poker.efg)`. Characters that load strings cannot contain are
percent-encoded.
"""

import os
import pathlib
import urllib.parse
from typing import Any

import pyspiel

from mccfr_spiel.common.arrays import CHANCE_NODE
from mccfr_spiel.common.game_files import absolute_path
from mccfr_spiel.interchange.efg_reader import read_efg
from mccfr_spiel.interchange.form import GameForm
from mccfr_spiel.interchange.labels import clean_label
from mccfr_spiel.interchange.nfg_reader import read_nfg
from mccfr_spiel.interchange.tokens import WORD, GameFileError, Tokens

NAME = "python_gambit"

_READERS = {("EFG", "2"): read_efg, ("NFG", "1"): read_nfg}

_PLAIN = "/\\:._-~+@ "
"""Characters that load strings may contain in addition to letters and digits."""


def game_of_file(path: str | os.PathLike[str]) -> "GambitGame":
    """Loads a game from an .efg or .nfg file.

    Raises:
        GameFileError: the file breaks its format; the message names line and token.
        ValueError: the file cannot be read.
    """
    return GambitGame({"path": urllib.parse.quote(os.fspath(path))})


def read_form(text: str, source: str) -> GameForm:
    """Reads the text of a file, which begins with `EFG 2 R` or `NFG 1 R`.

    Args:
        text: content of the file.
        source: name of the file in messages.

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
    return _READERS[kind.text, version.text](tokens)


def _form_in(file: pathlib.Path) -> GameForm:
    """Reads a file."""
    try:
        return read_form(file.read_text(encoding="utf-8-sig"), str(file))
    except OSError as error:
        raise ValueError(
            f"The game file {file} cannot be read: {error.strerror}."
        ) from error
    except UnicodeDecodeError as error:
        raise GameFileError(f"{file}: expected text in UTF-8, {error}.") from error


def _type_of(form: GameForm) -> pyspiel.GameType:
    game_type = pyspiel.GameType
    has_chance = any(infoset.player == CHANCE_NODE for infoset in form.infosets)
    sums = {sum(payoffs) for payoffs in set(form.payoffs.values())}
    utility = game_type.Utility.GENERAL_SUM
    if len(sums) == 1 and len(form.players) > 1:
        is_zero = sums == {0}
        utility = (
            game_type.Utility.ZERO_SUM if is_zero else game_type.Utility.CONSTANT_SUM
        )
    return game_type(
        short_name=NAME,
        long_name=clean_label(form.title),
        dynamics=game_type.Dynamics.SEQUENTIAL,
        chance_mode=game_type.ChanceMode.EXPLICIT_STOCHASTIC
        if has_chance
        else game_type.ChanceMode.DETERMINISTIC,
        information=game_type.Information.IMPERFECT_INFORMATION,
        utility=utility,
        reward_model=game_type.RewardModel.TERMINAL,
        max_num_players=len(form.players),
        min_num_players=len(form.players),
        provides_information_state_string=True,
        provides_information_state_tensor=False,
        provides_observation_string=True,
        provides_observation_tensor=False,
        parameter_specification={"path": ""},
        default_loadable=False,
    )


def _info_of(
    form: GameForm, utility: pyspiel.GameType.Utility, max_moves: int
) -> pyspiel.GameInfo:
    rows = set(form.payoffs.values())
    values = [float(payoff) for payoffs in rows for payoff in payoffs]
    num_actions, num_outcomes = 1, 0
    for infoset in form.infosets:
        if infoset.player == CHANCE_NODE:
            num_outcomes = max(num_outcomes, len(infoset.actions))
        else:
            num_actions = max(num_actions, len(infoset.actions))
    constant = {}
    if utility != pyspiel.GameType.Utility.GENERAL_SUM:
        constant["utility_sum"] = float(sum(rows.pop()))
    return pyspiel.GameInfo(
        num_distinct_actions=num_actions,
        max_chance_outcomes=num_outcomes,
        num_players=len(form.players),
        min_utility=min(values),
        max_utility=max(values),
        max_game_length=max(max_moves, 1),
        **constant,
    )


class GambitGame(pyspiel.Game):
    """A game of a Gambit file.

    Attributes:
        form: the game in extensive form.
        player_names: `[P]` names of the players.
        shown_title: title of the game, with the name of the file.
    """

    def __init__(self, parameters: dict[str, Any] | None = None) -> None:
        """Reads the file; called by `pyspiel.load_game`.

        Args:
            parameters: `path` of the file, percent-encoded. The load string contains
                the absolute path.

        Raises:
            ValueError: there is no path, or the file cannot be read.
            GameFileError: the file breaks the format.
        """
        path = (parameters or {}).get("path")
        if not path:
            raise ValueError(f"{NAME} needs the path of a file: {NAME}(path=...).")
        file = pathlib.Path(absolute_path(urllib.parse.unquote(path)))
        form = _form_in(file)
        game_type = _type_of(form)
        max_moves, self._max_chance_moves = form.max_moves()
        info = _info_of(form, game_type.utility, max_moves)
        encoded = urllib.parse.quote(str(file), safe=_PLAIN)
        super().__init__(game_type, info, {"path": encoded})
        self.form, self.player_names = form, form.players
        self.shown_title = f"{form.title} ({file.name})"

    def new_initial_state(self) -> "GambitState":
        """The state at the root."""
        return GambitState(self)

    def max_chance_nodes_in_history(self) -> int:
        """The largest number of chance moves in a history."""
        return self._max_chance_moves

    def make_py_observer(
        self, iig_obs_type: Any = None, params: Any = None
    ) -> "GambitObserver":
        """An observer whose strings are the information states."""
        return GambitObserver()


class GambitState(pyspiel.State):
    """A state of a `GambitGame`: a node of the game's form."""

    def __init__(self, game: GambitGame) -> None:
        """Starts at the root; called by `Game.new_initial_state`."""
        super().__init__(game)
        # OpenSpiel copies states with all attributes, so the form is not one of them.
        self._node = 0

    @property
    def _form(self) -> GameForm:
        game: Any = self.get_game()
        return game.form

    def current_player(self) -> int:
        """The acting player, CHANCE_NODE or TERMINAL."""
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
        """The payoffs; zeros at nodes that are not terminal."""
        form = self._form
        zeros = (0,) * len(form.players)
        return [float(payoff) for payoff in form.payoffs.get(self._node, zeros)]

    def information_state_string(self, player: int | None = None) -> str:
        """The name of the infoset at the player's decisions; elsewhere a text with the
        player's last infoset and action.

        Raises:
            ValueError: no player is given, and no player acts.
        """
        form = self._form
        acting = form.player(self._node)
        player = acting if player is None else player
        if not 0 <= player < len(form.players):
            raise ValueError(
                f"player={player} has no information state. Expected a player from 0 "
                f"to {len(form.players) - 1}."
            )
        if player == acting:
            return form.infosets[form.infoset_of[self._node]].name
        node, text = 0, f"{form.players[player]} has not moved"
        for action in self.history():
            if form.player(node) == player:
                infoset = form.infosets[form.infoset_of[node]]
                text = f"{infoset.name}, then {infoset.actions[action]}"
            node = form.children[node][action]
        return text

    def observation_string(self, player: int | None = None) -> str:
        """Same as the information state."""
        return self.information_state_string(player)

    def __str__(self) -> str:
        """One line per move so far."""
        form, node, lines = self._form, 0, []
        for action in self.history():
            infoset = form.infosets[form.infoset_of[node]]
            is_chance = infoset.player == CHANCE_NODE
            name = "chance" if is_chance else form.players[infoset.player]
            lines.append(f"{name}: {infoset.actions[action]}")
            node = form.children[node][action]
        return "\n".join(lines) or "the beginning"


class GambitObserver:
    """An observer for OpenSpiel's observation.py, which provides strings only.

    Attributes:
        tensor: None.
        dict: empty.
    """

    def __init__(self) -> None:
        """Creates an observer without tensors."""
        self.tensor, self.dict = None, {}

    def set_from(self, state: GambitState, player: int) -> None:
        """Does nothing, because there are no tensors."""

    def string_from(self, state: GambitState, player: int) -> str:
        """The information-state string."""
        return state.information_state_string(player)


_SMALLEST = 'EFG 2 R "" { "Player" } t "" 0'
pyspiel.register_game(_type_of(read_form(_SMALLEST, NAME)), GambitGame)
