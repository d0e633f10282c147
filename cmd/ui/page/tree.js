/** The objects as a tree of owners, for the keyboard and for screen readers. Only rows in sight are in the page. */

import { el, stateIcon, STATES, perFrame } from "./dom.js";

const ROW = 32;
const BEYOND = 8; // rows above and below what is in sight
const TYPING_MILLISECONDS = 700;

export class Tree {
  #element;
  #space;
  #onSelect;
  #collapsed = new Set();
  #items = [];
  #indexes = new Map();
  #active = null; // the key that the arrows stand on
  #typed = { text: "", at: 0 };
  #shown = {};
  #draw = perFrame(() => this.#rows());

  /** onSelect: is called with a key, and whether the keyboard goes on to the detail. */
  constructor(element, onSelect) {
    this.#element = element;
    this.#onSelect = onSelect;
    this.#space = element.appendChild(el("div", { class: "tree-space", role: "none" }));
    element.addEventListener("scroll", this.#draw, { passive: true });
    element.addEventListener("keydown", (event) => this.#key(event));
    element.addEventListener("click", (event) => this.#click(event));
    new ResizeObserver(this.#draw).observe(element);
  }

  /** Show objects. matched, shown: keys, or null for all. selected: a key or "". */
  show(objects, { matched, shown }, selected) {
    if (selected && selected !== this.#shown.selected) {
      this.#active = selected;
      this.#open(objects, selected);
    }
    this.#shown = { objects, matched, shown, selected };
    this.#list();
    this.#draw();
  }

  /** Put the keyboard on the tree. */
  focus() { this.#element.focus(); }

  /** Bring the row of a key into sight. */
  reveal(key) {
    const index = this.#indexes.get(key);
    if (index === undefined) return;
    const top = index * ROW;
    const { scrollTop, clientHeight } = this.#element;
    if (top < scrollTop) this.#element.scrollTop = top;
    else if (top + ROW > scrollTop + clientHeight) this.#element.scrollTop = top + ROW - clientHeight;
  }

  #open(objects, key) {
    let owner = objects.get(key)?.owner;
    const seen = new Set();
    while (owner && !seen.has(owner)) {
      seen.add(owner);
      this.#collapsed.delete(owner);
      owner = objects.get(owner)?.owner;
    }
  }

  #list() {
    const { objects, shown } = this.#shown;
    const { roots, children } = objects.forest;
    const isIn = (key) => shown === null || shown.has(key);
    this.#items = [];
    const walk = (keys, level, parent) => {
      const siblings = keys.filter(isIn);
      siblings.forEach((key, index) => {
        const below = (children.get(key) ?? []).filter(isIn);
        const isOpen = below.length > 0 && !this.#collapsed.has(key);
        this.#items.push({ key, level, parent, position: index + 1, of: siblings.length, below: below.length, isOpen });
        if (isOpen) walk(below, level + 1, key);
      });
    };
    walk(roots, 1, null);
    this.#indexes = new Map(this.#items.map((item, index) => [item.key, index]));
    if (!this.#indexes.has(this.#active)) this.#active = this.#items[0]?.key ?? null;
    this.#space.style.height = `${this.#items.length * ROW}px`;
  }

  #rows() {
    const { scrollTop, clientHeight } = this.#element;
    const first = Math.max(0, Math.floor(scrollTop / ROW) - BEYOND);
    const last = Math.min(this.#items.length, Math.ceil((scrollTop + clientHeight) / ROW) + BEYOND);
    const wanted = [];
    for (let index = first; index < last; index += 1) wanted.push(index);
    const active = this.#indexes.get(this.#active);
    if (active !== undefined && (active < first || active >= last)) wanted.push(active);
    this.#space.replaceChildren(...wanted.map((index) => this.#row(index)));
    if (active === undefined) this.#element.removeAttribute("aria-activedescendant");
    else this.#element.setAttribute("aria-activedescendant", "tree-active");
  }

  #row(index) {
    const { objects, matched, selected } = this.#shown;
    const item = this.#items[index];
    const row = objects.get(item.key);
    const isActive = item.key === this.#active;
    const classes = ["row", isActive && "active", matched && !matched.has(item.key) && "beside"];
    const made = el("div", {
      class: classes.filter(Boolean).join(" "), role: "treeitem", id: isActive ? "tree-active" : null,
      "aria-level": item.level, "aria-posinset": item.position, "aria-setsize": item.of,
      "aria-selected": String(item.key === selected),
      "aria-expanded": item.below ? String(item.isOpen) : null,
      title: [`${row.namespace}/${row.name}`, row.reason, row.message].filter(Boolean).join("\n"),
    },
    el("span", { class: "twist", "aria-hidden": "true" }, item.below ? (item.isOpen ? "▾" : "▸") : ""),
    stateIcon(row.state),
    el("span", { class: "name" }, row.name),
    el("span", { class: "kind" }, row.kind),
    el("span", { class: "unseen" }, `${STATES[row.state] ?? "Unknown"} in ${row.namespace}`));
    made.style.transform = `translateY(${index * ROW}px)`;
    made.style.paddingInlineStart = `${6 + (item.level - 1) * 18}px`;
    return made;
  }

  #click(event) {
    const box = this.#element.getBoundingClientRect();
    const item = this.#items[Math.floor((event.clientY - box.top + this.#element.scrollTop) / ROW)];
    if (!item) return;
    this.#active = item.key;
    if (event.target.closest(".twist") && item.below) this.#toggle(item);
    else this.#onSelect(item.key, false);
    this.#draw();
  }

  #toggle(item) {
    if (item.isOpen) this.#collapsed.add(item.key);
    else this.#collapsed.delete(item.key);
    this.#list();
    this.#draw();
  }

  #go(index) {
    const item = this.#items[Math.max(0, Math.min(this.#items.length - 1, index))];
    if (!item) return;
    this.#active = item.key;
    this.reveal(item.key);
    this.#draw();
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.#items.length) return;
    const index = this.#indexes.get(this.#active) ?? 0;
    const item = this.#items[index];
    const page = Math.max(1, Math.floor(this.#element.clientHeight / ROW) - 1);
    const steps = {
      ArrowDown: index + 1, ArrowUp: index - 1, Home: 0, End: this.#items.length - 1,
      PageDown: index + page, PageUp: index - page,
    };
    if (event.key in steps) this.#go(steps[event.key]);
    else if (event.key === "ArrowRight" && item.below) item.isOpen ? this.#go(index + 1) : this.#toggle(item);
    else if (event.key === "ArrowLeft" && item.isOpen) this.#toggle(item);
    else if (event.key === "ArrowLeft" && item.parent) this.#go(this.#indexes.get(item.parent));
    else if (event.key === "Enter" || event.key === " ") this.#onSelect(item.key, event.key === "Enter");
    else if (event.key === "*") { this.#collapsed.clear(); this.#list(); this.#draw(); }
    else if (event.key.length === 1 && event.key !== "/") this.#type(event.key, index);
    else return;
    event.preventDefault();
  }

  /** Go to the next object whose name begins with what was typed. */
  #type(character, index) {
    const isNew = Date.now() - this.#typed.at > TYPING_MILLISECONDS;
    this.#typed = { text: (isNew ? "" : this.#typed.text) + character.toLowerCase(), at: Date.now() };
    for (let step = isNew ? 1 : 0; step < this.#items.length; step += 1) {
      const next = (index + step) % this.#items.length;
      if (this.#shown.objects.get(this.#items[next].key).name.startsWith(this.#typed.text)) return this.#go(next);
    }
  }
}
