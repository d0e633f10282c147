/** What is said to those who do not look: changes for screen readers, and problems for all. */

import { counted, el, STATES } from "./dom.js";

const PAUSE_MILLISECONDS = 3000;
const MOST_NAMES = 3;

export class News {
  #quiet;
  #loud;
  #problems = new Map();
  #pending = new Map();
  #timer = null;

  constructor(quiet, loud) {
    this.#quiet = quiet;
    this.#loud = loud;
  }

  say(sentence) { this.#quiet.textContent = sentence; }

  /** Tell of objects in another state: a few by name, many as a count, at most every three seconds. */
  changes(rows, gone, selected) {
    for (const row of rows) this.#pending.set(row.key, `${row.name} is ${STATES[row.state] ?? "Unknown"}`);
    for (const key of gone) this.#pending.set(key, `${key.split("/").pop()} is gone`);
    if (!this.#pending.size || this.#timer) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      const texts = [...this.#pending.values()];
      const own = this.#pending.get(selected);
      this.#pending.clear();
      this.say(texts.length <= MOST_NAMES ? `${texts.join(", ")}.` : `${counted(texts.length, "object")} changed.${own ? ` ${own}.` : ""}`);
    }, PAUSE_MILLISECONDS);
  }

  /** Show a problem until it is solved or closed. what: the problem's name. */
  problem(what, sentence) {
    this.#problems.set(what, sentence);
    this.#draw();
  }

  solved(what) { if (this.#problems.delete(what)) this.#draw(); }

  #draw() {
    const sentences = new Map([...this.#problems].map(([what, sentence]) => [sentence, what]));
    this.#loud.replaceChildren(...[...sentences].map(([sentence, what]) => el("p", null, sentence, " ",
      el("button", { type: "button", class: "quiet", onclick: () => this.solved(what) }, "Close"))));
  }
}
