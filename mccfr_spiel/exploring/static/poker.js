"use strict";
// Poker spots: the 13x13 grid of the acting player's hands, and the report of runouts.
// The helpers h, fill, table, num and so on are those of page.js.

const spot = { column: 0, made: "", draw: "", cell: "", report: "ev0", sort: "card", falls: false };

const isSpot = () => Boolean(about && about.start.length);
const SUIT_OF = { s: "\u2660", h: "\u2665", d: "\u2666", c: "\u2663" };
const RANK_ORDER = "AKQJT98765432";
const cardName = (card) => card[0] + SUIT_OF[card[1]];
const cardMark = (card) => h("span", { class: "card suit-" + card[1] }, cardName(card));
const chipsOf = (x) => fixedTo(x, 2);
const amountOf = (x) => (Number.isInteger(x) ? String(x) : chipsOf(x));

async function drawSpot(still) {
  if (!$("spot")) fill("panel", waitingLine());
  const query = { history: history.join(","), ...policyParts() };
  const grid = await askUntilDone("grid", { ...query, made: spot.made, draw: spot.draw }, still);
  if (!grid) return;
  if (!grid.none) { drawSpotGrid(grid); return; }
  const report = await askUntilDone("runouts", query, still);
  if (!report) return;
  const reason = h("p", { class: "soft" }, report.none);
  if (report.none) fill("panel", report.board ? h("div", { id: "spot" }, spotHead(report, report.words), reason) : reason);
  else drawRunouts(report);
}

const back = () => (history.length > about.start.length
  ? h("button", { type: "button", onclick: () => go(history.slice(0, -1)) }, "\u2190 Back") : null);

function spotHead(view, words) {
  return [h("p", { class: "spotline" }, view.board.map(cardMark), h("span", {}, "Pot " + amountOf(view.pot)),
    view.stacks ? h("span", {}, "Stacks " + view.stacks.map(amountOf).join(" and ")) : null, back()),
    h("p", { id: "line" }, words)];
}

// The name of the cell of a hand, such as AKs, and of the cell in a row and column.
const cellOf = (hand) => hand[0] + hand[2] + (hand[0] === hand[2] ? "" : hand[1] === hand[3] ? "s" : "o");
const cellAt = (labels, i, j) => (i === j ? labels[i] + labels[i] : i < j ? labels[i] + labels[j] + "s" : labels[j] + labels[i] + "o");

function drawSpotGrid(grid) {
  const count = grid.actions.length, columns = ["All actions", ...grid.actions, ...grid.extras];
  if (spot.column >= columns.length) spot.column = 0;
  const parts = [spotHead(grid, (grid.words ? grid.words.replace(/:$/, "") + " \u2013 player " : "Player ") + grid.player + " acts")];
  parts.push(table(["", headNum("EV", "Expected share of the starting pot, from this decision on"), headNum("Equity", "Share of the pot without further bets")],
    grid.evs.map((x, p) => ["Player " + p + (p === grid.player ? " (acts)" : ""), h("td", { class: "n", id: "ev" + p }, chipsOf(x)), num(percent(grid.equities[p]))])));
  const colors = colorsOf(grid.actions);
  parts.push(h("div", { class: "row", id: "actions" }, grid.actions.map((name, i) => {
    const key = h("span", { class: "swatch", "aria-hidden": "true" });
    key.style.background = "color-mix(in srgb, " + colors[i] + " 60%, transparent)";
    return h("button", { type: "button", onclick: () => go(grid.next[i]) }, key, name + " " + percent(grid.totals[i]));
  })));
  const choose = (id, label, options, chosen, change) => h("label", {}, label + " ", h("select", { id, onchange: (event) => change(event.target.value) },
    options.map(([key, words]) => h("option", { value: key, selected: key === chosen }, words))));
  const filter = (name) => (chosen) => { spot[name] = chosen; drawPanel(); };
  const withAll = (names, chosen) => [["", "all"], ...[...new Set([...names, chosen])].filter(Boolean).map((name) => [name, name])];
  parts.push(h("div", { class: "row" },
    choose("column", "Show", columns.map((name, i) => [String(i), name]), String(spot.column), (i) => { spot.column = Number(i); drawSpotGrid(grid); }),
    choose("made", "Made hand", withAll(grid.made, spot.made), spot.made, filter("made")),
    choose("draw", "Draw", withAll(grid.draws, spot.draw), spot.draw, filter("draw"))));
  if (spot.made || spot.draw) parts.push(h("p", { class: "soft" }, known(grid.share) ? percent(grid.share) + " of the range pass the filters." : "No hand of the range passes the filters."));
  const { labels, cells } = grid.ranks, isEv = columns[spot.column] === "EV";
  const hands = h("div", { id: "hands", "aria-live": "polite" });
  const list = (cell) => hands.replaceChildren(...(cell ? [h("h2", {}, cell), handsTable({ ...grid, pot: grid.starting_pot }, grid.rows.filter((row) => cellOf(row.label) === cell))] :
    [h("p", { class: "soft" }, "Point at a cell, or tap it, to list its hands. Suited hands (s) are above the diagonal of pairs. " +
      "The number in a cell is " + (spot.column === 0 || columns[spot.column] === "Range" ? "its weight in the range in percent, relative to the largest." : isEv ? "the EV." : "a percentage."))]));
  parts.push(h("table", { class: "ranks" }, h("tbody", {}, cells.map((line, i) => h("tr", {}, line.map((cell, j) => {
    const name = cellAt(labels, i, j);
    if (!cell) return h("td", { class: "cell" }, h("span", { class: "soft" }, name));
    const at = spot.column ? cell[spot.column - 1] : cell[count];
    const text = !known(at) ? "\u2013" : isEv ? fixedTo(at, 0) : (100 * at).toFixed(0);
    const box = h("td", { class: "cell open", tabindex: "0", "data-cell": name, "aria-label": name,
      onmouseenter: () => { if (!spot.cell) list(name); },
      onclick: () => { spot.cell = spot.cell === name ? "" : name; list(spot.cell || name); },
      onkeydown: (event) => { if (event.key === "Enter") { spot.cell = name; list(name); event.stopPropagation(); } } },
    h("span", {}, name), h("span", { class: "amount" }, text));
    if (!spot.column) stripes(box, grid.actions, cell);
    else if (known(at)) shade(box, isEv ? at / grid.starting_pot : at, isEv ? "value" : "");
    if (cell[count] === 0) box.classList.add("rare");
    return box;
  }))))));
  parts.push(hands);
  fill("panel", h("div", { id: "spot" }, parts));
  list(cells.some((line, i) => line.some((cell, j) => cell && cellAt(labels, i, j) === spot.cell)) ? spot.cell : (spot.cell = ""));
}

