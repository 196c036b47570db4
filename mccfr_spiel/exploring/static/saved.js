"use strict";
// Answers requests in an exported page, in place of the server. The answers about states
// and information sets are embedded; this file also plays games against a policy.

const file = JSON.parse(document.getElementById("data").textContent);

function answerFromFile(name, query) {
  const answer = fileAnswers[name];
  if (!answer) throw new Error("An exported page cannot do this. Open the page with mccfr-spiel explore.");
  const other = query.other === "" || query.other === undefined ? null : Number(query.other);
  return answer(query, Number(query.policy || 0), other);
}

const infosetAt = (which, key) => {
  const infoset = file.infoset_of[key];
  return infoset === undefined ? null : file.infosets[which][infoset];
};

function stateAt(key) {
  const state = file.states[key];
  if (!state) throw new Error("This page contains no state after the moves " + key + ".");
  return state;
}

const fileAnswers = {
  about: () => file.about,
  overview: (query, which) => file.overviews[which],
  rows: () => file.rows,
  visit: () => ({ changes: [], fixed: [], solving: false }),
  belief: (query, which) => {
    const belief = file.beliefs[which][query.number], { player } = file.infosets[which][query.number];
    if (query.chosen === undefined) return belief;
    return { ...belief, rows: belief.rows.map((row) => {
      const move = stateAt(row.history.join(",")).moves[query.chosen];
      return { ...row, value: valueAfter(which, [...row.history, move.action], player) };
    }) };
  },
  odds: (query, which) => ({ probabilities: infosetAt(which, query.history)?.probabilities ?? null }),
  state: (query, which, other) => {
    const state = stateAt(query.history);
    const history = query.history ? query.history.split(",").map(Number) : [];
    const answer = { state: { ...state, history }, infoset: infosetAt(which, query.history), why: "" };
    if (other !== null) answer.other = infosetAt(other, query.history);
    return answer;
  },
  search: (query, which) => {
    const wanted = query.text.toLowerCase();
    const all = file.rows_of_lists[which];
    const rows = [];
    let at = Number(query.first || 0);
    for (; at < all.length && rows.length < 25; at += 1) {
      if ((all[at].info_state + "\n" + all[at].words).toLowerCase().includes(wanted)) rows.push(all[at]);
    }
    return { rows, next: at < all.length ? at : null, total: all.length };
  },
  list: (query, which, other) => {
    let list = file.lists[which][query.kind];
    if (query.kind === "changed") {
      if (other === null) throw new Error("Choose a second policy to see where the two differ.");
      list = list[other];
    }
    return { rows: list.map(([i, amount]) => ({ ...file.rows_of_lists[which][i], amount })) };
  },
  grid: (query, which) => {
    const key = file.grid_of[query.history];
    return key === undefined ? { none: file.no_grid } : file.grids[which][key];
  },
  deal: (query, which) => {
    game = { seat: Number(query.seat), which, history: [], log: [] };
    playOn();
    return handView();
  },
  move: (query) => {
    const moves = game && stateAt(game.history.join(",")).moves;
    if (!moves || !moves.some((one) => one.action === query.action)) throw new Error("This move is illegal.");
    play(query.action);
    playOn();
    return handView();
  },
};

// A game against a policy. The player sees only the seat's information.

let game = null;

function play(action) {
  const state = stateAt(game.history.join(","));
  const at = state.moves.findIndex((one) => one.action === action);
  // `seen`: for each move, a bit mask of the players who can identify it.
  const isKnown = state.player === game.seat || (state.seen[at] >> game.seat) & 1;
  game.log.push({ player: state.player, name: isKnown ? state.moves[at].name : null });
  game.history.push(action);
}

function playOn() {
  for (;;) {
    const key = game.history.join(","), state = stateAt(key);
    if (state.returns || state.player === game.seat) return;
    const odds = oddsAt(game.which, key, state);
    let draw = Math.random() * odds.reduce((sum, p) => sum + p, 0);
    let at = odds.findIndex((p) => p > 0 && (draw -= p) < 0);
    if (at < 0) at = odds.findLastIndex((p) => p > 0);  // rounding errors can leave no match
    play(state.moves[at].action);
  }
}

const oddsAt = (which, key, state) =>
  state.player === -1 ? state.moves.map((one) => one.probability) : infosetAt(which, key).probabilities;

function handView() {
  const key = game.history.join(","), state = stateAt(key);
  const view = { seat: game.seat, over: Boolean(state.returns), log: game.log, moves: state.moves,
    knows: state.knows ? file.strings[state.knows[game.seat]] : "" };
  return view.over ? { ...view, returns: state.returns, history: game.history, text: state.text } : view;
}

function valueAfter(which, history, player) {
  const key = history.join(","), state = stateAt(key);
  if (state.returns) return state.returns[player];
  const odds = oddsAt(which, key, state);
  return state.moves.reduce((sum, one, i) => sum + (odds[i] && odds[i] * valueAfter(which, [...history, one.action], player)), 0);
}
