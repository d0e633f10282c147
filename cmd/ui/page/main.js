/** The page: what it shows follows its address and the server's events. */

import { get } from "./api.js";
import { showCharts } from "./charts.js";
import { confirmDeletion } from "./deletion.js";
import { Detail } from "./detail.js";
import { byId, counted, el, perFrame, refreshTimes, stateIcon, STATES, whenReleased } from "./dom.js";
import { editor } from "./editor.js";
import { showFaults } from "./faults.js";
import { Graph } from "./graph.js";
import { News } from "./news.js";
import { Objects } from "./objects.js";
import * as place from "./place.js";
import { Requests } from "./requests.js";
import { follow } from "./stream.js";
import { themeButton } from "./theme.js";
import { Tree } from "./tree.js";

const RETRY_MILLISECONDS = 5000;
const CLOCK_MILLISECONDS = 5000;

let now = place.read();
let about = { mode: "", missing: [], faults: [] };
const objects = new Objects();
const news = new News(byId("news"), byId("problem"));
const say = (sentence, isProblem) => (isProblem ? news.problem("action", sentence) : news.say(sentence));

const tree = new Tree(byId("tree"), select);
const graph = new Graph(byId("graph"), { smaller: byId("smaller"), larger: byId("larger"), fit: byId("fit") }, (key) => select(key, false));
const detail = new Detail(byId("detail"), {
  close: () => { go({ key: "", tab: "" }, true); tree.focus(); },
  select: (key) => select(key, true),
  tab: (tab) => go({ tab: tab === "summary" ? "" : tab }, false),
  ownerOf: (row, distance) => objects.ownerOf(row, distance),
  referenceOf: (row, title) => objects.referenceOf(row, title),
});
const requests = new Requests(byId("requests"), (key) => { go({ view: "objects", key, tab: "requests" }, true); detail.focus(); });

/** Show another place. isStep: whether `back` returns from it. */
function go(change, isStep) {
  now = { ...now, ...change };
  place.write(now, isStep);
  show();
}

function select(key, isToDetail) {
  go({ view: "objects", key }, true);
  if (isToDetail) detail.focus();
}

function show() {
  const view = byId("views").querySelector(`[data-view="${CSS.escape(now.view)}"]:not([hidden])`) ? now.view : "objects";
  for (const link of byId("views").children) {
    const isHere = link.dataset.view === view;
    link.toggleAttribute("aria-current", isHere);
    if (isHere) link.setAttribute("aria-current", "page");
    link.href = place.address({ ...now, view: link.dataset.view });
  }
  for (const section of document.querySelectorAll("main > section")) section.hidden = section.dataset.view !== view;
  requests.isShown = view === "requests";
  requests.draw();
  byId("workspace").classList.toggle("with-detail", Boolean(now.key));
  detail.show(now.key, now.tab);
  showFilters();
  refresh(true);
}

let isLoaded = false;
let lastKey = null;
const refresh = (isMoved) => {
  const filter = objects.filtered({ ...now });
  tree.show(objects, filter, now.key);
  graph.show(objects, filter, now.key);
  const all = counted(objects.size, "object");
  byId("count").textContent = filter.matched ? `${filter.matched.size.toLocaleString("en")} of ${all}` : all;
  byId("empty").hidden = (filter.matched?.size ?? objects.size) > 0;
  byId("empty").textContent = !isLoaded ? "Reading the objects…" : objects.size ? "No object is as the filter says." : "There are no objects yet.";
  if (isMoved && now.key !== lastKey && objects.get(now.key)) {
    lastKey = now.key;
    tree.reveal(now.key);
    graph.reveal(now.key);
  }
  showStates();
  const failed = [...objects.values()].filter((row) => row.state === "failed").length;
  document.title = failed ? `${failed} failed · asoreconcile` : "asoreconcile";
};
const refreshSoon = perFrame(() => whenReleased(() => { refresh(false); showFilters(); }));

/* Filters */

function showStates() {
  const counts = {};
  for (const row of objects.values()) counts[row.state] = (counts[row.state] ?? 0) + 1;
  const wanted = Object.keys(STATES).filter((state) => counts[state] || now.state.includes(state));
  const signature = JSON.stringify([wanted, counts, now.state]);
  if (byId("states").dataset.signature === signature) return;
  byId("states").dataset.signature = signature;
  const focused = document.activeElement?.dataset.state;
  byId("states").replaceChildren(...wanted.map((state) => el("button", {
    type: "button", class: `filter ${state}`, "data-state": state, "aria-pressed": String(now.state.includes(state)),
    onclick: () => go({ state: now.state.includes(state) ? now.state.filter((one) => one !== state) : [...now.state, state] }, false),
  }, stateIcon(state), `${STATES[state]} `, el("span", { class: "number" }, (counts[state] ?? 0).toLocaleString("en")))));
  if (focused) byId("states").querySelector(`[data-state="${focused}"]`)?.focus();
}