// --- runouts -----------------------------------------------------------------------------

const runoutColumns = (report) => [["ev0", "EV P0"], ["ev1", "EV P1"], ["equity0", "Equity P0"], ["equity1", "Equity P1"],
  ...report.actions.map((name) => [name, name])];

function drawRunouts(report) {
  const columns = runoutColumns(report);
  if (!columns.some(([key]) => key === spot.report)) spot.report = "ev0";
  const isEv = spot.report.startsWith("ev"), write = (key, x) => (key.startsWith("ev") ? chipsOf(x) : percent(x));
  const amounts = report.rows.map((row) => row[spot.report]).filter(known);
  const least = Math.min(...amounts), most = Math.max(...amounts);
  const byCard = Object.fromEntries(report.rows.map((row) => [row.card, row]));
  const choice = h("select", { id: "report", onchange: () => { spot.report = choice.value; drawRunouts(report); } },
    columns.map(([key, words]) => h("option", { value: key, selected: key === spot.report }, words)));
  // Colours span the range from the smallest to the largest number of the column.
  const heat = (row) => {
    const x = row[spot.report], part = most > least ? (x - least) / (most - least) : 0.5;
    const box = h("td", { class: "cell open", tabindex: "0", "data-card": row.card, title: cardName(row.card) + ": " + write(spot.report, x),
      onclick: () => go(report.next[row.card]), onkeydown: (event) => { if (event.key === "Enter") go(report.next[row.card]); } },
    h("span", {}, cardMark(row.card)), h("span", { class: "amount" }, isEv ? fixedTo(x, 0) : (100 * x).toFixed(0)));
    return shade(box, 2 * part - 1, "value");
  };
  const map = h("table", { class: "ranks", id: "heat" }, h("tbody", {}, Array.from("shdc").map((suit) => h("tr", {}, Array.from(RANK_ORDER).map((rank) => {
    const row = byCard[rank + suit];
    return row ? heat(row) : h("td", { class: "cell" }, h("span", { class: "soft" }, rank + SUIT_OF[suit]));
  })))));
  const order = (a, b) => (spot.sort === "card" ? RANK_ORDER.indexOf(a.card[0]) - RANK_ORDER.indexOf(b.card[0]) || "shdc".indexOf(a.card[1]) - "shdc".indexOf(b.card[1]) : a[spot.sort] - b[spot.sort]);
  const rows = [...report.rows].sort((a, b) => (spot.falls ? -order(a, b) : order(a, b)));
  const head = (key, words) => h("th", { class: key === "card" ? "" : "n", scope: "col", "aria-sort": spot.sort === key ? (spot.falls ? "descending" : "ascending") : "none" },
    h("button", { type: "button", class: "sort", onclick: () => { spot.falls = spot.sort === key && !spot.falls; spot.sort = key; drawRunouts(report); } }, words));
  const lines = [["card", "probability", ...columns.map(([key]) => key)], ...report.rows.map((row) => [row.card, row.probability, ...columns.map(([key]) => row[key] ?? "")])];
  const csv = URL.createObjectURL(new Blob([lines.map((line) => line.join(",")).join("\n") + "\n"], { type: "text/csv" }));
  fill("panel", h("div", { id: "spot" }, spotHead(report, report.words + " \u2013 the next card"),
    h("div", { class: "row" }, h("label", {}, "Show ", choice), h("a", { href: csv, download: "runouts.csv" }, "Save as CSV")),
    map, h("p", { class: "soft" }, "Each cell is a card that may come next. Click a card to deal it."),
    table([head("card", "Card"), ...columns.map(([key, words]) => head(key, words))],
      rows.map((row) => [h("th", { scope: "row" }, h("button", { type: "button", onclick: () => go(report.next[row.card]) }, cardMark(row.card))),
        ...columns.map(([key]) => num(known(row[key]) ? write(key, row[key]) : "\u2013"))]))));
}
