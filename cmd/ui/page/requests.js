/** Requests to Azure as they go. */

import { el, clock, whenReleased } from "./dom.js";

const MOST = 200;
const GUIDS = /([0-9a-f]{8})-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/g;

/** Return a table of requests. onSelect: is called with the key of an object, or null for no such column. */
export function requestTable(requests, onSelect) {
  if (!requests.length) return el("p", { class: "hint" }, "No request was seen yet.");
  const titles = ["Time", "Method", "Path", "Status", "ms", ...(onSelect ? ["Object"] : [])];
  return el("div", { class: "scrolling", tabindex: "0", role: "group", "aria-label": "Requests, table" }, el("table", { class: "requests" },
    el("thead", null, el("tr", null, titles.map((title) => el("th", { scope: "col" }, title)))),
    el("tbody", null, requests.map((one) => el("tr", { class: one.status === null || one.status >= 400 ? "bad" : "" },
      el("td", null, el("span", { title: one.time }, clock(one.time))),
      el("td", null, el("span", { class: `method ${one.method}` }, one.method)),
      el("td", { class: "path" }, pathOf(one)),
      el("td", { class: "answer" }, one.status ?? "no answer"),
      el("td", { class: "figure" }, Math.round(one.ms)),
      onSelect ? el("td", null, one.key ? el("button", { type: "button", class: "link", onclick: () => onSelect(one.key) }, one.key.split("/").pop()) : "") : null)))));
}

function pathOf(request) {
  const path = el("code", { title: request.path }, request.path.replace(GUIDS, "$1…"));
  if (!request.body) return path;
  return el("details", null, el("summary", null, path), el("pre", null, JSON.stringify(request.body, null, 2)));
}

/** All requests, the newest first, as the stream brings them. */
export class Requests {
  #element;
  #onSelect;
  #list = [];
  #isPaused = false;
  #pause;
  #table = el("div");
  isShown = false;

  constructor(element, onSelect) {
    this.#element = element;
    this.#onSelect = onSelect;
    this.#pause = el("button", {
      type: "button", "aria-pressed": "false",
      onclick: () => {
        this.#isPaused = !this.#isPaused;
        this.#pause.setAttribute("aria-pressed", String(this.#isPaused));
        this.draw();
      },
    }, "Pause");
    element.append(el("p", { class: "tools" }, this.#pause, el("span", { class: "hint" }, `The last ${MOST}, the newest first. Secrets are hidden.`)), this.#table);
  }

  replace(list) {
    this.#list = list.slice(0, MOST);
    this.draw();
  }

  add(request) {
    this.#list = [request, ...this.#list].slice(0, MOST);
    whenReleased(() => this.draw());
  }

  draw() {
    if (!this.isShown || this.#isPaused) return;
    const isOpen = this.#table.querySelector("details[open]") || this.#table.contains(document.activeElement);
    if (isOpen) return; // somebody reads it: `Pause` or closing it goes on
    this.#table.replaceChildren(requestTable(this.#list, this.#onSelect));
  }
}
