/** One object: why it is as it is, and what happened to it. */

import { get } from "./api.js";
import { el, moment, stateChip, counted, whenReleased } from "./dom.js";
import { differenceTable } from "./difference.js";
import { historyOf } from "./history.js";
import { requestTable } from "./requests.js";

const TABS = {
  summary: "Summary", history: "Conditions", requests: "Requests", difference: "Difference", events: "Events",
};
const MOST_REQUESTS = 100;
const SETTLE_MILLISECONDS = 250;
const RETRY_MILLISECONDS = 5000;
const NONE = "—";

export class Detail {
  #element;
  #on;
  #key = "";
  #tab = "summary";
  #seen = null; // what the server said last
  #asked = 0;
  #timer = null;
  #isAwaited = false; // whether the keyboard goes on here once there is something
  #actions = [];

  /** on: functions `close`, `select` (a key), `tab` (a name), and `ownerOf` and
   * `referenceOf` of `Objects`. */
  constructor(element, on) {
    this.#element = element;
    this.#on = on;
  }

  /** Buttons for each object: [{title, run(row)}]. */
  set actions(actions) { this.#actions = actions; }

  get key() { return this.#key; }

  /** Show the object of a key; "" shows none. */
  show(key, tab) {
    this.#tab = tab in TABS ? tab : "summary";
    if (key === this.#key) { this.#render(); return; }
    this.#key = key;
    this.#seen = null;
    this.#element.hidden = !key;
    this.#element.replaceChildren();
    if (key) this.#load();
  }

  /** Put the keyboard on the object's name, as soon as it is there. */
  focus() {
    const name = this.#element.querySelector("h2");
    this.#isAwaited = !name;
    name?.focus();
  }

  /** Ask again soon, because the object changed. */
  refresh() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#load(), SETTLE_MILLISECONDS);
  }

  /** Show a request that was just made for the object. */
  addRequest(request) {
    if (!this.#seen || request.key !== this.#key) return;
    this.#seen.requests = [request, ...(this.#seen.requests ?? [])].slice(0, MOST_REQUESTS);
    if (this.#tab === "requests") whenReleased(() => this.#render());
  }

  async #load() {
    const key = this.#key;
    if (!key) return;
    this.#asked += 1;
    const number = this.#asked;
    let seen;
    try {
      seen = await get(`api/object?key=${encodeURIComponent(key)}`);
    } catch (error) {
      seen = { ...(this.#seen ?? {}), error: error.message };
      if (error.status === 404) seen = { error: error.message };
      else this.#timer = setTimeout(() => this.#load(), RETRY_MILLISECONDS);
    }
    whenReleased(() => {
      if (number !== this.#asked || key !== this.#key) return;
      this.#seen = seen;
      this.#render();
    });
  }

  #render() {
    if (!this.#key || !this.#seen) return;
    const focused = this.#element.contains(document.activeElement) ? document.activeElement : null;
    const mark = focused?.id || focused?.dataset.mark;
    const scroll = this.#element.querySelector(".panel")?.scrollTop ?? 0;
    const isSameTab = this.#element.querySelector("[aria-selected=true]")?.id === `tab-${this.#tab}`;
    const { row } = this.#seen;
    this.#element.replaceChildren(...(row ? [this.#head(row), this.#tabs(), this.#panel()] : [this.#nothing()]));
    if (row && isSameTab) this.#element.querySelector(".panel").scrollTop = scroll;
    if (focused) {
      const again = mark && [...this.#element.querySelectorAll("[id], [data-mark]")]
        .find((one) => one.id === mark || one.dataset.mark === mark);
      (again || this.#element.querySelector("h2"))?.focus({ preventScroll: true });
    }
    if (this.#isAwaited) this.focus();
  }

  #nothing() {
    return el("div", { class: "head" }, el("h2", { tabindex: "-1" }, "No such object"),
      el("p", { class: "hint" }, this.#seen.error),
      el("button", { type: "button", onclick: () => this.#on.close() }, "Close"));
  }

  #head(row) {
    const isWide = this.#element.classList.contains("wide");
    return el("div", { class: "head" },
      el("div", { class: "title" },
        el("h2", { tabindex: "-1", id: "detail-name" }, row.name), stateChip(row.state),
        el("span", { class: "buttons" },
          ...this.#actions.map(({ title, run }) => el("button", {
            type: "button", class: "quiet", "data-mark": title, onclick: () => run(row),
          }, title)),
          el("button", {
            type: "button", class: "quiet wider", "data-mark": "wide", "aria-pressed": String(isWide),
            onclick: () => { this.#element.classList.toggle("wide"); this.#render(); },
          }, "Wide"),
          el("button", { type: "button", class: "quiet", "data-mark": "close", "aria-label": "Close", onclick: () => this.#on.close() }, "✕"))),
      el("p", { class: "hint" }, `${row.kind} in ${row.namespace} · ${row.group}/${row.version}`),
      this.#seen.error ? el("p", { class: "hint" }, this.#seen.error) : null);
  }

  #tabs() {
    const names = Object.keys(TABS);
    const numbers = {
      requests: this.#seen.requests?.length, events: this.#seen.events?.length,
      difference: (this.#seen.difference?.rows ?? []).filter((one) => one.differs).length,
    };
    return el("div", {
      class: "tabs", role: "tablist", "aria-label": "About the object",
      onkeydown: (event) => {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (!step) return;
        event.preventDefault();
        this.#on.tab(names[(names.indexOf(this.#tab) + step + names.length) % names.length]);
        this.#element.querySelector("[aria-selected=true]").focus();
      },
    }, names.map((name) => el("button", {
      type: "button", role: "tab", id: `tab-${name}`, "aria-controls": "detail-panel",
      "aria-selected": String(name === this.#tab), tabindex: name === this.#tab ? "0" : "-1",
      onclick: () => this.#on.tab(name),
    }, TABS[name], numbers[name] ? [" ", el("span", { class: "number" }, numbers[name])] : null)));
  }

  #panel() {
    const content = {
      summary: () => this.#summary(),
      history: () => historyOf(this.#seen.conditions ?? [], this.#seen.history ?? []),
      requests: () => [requestTable(this.#seen.requests ?? [], null)],
      difference: () => differenceTable(this.#seen.difference?.rows ?? [], this.#seen.drift ?? []),
      events: () => [eventList(this.#seen.events ?? [])],
    };
    return el("div", {
      class: "panel", id: "detail-panel", role: "tabpanel", tabindex: "0", "aria-labelledby": `tab-${this.#tab}`,
    }, content[this.#tab]());
  }

  #summary() {
    const { row, explain = {}, lastSync, nextSync, drift = [], missing = [] } = this.#seen;
    const facts = [
      ["Next try", explain.next_try], ["Operation", explain.operation],
      ["Last sync", lastSync && moment(lastSync)], ["Next sync", nextSync && moment(nextSync)],
      ["Azure", row.armId || explain.azure], ["Credential", explain.credential],
      ["Policy", explain.policy], ["Ignored fields", explain.ignored],
    ];
    return [
      row.state === "ready" && !explain.advice ? null : el("div", { class: `why ${row.state}` },
        explain.cause ? el("p", { class: "cause" }, explain.cause) : null,
        row.message ? el("p", { class: "message" }, el("strong", null, row.reason), " ", row.message) : null,
        explain.advice ? el("p", { class: "todo" }, el("strong", null, "To do"), " ", explain.advice) : null),
      el("dl", { class: "facts" }, facts.filter(([, value]) => value).flatMap(([name, value]) => [
        el("dt", null, name), el("dd", null, value),
      ])),
      this.#links("Owners", explain.owners, (link, index) => this.#on.ownerOf(row, index)),
      this.#links("Refers to", explain.inputs, (link) => this.#on.referenceOf(row, link.name)),
      drift.length ? [el("h3", null, "Drift"), el("ul", { class: "plain" }, drift.map((one) => el("li", null, el("code", null, one.path), " ", one.about ?? "")))] : null,
      missing.length ? [el("h3", null, "Not shown here"), el("ul", { class: "plain hint" }, missing.map((one) => el("li", null, one)))] : null,
    ].flat().filter(Boolean);
  }

  #links(title, links, keyOf) {
    if (!links?.length) return null;
    return [el("h3", null, title), el("ul", { class: "links" }, links.map((link, index) => {
      const key = keyOf(link, index);
      return el("li", { class: link.problem ? "bad" : "" },
        el("span", { class: "role" }, link.role),
        key ? el("button", { type: "button", class: "link", "data-mark": key, onclick: () => this.#on.select(key) }, link.name) : el("span", null, link.name),
        el("span", { class: "hint" }, link.state));
    }))];
  }
}

function eventList(events) {
  if (!events.length) return el("p", { class: "hint" }, "There are no events about the object.");
  return el("ol", { class: "happened" }, [...events].sort((a, b) => (a.time < b.time ? 1 : -1)).map((event) => el("li", { class: event.type === "Warning" ? "bad" : "" },
    el("p", null, el("strong", null, event.reason), event.type === "Warning" ? " (warning) " : " ", moment(event.time),
      event.count > 1 ? ` · ${counted(event.count, "time")}` : ""),
    el("p", { class: "message" }, event.message || NONE))));
}
