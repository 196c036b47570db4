"use strict";
// The page of mccfr_spiel's explorer. It requests data from a server or, in an exported
// page, reads the embedded data. Names of states and moves become text nodes: no code
// here turns strings into HTML.

const MINE = "mine";
const VISIT = newName();
const isFile = document.getElementById("data") !== null;  // then saved.js answers requests

let about = null;          // the answer to "about": game, policies, tree
let history = [];          // the moves so far
let shown = null;          // the newest answer to "state"
let change = { changes: [], fixed: [] };
let tab = "find";
let allDigits = false;     // otherwise three digits
let ticket = 0;            // number of the newest view; answers for older views are dropped

const $ = (id) => document.getElementById(id);

function newName() {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");
}

// --- making elements ---------------------------------------------------------------

function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null) element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null));
  return element;
}

function svg(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function fill(id, ...children) {
  $(id).replaceChildren(...children.flat(Infinity).filter((child) => child !== null));
}

const known = (x) => x !== null && x !== undefined;

function fixedTo(x, digits) {
  if (!known(x)) return "\u2013";
  if (allDigits) return String(x);
  const words = x.toFixed(digits);
  return Number(words) === 0 ? words.replace("-", "") : words;
}
const value = (x) => fixedTo(x, 3);
const small = (x) => (known(x) && !allDigits && x !== 0 && Math.abs(x) < 1e-3 ? x.toExponential(2) : value(x));
const signed = (x, write) => (known(x) && Number(write(x)) > 0 ? "+" : "") + write(x);
const tone = (x) => (!known(x) || Math.abs(x) < 5e-4 ? "" : x > 0 ? "up" : "down");
// Short names of moves: `J\u2660` for "deals Jack of spades".
const SIGNS = { spades: "\u2660", hearts: "\u2665", diamonds: "\u2666", clubs: "\u2663" };
const shortName = (name) => name.replace(/^(deals|rolls) /, "").replace(/^Player \d+ (\w+): /, "$1 ").replace(/^(\w+) of (spades|hearts|diamonds|clubs)$/,
  (_, rank, suit) => (/^\d/.test(rank) ? rank : rank[0]) + SIGNS[suit]);
const oneLine = (text) => text.replace(/\s*\n\s*/g, " \u00b7 ").trim();

function bar(x, kind) {
  if (!known(x)) return h("span", {}, "\u2013");
  const part = h("span", { class: "fill " + (kind || "") });
  part.style.width = 100 * x + "%";
  return h("div", { class: "odds" },
    h("div", { class: "track", "aria-hidden": "true" }, part), h("span", { class: "p" }, value(x)));
}

function facts(pairs) {
  return h("dl", { class: "facts" }, pairs.filter((pair) => pair).map(
    ([name, what, id]) => [h("dt", {}, name), h("dd", id ? { id } : {}, what)]));
}

function table(head, rows, caption) {
  const cells = (row, tag) => row.map((cell) => {
    if (cell instanceof Node && (cell.tagName === "TD" || cell.tagName === "TH")) return cell;
    return h(tag, tag === "th" ? { scope: "col" } : {}, known(cell) ? cell : "");
  });
  return h("div", { class: "scroll" }, h("table", {},
    caption ? h("caption", {}, caption) : null,
    h("thead", {}, h("tr", {}, cells(head, "th"))),
    h("tbody", {}, rows.map((row) => h("tr", {}, cells(row, "td"))))));
}
const num = (words, kind) => h("td", { class: "n " + (kind || "") }, words);
const headNum = (words, title) => h("th", { class: "n", scope: "col", title: title || null }, words);

// --- requests ----------------------------------------------------------------------------

const policyParts = () => ({ policy: $("policy").value || "0", other: $("other").value, visit: VISIT });

async function ask(name, query, body) {
  if (isFile) return answerFromFile(name, body || query || {});
  let response;
  try {
    if (body) {
      response = await fetch("api/" + name, { method: "POST",
        headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
    } else {
      response = await fetch("api/" + name + "?" + new URLSearchParams(query || {}));
    }
  } catch (error) {
    throw new Error("The server has stopped. Start it again and open the new link.");
  }
  let answer;
  try { answer = await response.json(); } catch (error) { throw new Error("The server did not answer."); }
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

async function askUntilDone(name, query, still, waiting) {
  for (let pause = 150; ; pause = Math.min(2 * pause, 2000)) {
    const answer = await ask(name, query);
    if (!still()) return null;
    if (!answer.working) return answer;
    if (waiting) waiting();
    await new Promise((done) => setTimeout(done, pause));
    if (!still()) return null;
  }
}

function say(error) {
  $("error").textContent = error ? error.message || String(error) : "";
  $("error").hidden = !error;
}

async function guarded(work) {
  try { say(null); return await work(); } catch (error) { say(error); return null; }
}

// --- walking -----------------------------------------------------------------------------

function go(moves) {
  const hash = "#" + moves.join(",");
  if (location.hash === hash || (!moves.length && !location.hash)) { history = moves; show(); return; }
  location.hash = hash;
}

function fromHash() {
  const words = location.hash.slice(1);
  history = words ? words.split(",").map(Number).filter(Number.isFinite) : [];
  return show();
}

// Shows an error for a link with illegal moves or a policy without this state.
function lost(error) {
  shown = null;
  fill("path", h("button", { type: "button", onclick: () => go(about.start) }, "Start"));
  $("where").textContent = "This state cannot be shown. " + error.message;
  $("text").textContent = "";
  $("printed").hidden = true;
  for (const id of ["moves", "near", "infoset", "belief"]) fill(id);
  $("working").hidden = true;
}

async function show(keepFocus) {
  const mine = ++ticket;
  const still = () => mine === ticket;
  const query = { history: history.join(","), ...policyParts() };
  const isWhole = (answer) => !answer.infoset || answer.infoset.values || about.tree === "none";
  await guarded(async () => {
    let answer;
    try { answer = await ask("state", query); } catch (error) { if (still()) lost(error); throw error; }
    if (!still()) return;
    shown = answer;
    draw(answer, keepFocus);
    drawNear(answer, still);
    $("working").hidden = isWhole(answer);
    if (!answer.infoset || !keepFocus) fill("belief");
    let hasBelief = await showBelief(answer, still);
    // Slow values arrive later; everything else works in the meantime.
    for (let pause = 200; still() && !isWhole(answer); pause = Math.min(1.5 * pause, 3000)) {
      await new Promise((done) => setTimeout(done, pause));
      if (!still()) return;
      answer = await ask("state", query);
      if (!still() || !isWhole(answer)) continue;
      shown = answer;
      draw(answer, true);
      drawNear(answer, still);
      hasBelief = hasBelief || await showBelief(answer, still);  // the tree may have been expanded since
    }
  });
  if (still()) $("working").hidden = true;
  if (still() && (tab === "cards" || (tab === "change" && numberShown() !== changeAt))) drawPanel();
  if (still() && tab === "curve") guarded(drawCourse);
}

async function showBelief(answer, still) {
  if (!answer.infoset || answer.infoset.number === null || about.tree === "hands") return false;
  const belief = await askUntilDone("belief", { number: answer.infoset.number, ...policyParts() }, still);
  if (belief) drawBelief(belief);
  return true;
}

function named(player, prefix) {
  const name = about.names ? about.names[player] : String(player);
  return /^\d+$/.test(name) ? prefix + name : name;
}
const who = (player) => (player === -1 ? "Chance" : named(player, "Player "));

function draw(answer, keepFocus) {
  const { state, infoset, other } = answer;
  const focused = Array.from($("moves").querySelectorAll("button.move")).indexOf(document.activeElement);
  const crumbs = [h("button", { type: "button", onclick: () => go(about.start),
    "aria-current": state.path.length > about.start.length ? false : "location" }, "Start")];
  state.path.forEach(([player, name], i) => {
    if (i < about.start.length) return;  // the private hands of a poker spot
    crumbs.push(h("span", { class: "soft", "aria-hidden": "true" }, "\u203a"));
    crumbs.push(h("button", { type: "button", onclick: () => go(state.history.slice(0, i + 1)),
      title: who(player), "aria-current": i === state.path.length - 1 ? "location" : false },
      h("span", { class: "who" }, player === -1 ? "chance" : named(player, "P")), name));
  });
  fill("path", crumbs);
  $("printed").hidden = false;
  $("text").textContent = state.text || "(the game prints nothing here)";
  const compared = Boolean(other);
  $("where").textContent = state.returns ? "The end of the game" : who(state.player) +
    (state.player >= 0 ? " is to move" + (isSpot() && infoset ? " with " + infoset.words.slice(0, 4) : "") : about.cards === "Cards" ? " deals" : " decides");
  if (state.returns) {
    fill("moves", table(["Player", headNum("Return")],
      state.returns.map((x, p) => [who(p), num(value(x), tone(x))])));
    fill("infoset");
    return;
  }
  const hasValues = infoset && infoset.values;
  const head = ["Move", "Probability"];
  if (compared) head.push("Other policy", headNum("Difference"));
  if (infoset) head.push(headNum("Value", "The player's expected return with this move"),
    headNum("Regret", "Expected gain from always playing this move here, per visit"));
  const sums = infoset && infoset.cumulative_regrets;
  if (sums) head.push(headNum("Cumulative regret", "The sum of counterfactual regrets that determines the solver's current policy"));
  const rowOf = (move) => {
    const i = state.moves.indexOf(move);
    const odds = infoset ? (infoset.probabilities ? infoset.probabilities[i] : null) : move.probability;
    const row = [h("button", { class: "move", type: "button", "data-action": move.action,
      onclick: () => go([...state.history, move.action]) }, move.name), bar(odds)];
    if (compared) {
      const its = other.probabilities ? other.probabilities[i] : null;
      const apart = known(its) && known(odds) ? odds - its : null;
      row.push(bar(its, "other"), num(signed(apart, value), tone(apart)));
    }
    if (infoset) {
      row.push(num(hasValues ? value(infoset.values[i]) : "\u2013"));
      const regret = hasValues ? infoset.regrets[i] : null;
      row.push(num(signed(regret, value), tone(regret)));
      if (sums) row.push(num(signed(sums[i], value), "sum " + tone(sums[i])));
    }
    return row;
  };
  if (state.moves.length > (state.player === -1 ? MANY : 400)) fill("moves", outcomes(state, head, rowOf));
  else fill("moves", table(head, state.moves.map(rowOf)));
  if (state.left_out) $("moves").append(h("p", { class: "soft" }, state.left_out + " more moves"));
  drawInfoset(infoset, other);
  if (keepFocus && focused >= 0) {
    $("moves").querySelectorAll("button.move")[focused]?.focus({ preventScroll: true });
  } else if (!keepFocus) {
    const first = $("moves").querySelector("button.move");
    if (first && document.activeElement === document.body) first.focus({ preventScroll: true });
  }
}

// With many outcomes or moves, a search box replaces the list.
const MANY = 12;
function outcomes(state, head, rowOf) {
  const place = h("div", {}), box = h("input", { type: "search", id: "outcome", "aria-label": "Search outcomes",
    placeholder: "Search " + state.moves.length + " outcomes", oninput: () => list() });
  const list = () => {
    const found = state.moves.filter((move) => move.name.toLowerCase().includes(box.value.trim().toLowerCase()));
    place.replaceChildren(found.length ? table(head, found.slice(0, 8).map(rowOf)) : h("p", { class: "soft" }, "No outcome contains this text."),
      found.length > 8 ? h("p", { class: "soft" }, found.length - 8 + " more; type part of the name.") : "");
  };
  list();
  return [h("div", { class: "row" }, box), place];
}

// Estimated numbers of samples. Rarely sampled infosets have meaningless numbers.
const RARE = 100;
const isRare = (visits) => known(visits) && visits < RARE;
const times = (visits) => (visits < 0.5 ? "hardly ever" : "about " + Math.round(visits).toLocaleString("en") + (visits < 1.5 ? " time" : " times"));
const rareNote = (whose) => h("p", { class: "rare-note" }, whose + " sampled too rarely for meaningful numbers (fewer than " + RARE + " times).");

function drawInfoset(infoset, other) {
  if (!infoset) { fill("infoset"); return; }
  const has = known(infoset.reach);
  fill("infoset",
    h("h2", {}, "What " + named(infoset.player, "player ") + " knows"),
    h("p", { id: "words" }, infoset.words || "(nothing)"),
    isRare(infoset.visits) ? rareNote("This information set was") : null,
    infoset.is_large_gap ? h("p", { class: "gap-note", id: "gap-note" }, "Large conditional gap: once play is here, a best response gains " +
      value(infoset.gap) + ".") : null,
    h("details", {}, h("summary", {}, "OpenSpiel's string"),
      h("pre", { tabindex: "0", id: "info-state", "aria-label": "Information state" }, infoset.info_state)),
    has ? facts([
      ["Value here", value(infoset.value), "value-here"],
      other && known(other.value) ? ["of the other policy", value(other.value)] : null,
      ["Reach", small(infoset.reach), "reach"],
      ["Reach by the others", small(infoset.others_reach)],
      known(infoset.visits) ? ["Sampled", times(infoset.visits), "visits"] : null,
      ["Best response", value(Math.max(...infoset.best_values.filter(known), -Infinity) === -Infinity
        ? null : Math.max(...infoset.best_values.filter(known))), "best-here"],
      ["Part of the gain", small(infoset.gain), "gain-here"],
      ["Conditional gap", value(infoset.gap), "gap-here"],
    ]) : null,
    has && infoset.others_reach === 0 ? h("p", { class: "soft" },
      "Under this policy the other players never reach this information set, so there are no values.") : null);
}

// The neighbourhood: two moves back and two forward, as a tree from left to right.

const NEAR = 5;            // the largest number of children drawn per node
const COLUMN = 128, ROW = 28;

// A node after `moves`. `rest`: moves to the shown state; `levels`: levels below that state.
async function nearNode(moves, rest, levels, isAsked, about) {
  const node = { moves, ...about, below: [], key: null };
  if (!isAsked) return node;
  const { state, infoset } = await ask("state", { history: moves.join(","), ...policyParts(), other: "" });
  Object.assign(node, { player: state.player, returns: state.returns, rare: infoset && isRare(infoset.visits), gap: infoset && infoset.is_large_gap });
  if (infoset) Object.assign(node, { key: infoset.player + " " + infoset.info_state, words: infoset.words });
  if (state.returns || (!rest.length && !levels)) return node;
  const at = state.moves.findIndex((move) => move.action === rest[0]);
  const from = Math.max(0, Math.min(at - 2, state.moves.length - NEAR));
  const few = state.moves.slice(from, from + NEAR);
  node.below = await Promise.all(few.map((move, k) => {
    const p = infoset ? infoset.probabilities && infoset.probabilities[from + k] : move.probability;
    const isOn = at >= 0 && move.action === rest[0];
    const left = isOn ? rest.slice(1) : [];
    const deeper = rest.length ? (isOn && !left.length ? 2 : 0) : levels - 1;
    return nearNode([...moves, move.action], left, deeper, rest.length > 0 || deeper > 0, { name: move.name, p });
  }));
  const more = state.moves.length + state.left_out - few.length;
  if (more) node.below.push({ more, below: [], key: null });
  return node;
}

let nearTicket = 0, nearAt = null;
async function drawNear(answer, still) {
  const here = answer.state.history, base = Math.max(here.length - 2, 0), mine = ++nearTicket;
  // Removes the drawing of the previous state while the new one is computed.
  if (nearAt !== here.join(",")) fill("near");
  nearAt = here.join(",");
  if (!here.length && answer.state.returns) { fill("near"); return; }
  let root;
  try {
    root = await nearNode(here.slice(0, base), here.slice(base), here.length === base ? 2 : 0, true, {});
  } catch (error) { root = null; }  // the request for the state reports the error
  if (!still() || mine !== nearTicket) return;
  if (!root) { fill("near"); return; }
  const nodes = [];
  let rows = 0;
  const place = (node, depth) => {
    node.x = 16 + depth * COLUMN;
    node.below.forEach((child) => place(child, depth + 1));
    const ys = node.below.filter((child) => !child.more).map((child) => child.y);
    node.y = ys.length ? (ys[0] + ys[ys.length - 1]) / 2 : 20 + ROW * rows++;
    nodes.push(node);
  };
  place(root, 0);
  const width = Math.max(...nodes.map((node) => node.x)) + 80;
  const frame = svg("svg", { viewBox: [0, 0, width, ROW * rows + 12].join(" "), width, role: "group", "aria-label": "Moves around this state" });
  frame.style.width = width + "px";
  for (const node of nodes) for (const child of node.below.filter((one) => !one.more)) {
    const bend = node.x + COLUMN * 0.2;
    frame.append(svg("path", { class: "edge", d: "M" + node.x + " " + node.y + "L" + bend + " " + child.y + "H" + child.x }));
  }
  const sets = Map.groupBy ? Map.groupBy(nodes.filter((node) => node.key), (node) => node.key) : new Map();
  for (const alike of sets.values()) {
    if (alike.length > 1) frame.append(svg("polyline", { class: "set", points: alike.map((node) => node.x + "," + node.y).join(" ") }));
  }
  for (const node of nodes) frame.append(nearLink(node, here.join(",") === (node.moves || [""]).join(",")));
  fill("near", h("details", { open: true }, h("summary", {}, "The moves around this state"), h("div", { class: "scroll" }, h("div", {}, frame)),
    h("p", { class: "legend" }, Array.from({ length: about.players }, (_, p) => h("span", {}, h("span", { class: "disc who" + p }), who(p))),
      h("span", {}, h("span", { class: "disc square" }), "Chance"),
      h("span", {}, "A dashed line joins states of one information set" + (nodes.some((node) => node.rare) ? "; hollow ones are sampled too rarely to mean much" : "") +
        (nodes.some((node) => node.gap) ? "; a ring marks a large conditional gap" : "") + "."))));
}

function nearLink(node, isHere) {
  const { x, y } = node;
  if (node.more) return svg("text", { x: x - 9, y: y + 4, "text-anchor": "end" }, "+ " + node.more + " more");
  const label = (node.name || "Start") + (known(node.p) ? " " + node.p.toFixed(2) : "");
  const ends = node.returns ? node.returns.map((one) => Number(one.toFixed(2))).join(", ") : "";
  const link = svg("a", { href: "#" + node.moves.join(","), class: "near" + (isHere ? " here" : ""), "aria-label": label + (ends && ": " + ends) },
    svg("title", {}, label + (node.words ? "\n" + node.words : "")));
  const kind = node.rare ? "hollow who" : "who";
  if (node.gap) link.append(svg("circle", { class: "gap-ring", cx: x, cy: y, r: 10 }));
  if (node.player >= 0) link.append(svg("circle", { class: kind + (node.player % 4), cx: x, cy: y, r: 7 }));
  else if (node.player === -1) link.append(svg("rect", { class: "square", x: x - 6, y: y - 6, width: 12, height: 12 }));
  else link.append(svg("circle", { class: "square", cx: x, cy: y, r: 3 }));
  if (node.name) {
    const most = Math.floor((COLUMN * 0.75) / 6) - (known(node.p) ? 5 : 0);
    const name = shortName(node.name), short = name.length > most ? name.slice(0, most - 1) + "\u2026" : name;
    link.append(svg("text", { x: x - 9, y: y - 4, "text-anchor": "end" }, short + (known(node.p) ? " " + node.p.toFixed(2) : "")));
  }
  if (ends) link.append(svg("text", { x: x + 8, y: y + 4 }, ends));
  return link;
}

function drawBelief(belief) {
  if (!belief.rows || !belief.rows.length) { fill("belief"); return; }
  const rows = belief.rows.map((row) => [
    h("button", { class: "move history", type: "button", onclick: () => go(row.history) }, row.names.map(shortName).join(", ") || "Start"),
    bar(row.belief)]);
  fill("belief", table(["History", "Belief"], rows, "Possible histories"),
    belief.left_out ? h("p", { class: "soft" }, belief.left_out.toLocaleString("en") + " more histories") : null);
}

// --- the tools -------------------------------------------------------------------------

const NEEDS_SERVER = "Changing a policy and solving takes the page's server, and this page is a file. " +
  "Open the page with mccfr-spiel explore or ms.explore.";
const tabs = () => [["find", "Find"], ["whole", "Overview"], ["cards", about.cards], ["curve", "Curve"],
  ["change", "Change"], ["play", "Play"]].filter(([, words]) => words);

function drawTabs() {
  fill("tabs", tabs().map(([name, words]) => h("button", {
    type: "button", role: "tab", id: "tab-" + name, "aria-selected": String(name === tab),
    "aria-controls": "panel", tabindex: name === tab ? "0" : "-1",
    onclick: () => openTab(name), onkeydown: tabKeys }, words)));
  $("panel").setAttribute("aria-labelledby", "tab-" + tab);
  // During a game the player's view replaces the walk, which shows all cards.
  document.body.dataset.tab = tab;
  $("position").hidden = tab === "play";
  $("hand").hidden = tab !== "play";
}

function tabKeys(event) {
  const buttons = Array.from($("tabs").children);
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  event.preventDefault(); event.stopPropagation();
  const next = (buttons.indexOf(event.target) + step + buttons.length) % buttons.length;
  buttons[next].click();
  $("tabs").children[next].focus();
}

function openTab(name) { tab = name; drawTabs(); drawPanel(); }

let panelTicket = 0;
async function drawPanel() {
  const mine = ++panelTicket;
  const still = () => mine === panelTicket;
  await guarded(() => ({ find: drawFind, whole: drawWhole, cards: drawCards, curve: drawCurve,
    change: drawChange, play: drawPlay })[tab](still));
  if (still()) noWaitingLine("panel");
}

const waitingLine = () => h("p", { class: "soft waiting", role: "status" }, "Computing\u2026");

// Also removed after an error.
const noWaitingLine = (id) => $(id).querySelectorAll(".waiting").forEach((line) => line.remove());

// Finding.

let wanted = "";
let list = "reached";

function drawFind(still) {
  if (["none", "hands"].includes(about.tree)) { fill("panel", h("p", { class: "soft" }, "The search and the lists need the game's whole tree.")); return; }
  const results = h("div", { id: "results", "aria-live": "polite" });
  const box = h("input", { type: "search", id: "search", "aria-label": "Search information states",
    placeholder: "Search information states", value: wanted });
  const form = h("form", { class: "row", role: "search", onsubmit: (event) => {
    event.preventDefault(); wanted = box.value; searchFrom(0, results, still);
  } }, box, h("button", { type: "submit" }, "Search"));
  const isAlone = $("other").options.length < 3;  // the empty choice and the policy itself
  const choice = h("select", { id: "list", "aria-label": "List", onchange: () => { list = choice.value; showList(results, still); } },
    Object.entries(about.lists).filter(([name]) => name !== "changed" || !isAlone).map(([name, words]) => h("option", { value: name, selected: name === list }, words)));
  list = choice.value;
  fill("panel", form, h("div", { class: "row" }, h("label", { for: "list" }, "List"), choice), results);
  return showList(results, still);
}

function searchFrom(first, results, still) {
  return guarded(async () => {
    if (!first) results.replaceChildren();
    const answer = await askUntilDone("search", { text: wanted, first, ...policyParts() }, still);
    if (!answer) return;
    results.querySelector(".more")?.remove();
    results.append(foundList(answer.rows, null));
    if (!answer.rows.length && answer.next === null && !results.querySelector("li")) {
      results.append(h("p", { class: "soft" }, "No information state contains this text."));
    }
    if (answer.next !== null) {
      results.append(h("button", { type: "button", class: "more", onclick: () => searchFrom(answer.next, results, still) },
        "Search on (" + answer.next.toLocaleString("en") + " of " + answer.total.toLocaleString("en") + " looked at)"));
    }
  });
}

async function showList(results, still) {
  await guarded(async () => {
    results.replaceChildren(waitingLine());
    const answer = await askUntilDone("list", { kind: list, ...policyParts() }, still);
    if (!answer) return;
    results.replaceChildren(answer.rows.length ? foundList(answer.rows, list)
      : h("p", { class: "soft" }, "The list is empty."));
  });
  if (still()) noWaitingLine("results");
}

function foundList(rows, kind) {
  return h("ul", { class: "found" }, rows.map((row) => h("li", {}, h("button", { type: "button", "data-infoset": row.infoset,
    onclick: () => guarded(async () => {
      const belief = await askUntilDone("belief", { number: row.infoset, ...policyParts() }, () => true);
      go(belief.rows[0].history);
    }) },
    h("span", { class: "head" }, h("span", { class: "soft" }, named(row.player, "P")), h("span", { class: "mono", title: row.info_state }, oneLine(row.words) || "(nothing)"),
      known(row.amount) ? h("span", { class: "amount" }, kind === "mixed" ? row.amount.toFixed(3) + " bits" : small(row.amount)) : null),
    h("div", { class: isRare(row.visits) ? "soft rare" : "soft" }, row.policy.map(([name, p]) => name + " " + fixedTo(p, 3)).join(", ") +
      (row.left_out ? ", " + row.left_out + " more" : "") + (known(row.visits) ? "; sampled " + times(row.visits) + (isRare(row.visits) ? ": too rarely" : "") : "")),
    row.is_large_gap ? h("div", { class: "gap-note" }, "Conditional gap " + value(row.gap)) : null))));
}

// The policy as a whole.

async function drawWhole(still) {
  fill("panel", waitingLine());
  const parts = policyParts();
  const mine = await askUntilDone("overview", parts, still);
  if (!mine) return;
  if (mine.none) { fill("panel", h("p", {}, mine.none)); return; }
  let other = null;
  if (parts.other !== "") other = await askUntilDone("overview", { ...parts, policy: parts.other }, still);
  const draw = (found, id) => [table(["Player", headNum("Return"), headNum("Best response"), headNum("Gain")],
    found.returns.map((x, p) => [who(p), num(value(x)), num(value(found.best_returns[p])), num(value(found.gains[p]))])),
    facts([["NashConv", value(found.nash_conv), id]])];
  if (!still()) return;
  fill("panel", h("h2", {}, $("policy").selectedOptions[0].textContent), h("div", { id: "overview" }, draw(mine, "nash-conv")),
    other && !other.none ? [h("h2", {}, $("other").selectedOptions[0].textContent), draw(other, "other-nash-conv")] : null,
    facts([["Game", about.game], known(about.nodes) ? ["Nodes", about.nodes.toLocaleString("en")] : null,
      known(about.infosets) ? ["Information sets", about.infosets.toLocaleString("en")] : null]));
}

// Grids.

let gridMove = 0;

async function drawCards(still) {
  try {
    if (isSpot()) { await drawSpot(still); return; }
    fill("panel", waitingLine());
    const grid = await askUntilDone("grid", { history: history.join(","), ...policyParts() }, still);
    if (!grid) return;
    if (grid.none) fill("panel", h("p", { class: "soft" }, grid.none)); else drawGrid(grid);
  } catch (error) {
    if (still()) fill("panel", h("p", { class: "soft" }, error.message));
  }
}

function shade(cell, part, kind) {
  const color = kind === "value" ? (part < 0 ? "var(--down)" : "var(--up)") : "var(--bar)";
  const share = Math.round(70 * Math.min(Math.abs(part), 1));
  cell.style.background = "color-mix(in srgb, " + color + " " + share + "%, transparent)";
  return cell;
}

// Stripes show how often a cell's hands take each action; hovering shows the numbers.
function colorsOf(names) {
  const least = names.findIndex((name) => !/^(Fold|Pass|Check|Call)/.test(name)), span = names.length - 1 - least;
  return names.map((name, i) => /^Fold|^Pass/.test(name) ? "var(--accent)" : /^Check|^Call/.test(name) ? "var(--up)" :
    names.length > 5 ? "hsl(" + Math.round((300 * i) / names.length) + " 55% 55%)" :
    "color-mix(in srgb, var(--down) " + Math.round(span > 0 ? (100 * (i - least)) / span : 100) + "%, var(--other))");
}

function stripes(cell, names, odds) {
  const colors = colorsOf(names);
  let from = 0;
  const bands = names.map((_, i) => {
    const to = from + 100 * (odds[i] || 0);
    const band = "color-mix(in srgb, " + colors[i] + " 60%, transparent) " + from.toFixed(1) + "% " + to.toFixed(1) + "%";
    from = to;
    return band;
  });
  cell.style.background = "linear-gradient(90deg, " + bands.join(", ") + ", transparent 0)";
  cell.title = names.map((name, i) => name + " " + (known(odds[i]) ? percent(odds[i]) : "is not possible")).join(", ");
  return cell;
}

const legend = (names) => h("p", { class: "legend" }, names.map((name, i) => {
  const key = h("span", { class: "swatch", "aria-hidden": "true" });
  key.style.background = "color-mix(in srgb, " + colorsOf(names)[i] + " 60%, transparent)";
  return h("span", {}, key, name);
}));

function handsTable(grid, rows) {
  const share = (row) => (known(row.value) && row.equity > 0 ? percent(row.value / (row.equity * grid.pot)) : "\u2013");
  return table(["Hand", headNum("Range"), ...grid.actions.flatMap((name) => [headNum(name), headNum("EV", "Of " + name)]), headNum("Hand EV", "Over all actions"), headNum("Equity"), headNum("EV / equity", "EV of the hand divided by its equity of the starting pot")],
    rows.map((row) => [h("th", { scope: "row" }, row.label), num(percent(row.weight)),
      ...grid.actions.flatMap((_, i) => [shade(h("td", { class: "cell" }, percent(row.probabilities[i])), row.probabilities[i]), num(known(row.values[i]) ? fixedTo(row.values[i], 2) : "\u2013")]),
      num(known(row.value) ? fixedTo(row.value, 2) : "\u2013"), num(known(row.equity) ? percent(row.equity) : "\u2013"), num(share(row))]));
}

const percent = (part) => (known(part) ? (100 * part).toFixed(1) + " %" : "\u2013");

let gridCell = "";

function drawGrid(grid) {
  const columns = ["All actions", ...grid.actions];
  if (gridMove >= columns.length) gridMove = 0;
  const word = about.cards === "Dice" ? "dice" : about.cards.slice(0, -1).toLowerCase();
  const parts = [h("h2", {}, who(grid.player) + "'s policy by its " + about.cards.toLowerCase()), legend(grid.actions)];
  if (grid.ranks) {
    const choice = h("select", { "aria-label": "Move", onchange: () => { gridMove = Number(choice.value); drawGrid(grid); } },
      columns.map((name, i) => h("option", { value: i, selected: i === gridMove }, name)));
    const ranks = grid.ranks.labels;
    parts.push(h("div", { class: "row" }, h("label", {}, gridMove ? "Percent of " : "Show ", choice)));
    parts.push(h("div", { class: "scroll" }, h("table", { class: "ranks" }, h("tbody", {}, grid.ranks.cells.map((line, i) => h("tr", {},
      line.map((cell, j) => {
        const at = cell && gridMove ? cell[gridMove - 1] : null;
        const box = h("td", { class: "cell" }, h("span", { class: "soft" }, cellAt(ranks, i, j)),
          h("span", {}, !cell ? "\u2013" : !gridMove ? "" : known(at) ? (100 * at).toFixed(0) : "\u2013"));
        if (!cell) return box;
        return !gridMove ? stripes(box, grid.actions, cell) : known(at) ? shade(box, at, "") : box;
      })))))));
    parts.push(h("p", { class: "soft" }, "Suited hands (s) are above the diagonal of pairs, others (o) below it. Each cell is the mean over suits."));
  } else {
    parts.push(table([word[0].toUpperCase() + word.slice(1), "All actions", ...grid.actions.map((name) => headNum(name))], grid.rows.map((row) => [
      h("th", { scope: "row", class: isRare(row.visits) ? "rare" : "" }, row.label),
      row.probabilities ? stripes(h("td", { class: "cell all" }), grid.actions, row.probabilities) : h("td", { class: "cell" }),
      ...grid.actions.map((_, i) => num(row.probabilities ? value(row.probabilities[i]) : "", isRare(row.visits) ? "rare" : ""))])));
  }
  if (grid.rows.some((row) => isRare(row.visits))) {
    parts.push(rareNote(grid.rows.every((row) => isRare(row.visits)) ? "All of these hands were" : "Hands in italics were"));
  }
  fill("panel", parts);
}

// The curve.

async function drawCurve(still) {
  const rows = await ask("rows");
  if (!still()) return;
  const columns = rows.columns;
  const x = columns.iteration || columns.nodes_touched;
  const names = Object.keys(columns).filter((name) => !["iteration", "nodes_touched", "seconds", "due"].includes(name));
  const metric = names.includes("nash_conv") ? "nash_conv" : names[0];
  const parts = [];
  const words = { nash_conv: "NashConv", exploitability: "Exploitability" }[metric] || metric;
  if (x && metric) parts.push(h("h2", {}, words + (columns.iteration ? " by iterations" : " by nodes touched")), curve(x, columns[metric], words));
  else parts.push(h("p", { class: "soft" }, "No metric was recorded. The curve needs a run's results.csv or solver.run(..., metrics=...)."));
  if (rows.running) parts.push(h("p", { role: "status" }, "The run is active; new rows appear here."));
  const course = h("div", { id: "course" });
  const steps = stepsOfRun();
  if (steps.length > 1) parts.push(slider(steps));
  parts.push(course);
  if (x && metric) {
    const last = x.length - 1;
    parts.push(facts([["Rows", String(x.length)], ["Newest iteration", known(x[last]) ? x[last].toLocaleString("en") : ""],
      [words, small(columns[metric][last]), "newest"]]));
  }
  fill("panel", parts);
  guarded(drawCourse);
  if (!isFile && about.rows) setTimeout(() => guarded(async () => {
    if (!still()) return;
    if (rows.policies !== about.policies.length) { await refreshAbout(); listPolicies(); }
    if (still() && document.activeElement?.id !== "slider") drawPanel();
  }), 2000);
}

// The saved policies of a run, by iteration.

function stepsOfRun() {
  const all = about.policies.map((one, i) => ({ ...one, i })).filter((one) => one.run && known(one.iteration));
  const chosen = about.policies[Number($("policy").value)];
  const run = (chosen && chosen.run) || (all.length ? all[0].run : "");
  return all.filter((one) => one.run === run).sort((a, b) => a.iteration - b.iteration);
}

function slider(steps) {
  const words = (one) => one.iteration.toLocaleString("en") + " iterations";
  const chosen = steps.findIndex((one) => String(one.i) === $("policy").value);
  const at = chosen < 0 ? steps.length - 1 : chosen;
  const label = h("output", { for: "slider" }, words(steps[at]));
  return [h("label", { for: "slider" }, "Show the average policy after "), label,
    h("input", { type: "range", id: "slider", min: 0, max: steps.length - 1, value: at, oninput: (event) => {
      const one = steps[Number(event.target.value)];
      label.textContent = words(one);
      $("policy").value = String(one.i);
      markStep(one.iteration);
      show(true);
    } })];
}

function markStep(iteration) {
  document.querySelectorAll("svg[data-span]").forEach((frame) => {
    frame.querySelectorAll(".mark").forEach((line) => line.remove());
    const [x0, x1] = frame.dataset.span.split(",").map(Number);
    if (!(iteration > 0)) return;
    const x = left(Math.min(Math.max(Math.log10(iteration), x0), x1), x0, x1);
    frame.append(svg("line", { class: "mark", x1: x, x2: x, y1: 15, y2: 200 }));
  });
  document.querySelectorAll("#course tr[data-iteration]").forEach((row) =>
    row.toggleAttribute("aria-current", row.dataset.iteration === String(iteration)));
}

// The policy at the open information set over the course of the run.
let course = { key: "", odds: [] };
let courseTicket = 0;

async function drawCourse() {
  const place = $("course"), steps = stepsOfRun();
  if (!place || !shown) return;
  const mine = ++courseTicket, now = shown;
  if (!now.infoset || steps.length < 2) {
    place.replaceChildren(h("p", { class: "soft" }, steps.length < 2 ?
      "Start a run with --keep_policies=1 to save policies after 10, 100, \u2026 iterations and get a slider here." :
      "Walk to a state where a player is to move to see how the policy there has changed."));
    return;
  }
  const moves = now.state.history.join(",");
  const key = steps[0].run + " " + steps.length + " " + moves;
  if (course.key !== key) {
    const found = { key, odds: [] };
    for (const one of steps) {
      const answer = await ask("odds", { policy: one.i, history: moves, visit: VISIT });
      if (mine !== courseTicket) return;
      found.odds.push(answer.probabilities);
    }
    course = found;
  }
  if (!$("course")) return;
  const names = now.state.moves.map((move) => move.name);
  const shades = names.map((_, i) => "line" + (i % 6));
  const rows = steps.map((one, k) => h("tr", { "data-iteration": String(one.iteration) },
    h("th", { scope: "row" }, one.iteration.toLocaleString("en")),
    (course.odds[k] || names.map(() => null)).map((p) => num(value(p)))));
  $("course").replaceChildren(h("h2", {}, "How the policy here has changed"),
    plot(steps.map((one) => one.iteration), names.map((_, i) => course.odds.map((odds) => odds && odds[i])), shades, names),
    h("div", { class: "scroll" }, h("table", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Iterations"),
      names.map((name, i) => h("th", { class: "n " + shades[i], scope: "col" }, name)))),
    h("tbody", {}, rows))));
  const chosen = about.policies[Number($("policy").value)];
  if (chosen) markStep(chosen.iteration);
}

const left = (v, x0, x1) => 50 + (280 * (v - x0)) / (x1 - x0);
const power = (v) => (Math.abs(v) > 3 ? "1e" + v : String(Number((10 ** v).toPrecision(3))));

function decades(values) {
  const low = Math.floor(Math.min(...values)), high = Math.ceil(Math.max(...values));
  return [low, high > low ? high : low + 1];
}

// A frame with a logarithmic horizontal axis.
function frameOf(x0, x1, title) {
  const frame = svg("svg", { viewBox: "0 0 420 230", role: "img", "aria-label": title, "data-span": x0 + "," + x1 });
  for (let v = x0; v <= x1; v += 1) frame.append(svg("line", { class: "axis", x1: left(v, x0, x1), x2: left(v, x0, x1), y1: 15, y2: 200 }),
    svg("text", { x: left(v, x0, x1), y: 218, "text-anchor": "middle" }, power(v)));
  return frame;
}

function level(frame, y, words) {
  frame.append(svg("line", { class: "axis", x1: 50, x2: 330, y1: y, y2: y }),
    svg("text", { x: 45, y: y + 4, "text-anchor": "end" }, words));
}

// Names at the ends of curves, moved apart so that they do not overlap.
function endNames(frame, ends) {
  let last = -Infinity;
  for (const [y, words, kind] of ends.sort((a, b) => a[0] - b[0])) {
    last = Math.max(y + 4, last + 12);
    const name = svg("text", { x: 336, y: last, class: "end " + kind }, words.length > 13 ? words.slice(0, 12) + "\u2026" : words);
    name.append(svg("title", {}, words));
    frame.append(name);
  }
}

function plot(iterations, lines, shades, names) {
  const logs = iterations.map((one) => Math.log10(Math.max(one, 1)));
  const [x0, x1] = decades(logs);
  const frame = frameOf(x0, x1, "Probabilities of the moves by iterations");
  const top = (p) => 200 - 185 * p, ends = [];
  for (const p of [0, 0.5, 1]) level(frame, top(p), String(p));
  lines.forEach((line, i) => {
    const points = line.map((p, k) => [left(logs[k], x0, x1), p]).filter(([, p]) => known(p));
    frame.append(svg("polyline", { class: "curve " + shades[i], points: points.map(([x, p]) => x + "," + top(p)).join(" ") }));
    if (points.length) ends.push([top(points[points.length - 1][1]), names[i], shades[i]]);
  });
  endNames(frame, ends);
  return frame;
}

function curve(x, y, words) {
  const points = x.map((one, i) => [one, y[i]]).filter(([a, b]) => known(a) && known(b) && a > 0 && b > 0);
  if (!points.length) return frameOf(0, 1, "No points yet");
  const logs = points.map(([a, b]) => [Math.log10(a), Math.log10(b)]);
  const [x0, x1] = decades(logs.map((point) => point[0])), [y0, y1] = decades(logs.map((point) => point[1]));
  const frame = frameOf(x0, x1, "Convergence, both axes logarithmic");
  const top = (v) => 200 - (185 * (v - y0)) / (y1 - y0);
  for (let v = y0; v <= y1; v += 1) level(frame, top(v), power(v));
  frame.append(svg("polyline", { class: "curve", points: logs.map(([a, b]) => left(a, x0, x1) + "," + top(b)).join(" ") }));
  const [a, b] = logs[logs.length - 1];
  frame.append(svg("circle", { class: "dot", cx: left(a, x0, x1), cy: top(b), r: 4 }));
  endNames(frame, [[top(b), words, "line0"]]);
  return frame;
}

// Changing.

async function drawChange(still) {
  if (isFile) { fill("panel", h("p", { class: "soft", id: "needs-server" }, NEEDS_SERVER)); return; }
  change = await ask("visit", { visit: VISIT });
  if (still()) drawChangePanel(still);
}

function afterChange(answer, still) {
  change = answer;
  listPolicies();
  if (!answer.solving) $("policy").value = answer.changes.length ? MINE : "0";
  drawChangePanel(still);
  show(true);
}

const numberShown = () => (shown && shown.infoset ? shown.infoset.number : null);
let changeAt = null;       // the information set in the panel

async function drawChangePanel(still) {
  const infoset = shown && shown.infoset, number = numberShown();
  changeAt = number;
  const isFixed = number !== null && change.fixed.includes(number);
  const post = (name, body) => guarded(async () => afterChange(await ask(name, null, { visit: VISIT, policy: basePolicy(), ...body }), still));
  const parts = [h("h2", {}, "Fix the policy here")];
  if (number === null) {
    parts.push(h("p", { class: "soft" }, (infoset && about.why) || "Walk to a state where a player is to move."));
  } else {
    const inputs = shown.state.moves.map((move, i) => h("input", { type: "number", min: 0, step: "any", class: "fix",
      value: infoset.probabilities[i].toFixed(4), "aria-label": "Probability of " + move.name }));
    parts.push(table(["Move", "Probability"], shown.state.moves.map((move, i) => [move.name, inputs[i]])));
    const all = h("input", { type: "checkbox", id: "all-hands", checked: allHands, onchange: () => { allHands = all.checked; } });
    const what = () => ({ number, all_hands: all.checked });
    if (about.tree === "hands") parts.push(h("p", {}, h("label", {}, all, " whatever hand " + named(infoset.player, "player ") + " has")));
    parts.push(h("div", { class: "row" },
      h("button", { type: "button", id: "fix", disabled: change.solving,
        onclick: () => post("fix", { ...what(), row: inputs.map((input) => Number(input.value)) }) }, isFixed ? "Change" : "Fix"),
      h("button", { type: "button", id: "free", disabled: !isFixed || change.solving, onclick: () => post("fix", { ...what(), row: null }) }, "Free"),
      h("span", { class: "soft" }, isFixed ? "This information set is fixed." : "")));
  }
  const iterations = h("input", { type: "number", id: "iterations", min: 1, max: 100000, value: 500, "aria-label": "Iterations" });
  parts.push(h("h2", {}, "Solve the rest of the game"));
  parts.push(h("div", { class: "row" }, iterations, h("span", { class: "soft" }, "iterations of CFR+"),
    h("button", { type: "button", id: "solve", class: "main", disabled: change.solving,
      onclick: () => post("solve", { iterations: Number(iterations.value) }) }, "Solve"),
    h("button", { type: "button", id: "stop", disabled: !change.solving, onclick: () => post("stop_solving", {}) }, "Stop"),
    h("button", { type: "button", id: "undo", disabled: !change.changes.length || change.solving, onclick: () => post("undo", {}) }, "Undo")));
  if (change.error) parts.push(h("p", { class: "down" }, change.error));
  if (change.solving) parts.push(h("p", { role: "status", id: "solving" }, progress()));
  if (change.changes.length) parts.push(h("ol", { class: "log", id: "changes" }, change.changes.map((words) => h("li", {}, oneLine(words)))));
  const effect = h("div", { id: "effect", "aria-live": "polite" });
  parts.push(effect);
  fill("panel", parts);
  if (change.solving) {
    watchSolve(still);
  } else if (change.changes.length) {
    await guarded(async () => {
      const before = await askUntilDone("overview", { policy: basePolicy(), visit: VISIT }, still);
      const after = await askUntilDone("overview", { policy: MINE, visit: VISIT }, still);
      if (!before || !after) return;
      const rows = before.returns.flatMap((_, p) => [
        [who(p), num(value(before.returns[p])), num(value(after.returns[p]))],
        [h("span", { class: "soft" }, "best response"), num(value(before.best_returns[p])), num(value(after.best_returns[p]))],
        [h("span", { class: "soft" }, "best response within the fixed moves"), "", num(value(change.restricted[p]))]]);
      effect.replaceChildren(table(["Return", headNum("Before"), headNum("After")], rows, "Effect of the change"),
        facts([["NashConv before", value(before.nash_conv)], ["NashConv after", value(after.nash_conv), "nash-conv-after"]]));
    });
  }
}

const progress = () => "Solving: " + change.done + " of " + change.wanted + " iterations\u2026";

// While a solve runs, only its progress is redrawn: a button replaced under the mouse loses the click.
let watchTicket = 0;
async function watchSolve(still) {
  const mine = ++watchTicket;
  await guarded(async () => {
    while (change.solving) {
      await new Promise((done) => setTimeout(done, 300));
      const answer = await ask("visit", { visit: VISIT });
      if (!still() || mine !== watchTicket) return;
      if (!answer.solving) { afterChange(answer, still); return; }
      change = answer;
      $("solving").textContent = progress();
    }
  });
}

let allHands = false;

let base = "0";
function basePolicy() {
  if ($("policy").value !== MINE) base = $("policy").value;
  return base;
}

// Playing.

let seat = 0;
let total = 0;
let hands = 0;

let played = null;         // the newest state of the running game

function drawPlay(still) {
  const choice = h("select", { id: "seat", "aria-label": "Your seat", onchange: () => { seat = Number(choice.value); } },
    Array.from({ length: about.players }, (_, p) => h("option", { value: p, selected: p === seat }, who(p))));
  fill("panel", h("div", { class: "row" }, h("label", { for: "seat" }, "Your seat"), choice,
    h("button", { type: "button", id: "deal", class: "main", onclick: () => playStep("deal", { seat }, still) }, "Deal")),
    h("p", { class: "soft" }, "You play against the policy and see only your seat's information."),
    h("p", { class: "soft", id: "score" }, score()));
  if (played) drawHand(played, still);
  else fill("hand", h("p", { class: "soft" }, "Choose your seat and deal."));
}

const score = () => (hands ? "You got " + signed(total, (x) => String(Number(x.toFixed(6)))) + " in " + hands + (hands === 1 ? " game." : " games.") : "");

function playStep(name, body, still) {
  return guarded(async () => {
    played = await ask(name, null, { ...policyParts(), ...body });
    if (played.over) { hands += 1; total += played.returns[played.seat]; }
    if (still()) drawHand(played, still);
  });
}

function drawHand(hand, still) {
  const place = $("hand");
  const step = (player, name) => h("li", {}, who(player) + (player === hand.seat ? " (you)" : "") + ": " +
    (name === null ? "a move that you do not see" : name));
  const log = hand.log.map((one) => step(one.player, one.name));
  const parts = [h("h2", {}, "The game as you see it"), h("ol", { class: "log" }, log)];
  if (!hand.over) {
    parts.push(h("h2", {}, "You know"), h("p", { id: "knows" }, hand.knows || "(nothing yet)"),
      h("div", { class: "row", id: "hand-moves" }, hand.moves.map((move) => h("button", { type: "button", class: "play",
        onclick: () => playStep("move", { action: move.action }, still) }, move.name))));
    place.replaceChildren(...parts);
    place.querySelector("button.play")?.focus();
    return;
  }
  const mine = hand.returns[hand.seat];
  const after = h("div", {}, waitingLine());
  parts.push(h("h2", { id: "result" }, "End of the game: you got " + signed(mine, (x) => String(Number(x.toFixed(6))))),
    h("details", {}, h("summary", {}, "The state as the game prints it"), h("pre", {}, hand.text)), h("button", { type: "button", onclick: () => { openTab("find"); go(hand.history); } }, "Show this history"), after);
  place.replaceChildren(...parts);
  $("score").textContent = score();
  // After the end all moves are public.
  guarded(async () => {
    const { state } = await ask("state", { history: hand.history.join(","), ...policyParts(), other: "" });
    if (still()) place.querySelector(".log").replaceChildren(...state.path.map(([player, name]) => step(player, name)));
  });
  guarded(async () => {
    const tables = await reviewOf(hand, still);
    if (tables) after.replaceChildren(h("div", { id: "review" }, tables));
  });
}

// The values of the user's moves; for the last one, also for each possible hand.
async function reviewOf(hand, still) {
  const parts = { ...policyParts(), other: "" };
  const whole = about.tree === "hands" ? { none: about.why } : await askUntilDone("overview", parts, still);
  if (!whole) return null;
  if (whole.none) return h("p", { class: "soft" }, whole.none);
  const tables = [];
  let last = null;
  for (const [k, one] of hand.log.entries()) {
    if (one.player !== hand.seat) continue;
    const { state, infoset } = await ask("state", { history: hand.history.slice(0, k).join(","), ...parts });
    const chosen = state.moves.findIndex((move) => move.action === hand.history[k]);
    last = { number: infoset.number, chosen };
    tables.push(table(["Move", "Policy", headNum("Value")], state.moves.map((move, i) => [
      i === chosen ? h("strong", {}, move.name + " (yours)") : move.name, bar(infoset.probabilities[i]), num(value(infoset.values[i]))]),
      "You knew: " + oneLine(infoset.words)));
  }
  if (!last) return tables;
  const belief = await askUntilDone("belief", { ...last, ...parts }, still);
  if (!belief) return null;
  tables.push(table(["Possible history", "Belief", headNum("Value of your move")],
    belief.rows.map((row) => [row.names.map(shortName).join(", ") || "Start", bar(row.belief), num(value(row.value), tone(row.value))]),
    "Your last move, for each history that you could not rule out"));
  return tables;
}

// --- choices, keys, beginning --------------------------------------------------------------

function listPolicies() {
  const options = about.policies.map((one, i) => [String(i), one.label]);
  if (change.changes.length) options.push([MINE, "changed on this page"]);
  for (const id of ["policy", "other"]) {
    const before = $(id).value;
    const all = id === "other" ? [["", "nothing"], ...options] : options;
    $(id).replaceChildren(...all.map(([key, words]) => h("option", { value: key }, words)));
    if (all.some(([key]) => key === before)) $(id).value = before;
  }
}

async function refreshAbout() {
  about = await ask("about");
  const [first, ...more] = about.why.split(/(?<=\.) /);
  fill("note", more.length ? h("details", {}, h("summary", {}, first), more.join(" ")) : first);
  $("note").hidden = !about.why || isSpot();
  if (about.tree === "working") setTimeout(() => guarded(refreshAbout), 500);
}

function setTheme(name) {
  document.documentElement.dataset.theme = name;
  $("theme").textContent = name === "dark" ? "Light" : "Dark";
  $("theme").setAttribute("aria-pressed", String(name === "dark"));
}

function theme() {
  const media = matchMedia("(prefers-color-scheme: dark)");
  let chosen = false;
  setTheme(media.matches ? "dark" : "light");
  media.addEventListener("change", () => { if (!chosen) setTheme(media.matches ? "dark" : "light"); });
  $("theme").addEventListener("click", () => {
    chosen = true;
    setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
  });
}

function digits() {
  $("digits").addEventListener("click", () => {
    allDigits = !allDigits;
    $("digits").setAttribute("aria-pressed", String(allDigits));
    if (shown) draw(shown, true);
    show(true); drawPanel();
  });
}

// Marks elements that scroll because they are wider than the screen.
function scrolls() {
  const mark = () => document.querySelectorAll(".scroll").forEach((box) => {
    const inside = box.firstElementChild;
    box.toggleAttribute("data-wide", Boolean(inside) && inside.scrollWidth > box.clientWidth + 1);
  });
  new MutationObserver(() => requestAnimationFrame(mark)).observe(document.querySelector("main"), { childList: true, subtree: true });
  window.addEventListener("resize", mark);
}

function keys(event) {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const moves = Array.from($("moves").querySelectorAll("button.move"));
  const at = moves.indexOf(document.activeElement);
  if (tab === "play") return;
  if (event.key === "/") {
    event.preventDefault();
    openTab("find");
    $("search").focus();
  } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    if (!moves.length || (event.target.tagName === "PRE")) return;
    event.preventDefault();
    const step = event.key === "ArrowDown" ? 1 : -1;
    moves[at < 0 ? 0 : (at + step + moves.length) % moves.length].focus();
  } else if (event.key === "ArrowRight" && at >= 0) {
    event.preventDefault();
    document.activeElement.click();
  } else if (event.key === "ArrowLeft" && history.length > about.start.length) {
    event.preventDefault();
    go(history.slice(0, -1));
  }
}

async function begin() {
  theme(); digits(); scrolls();
  document.addEventListener("keydown", keys);
  await guarded(async () => {
    await refreshAbout();
    $("title").textContent = about.title;
    document.title = about.title + " \u2013 mccfr_spiel";
    listPolicies();
    $("policy").value = "0";
    $("policy").addEventListener("change", () => { basePolicy(); show(true); drawPanel(); });
    $("other").addEventListener("change", () => { show(true); drawPanel(); });
    window.addEventListener("hashchange", fromHash);
    if (isSpot()) {
      document.body.classList.add("spot");
      tab = "cards";
      if (!location.hash) location.replace("#" + about.start.join(","));
    }
    drawTabs(); drawPanel();
    await fromHash();
    document.documentElement.dataset.ready = "1";
  });
}

begin();