function showFilters() {
  if (byId("search").value !== now.q) byId("search").value = now.q;
  fill(byId("kinds"), "All kinds", (row) => row.kind, now.kind);
  fill(byId("namespaces"), "All namespaces", (row) => row.namespace, now.ns);
  byId("clear").hidden = !(now.q || now.kind || now.ns || now.state.length);
}

function fill(list, all, of, chosen) {
  const values = new Set(chosen ? [chosen] : []);
  for (const row of objects.values()) values.add(of(row));
  const wanted = ["", ...[...values].sort()];
  if (list.dataset.signature !== wanted.join("\n")) {
    list.dataset.signature = wanted.join("\n");
    list.replaceChildren(...wanted.map((value) => el("option", { value }, value || all)));
  }
  list.value = chosen;
}

byId("search").addEventListener("input", (event) => go({ q: event.target.value }, false));
byId("kinds").addEventListener("change", (event) => go({ kind: event.target.value }, false));
byId("namespaces").addEventListener("change", (event) => go({ ns: event.target.value }, false));
byId("filters").addEventListener("submit", (event) => event.preventDefault());
byId("filters").addEventListener("reset", (event) => {
  event.preventDefault();
  go({ q: "", kind: "", ns: "", state: [] }, false);
  byId("search").focus();
});

/* The keyboard, the address, the theme */

document.addEventListener("keydown", (event) => {
  const isTyping = event.target.matches("input, textarea, select");
  if (event.key === "/" && !isTyping && !event.ctrlKey) { event.preventDefault(); go({ view: "objects" }, false); byId("search").focus(); }
  else if (event.key === "Escape" && !isTyping && now.key && !byId("confirm").open) { go({ key: "", tab: "" }, true); tree.focus(); }
});
byId("views").addEventListener("click", (event) => {
  const link = event.target.closest("a");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  go({ view: link.dataset.view }, true);
});
document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); byId("main").focus(); });
addEventListener("popstate", () => { now = place.read(); show(); });
themeButton(byId("theme"), () => graph.recolour());
setInterval(refreshTimes, CLOCK_MILLISECONDS);

/* What the server says */

async function load(what, path, take) {
  try {
    take(await get(path));
    news.solved(what);
  } catch (error) {
    news.problem(what, `${error.message} The page tries again in ${RETRY_MILLISECONDS / 1000} s.`);
    setTimeout(() => load(what, path, take), RETRY_MILLISECONDS);
  }
}

const loadObjects = () => load("objects", "api/objects", (answer) => {
  objects.replace(answer.objects);
  isLoaded = true;
  show();
  detail.refresh();
});

function showAbout(answer) {
  about = answer;
  const isSandbox = about.mode === "sandbox";
  byId("mode").textContent = isSandbox ? "sandbox" : "cluster";
  byId("mode").title = about.writable ? "" : "This page only reads.";
  byId("place").textContent = [about.server, about.user && `as ${about.user}`, about.namespace && `namespace ${about.namespace}`].filter(Boolean).join(" · ");
  byId("views").querySelector("[data-view=sandbox]").hidden = !isSandbox;
  const missing = about.missing ?? [];
  byId("missing").hidden = !missing.length;
  byId("missing").querySelector("summary").textContent = `${counted(missing.length, "thing")} this page cannot show here`;
  byId("missing").querySelector("ul").replaceChildren(...missing.map((sentence) => el("li", null, sentence)));
  showFaults(byId("faults"), about.faults ?? [], say);
  detail.actions = about.writable ? [{
    title: "Delete…",
    run: (row) => confirmDeletion(byId("confirm"), row, (objects.forest.children.get(row.key) ?? []).length, say),
  }] : [];
  show();
}

function loadAll() {
  load("about", "api/about", showAbout);
  loadObjects();
  load("requests", "api/requests", (answer) => requests.replace(answer.requests ?? answer));
  load("charts", "api/charts", (answer) => showCharts(byId("charts"), answer));
}

let wasLost = false;
follow({
  objects: (change) => {
    const changed = objects.change(change);
    news.changes(changed, change.gone ?? [], now.key);
    if ((change.changed ?? []).some((row) => row.key === now.key) || change.gone?.includes(now.key)) detail.refresh();
    refreshSoon();
  },
  request: (request) => { requests.add(request); detail.addRequest(request); },
  charts: (charts) => showCharts(byId("charts"), charts),
  faults: (faults) => whenReleased(() => showFaults(byId("faults"), faults, say)),
  reload: loadAll,
}, (state, seconds) => {
  byId("link").className = `link ${state}`;
  byId("link").textContent = state === "live" ? "Live"
    : `Connection lost: what is shown may be old. ${seconds ? `Next try in ${seconds} s.` : "The page tries again."}`;
  if (state === "live" && wasLost) loadAll();
  wasLost = state !== "live";
});

editor(byId("editor"), (key) => select(key, true), say);
loadAll();
show();
