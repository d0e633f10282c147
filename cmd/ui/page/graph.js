/**
 * The objects as cards with lines from owners and dashed lines to references. Only cards
 * in sight are in the page; a strip at the side shows the states of all.
 */

import { el, svg, stateIcon, STATES, perFrame } from "./dom.js";
import { blocksOf, packed, CARD } from "./layout.js";

const BEYOND = 200; // around what is in sight
const BAND = 600; // the graph is indexed by bands of this height
const STRIP = 56;
const SIZES = [0.4, 0.5, 0.65, 0.8, 1, 1.25, 1.5];
const FAR = 0.55; // smaller cards have one line of larger text
const LEAST_FIT = 0.75; // where cards are as small as this, the graph rather scrolls
const DRAWN_LAST = ["warning", "failed"];

export class Graph {
  #scroller;
  #space = el("div", { class: "space", "aria-hidden": "true" });
  #world = el("div", { class: "world" });
  #lines = svg("svg", { class: "lines" });
  #strip = el("canvas", { class: "strip", "aria-hidden": "true", width: STRIP });
  #frame = el("div", { class: "strip-frame", "aria-hidden": "true" });
  #blocks = null;
  #places = { places: new Map(), lines: [], width: 0, height: 0 };
  #bands = [];
  #cards = new Map();
  #shown = null;
  #size = 1;
  #isFitted = true;
  #colours = null;
  #draw = perFrame(() => this.#inSight());
  #paintStripSoon = perFrame(() => this.#paintStrip());

  /** onSelect: is called with the key of a card that is clicked. */
  constructor(scroller, { smaller, larger, fit }, onSelect) {
    this.#scroller = scroller;
    this.#world.append(this.#lines);
    this.#space.append(this.#world);
    scroller.append(this.#space);
    scroller.after(this.#strip, this.#frame);
    scroller.addEventListener("scroll", this.#draw, { passive: true });
    scroller.addEventListener("click", (event) => {
      const card = event.target.closest("[data-key]");
      if (card) onSelect(card.dataset.key);
    });
    scroller.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "+" || event.key === "=") this.#resize(1);
      else if (event.key === "-") this.#resize(-1);
      else if (event.key === "0") this.#fit();
    });
    smaller.addEventListener("click", () => this.#resize(-1));
    larger.addEventListener("click", () => this.#resize(1));
    fit.addEventListener("click", () => this.#fit());
    this.#strip.addEventListener("pointerdown", (event) => this.#drag(event));
    this.#strip.addEventListener("pointermove", (event) => { if (event.buttons) this.#drag(event); });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.recolour());
    new ResizeObserver(perFrame(() => {
      if (!this.#shown) return;
      this.#place();
      this.reveal(this.#shown.selected);
    })).observe(scroller);
  }

  /** Show objects. matched, shown: keys, or null for all. selected: a key or "". */
  show(objects, { matched, shown }, selected) {
    const isSame = this.#shown?.forest === objects.forest && this.#shown.shown === shown;
    this.#shown = { objects, forest: objects.forest, matched, shown, selected };
    if (!isSame) this.#blocks = blocksOf(objects.forest, shown);
    if (isSame) {
      this.#forget();
      this.#draw();
      this.#paintStripSoon();
    } else this.#place();
  }

  /** Bring the card of a key to the middle, if it is out of sight. */
  reveal(key) {
    const place = this.#places.places.get(key);
    if (!place) return;
    const { scrollTop, scrollLeft, clientWidth, clientHeight } = this.#scroller;
    const [x, y] = [place.x * this.#size, place.y * this.#size];
    const isIn = x >= scrollLeft && y >= scrollTop && x + CARD.width * this.#size <= scrollLeft + clientWidth
      && y + CARD.height * this.#size <= scrollTop + clientHeight;
    if (isIn) return;
    this.#scroller.scrollTo({ left: Math.max(0, x - clientWidth / 3), top: Math.max(0, y - clientHeight / 3) });
  }

  /** Draw again in the colours of another theme. */
  recolour() {
    this.#colours = null;
    this.#paintStripSoon();
  }

  #resize(step) {
    const nearest = SIZES.reduce((best, size) => (Math.abs(size - this.#size) < Math.abs(best - this.#size) ? size : best));
    this.#isFitted = false;
    const before = this.#size;
    this.#size = SIZES[Math.max(0, Math.min(SIZES.length - 1, SIZES.indexOf(nearest) + step))];
    const { scrollTop, clientHeight } = this.#scroller;
    this.#place();
    this.#scroller.scrollTop = (scrollTop + clientHeight / 2) * (this.#size / before) - clientHeight / 2;
  }

  #fit() {
    this.#isFitted = true;
    this.#place();
  }

  #place() {
    const width = this.#scroller.clientWidth;
    if (this.#isFitted) this.#size = Math.max(LEAST_FIT, Math.min(1, width / this.#blocks.widest));
    this.#places = packed(this.#blocks, width / this.#size);
    this.#bands = [];
    const band = (number) => (this.#bands[number] ??= { keys: [], lines: [] });
    for (const [key, { y }] of this.#places.places) band(Math.floor(y / BAND)).keys.push(key);
    for (const line of this.#places.lines) {
      for (let at = Math.floor(line.top / BAND); at <= Math.floor(line.bottom / BAND); at += 1) band(at).lines.push(line);
    }
    this.#forget();
    this.#space.style.width = `${this.#places.width * this.#size}px`;
    this.#space.style.height = `${this.#places.height * this.#size}px`;
    this.#world.style.transform = `scale(${this.#size})`;
    this.#world.classList.toggle("far", this.#size < FAR);
    this.#lines.setAttribute("width", this.#places.width);
    this.#lines.setAttribute("height", this.#places.height);
    this.#inSight();
    this.#paintStripSoon();
  }

  #inSight() {
    const { scrollTop, scrollLeft, clientWidth, clientHeight } = this.#scroller;
    const top = scrollTop / this.#size - BEYOND;
    const bottom = (scrollTop + clientHeight) / this.#size + BEYOND;
    const left = scrollLeft / this.#size - BEYOND;
    const right = (scrollLeft + clientWidth) / this.#size + BEYOND;
    const wanted = new Set();
    const lines = new Set();
    for (let at = Math.max(0, Math.floor(top / BAND)); at <= Math.floor(bottom / BAND); at += 1) {
      for (const line of this.#bands[at]?.lines ?? []) lines.add(line);
      for (const key of this.#bands[at]?.keys ?? []) {
        const { x, y } = this.#places.places.get(key);
        if (y + CARD.height > top && y < bottom && x + CARD.width > left && x < right) wanted.add(key);
      }
    }
    for (const [key, card] of this.#cards) if (!wanted.has(key)) { card.remove(); this.#cards.delete(key); }
    for (const key of wanted) if (!this.#cards.has(key)) this.#world.append(this.#card(key));
    this.#lines.replaceChildren(
      ...[...lines].map((line) => svg("path", { class: "owns", d: line.d })),
      ...[...wanted].flatMap((key) => this.#references(key)),
    );
    this.#moveFrame();
  }

  #card(key) {
    const { objects, matched, selected } = this.#shown;
    const row = objects.get(key);
    const { x, y } = this.#places.places.get(key);
    const isRoot = !row.owner || !objects.get(row.owner);
    const classes = ["card", row.state, key === selected && "selected", matched && !matched.has(key) && "beside"];
    const card = el("div", {
      class: classes.filter(Boolean).join(" "), "data-key": key,
      title: [`${row.kind} ${row.namespace}/${row.name}`, row.reason, row.message].filter(Boolean).join("\n"),
    },
    stateIcon(row.state),
    el("span", { class: "name" }, isRoot ? el("span", { class: "space-name" }, `${row.namespace}/`) : null, row.name),
    el("span", { class: "below" }, el("span", { class: "kind" }, row.kind),
      el("span", { class: "state" }, row.state === "ready" ? "" : row.reason || STATES[row.state] || "Unknown")));
    card.style.left = `${x}px`;
    card.style.top = `${y}px`;
    this.#cards.set(key, card);
    return card;
  }

  #references(key) {
    const { objects, selected } = this.#shown;
    const from = this.#places.places.get(key);
    return (objects.get(key).references ?? []).flatMap((target) => {
      const to = this.#places.places.get(target);
      if (!to) return [];
      const isOfSelected = key === selected || target === selected;
      return [svg("path", { class: isOfSelected ? "refers strong" : "refers", d: curve(from, to) })];
    });
  }

  #forget() {
    for (const card of this.#cards.values()) card.remove();
    this.#cards.clear();
  }

  #paintStrip() {
    if (!this.#shown) return;
    const { clientHeight, scrollHeight } = this.#scroller;
    this.#strip.hidden = scrollHeight < clientHeight * 1.5;
    this.#frame.hidden = this.#strip.hidden;
    if (this.#strip.hidden) return;
    const scale = devicePixelRatio;
    const height = clientHeight;
    this.#strip.width = STRIP * scale;
    this.#strip.height = height * scale;
    const paint = this.#strip.getContext("2d");
    paint.scale(scale, scale);
    this.#colours ??= coloursOf(this.#strip);
    const [dx, dy] = [(STRIP - 8) / this.#places.width, height / this.#places.height];
    const [w, h] = [Math.max(3, CARD.width * dx - 1), Math.max(1.5, CARD.height * dy - 1)];
    const byState = Object.fromEntries(Object.keys(STATES).map((state) => [state, []]));
    const { objects, matched } = this.#shown;
    for (const [key, place] of this.#places.places) {
      if (matched && !matched.has(key)) continue;
      (byState[objects.get(key).state] ?? byState.unknown).push(place);
    }
    for (const state of [...Object.keys(STATES).filter((one) => !DRAWN_LAST.includes(one)), ...DRAWN_LAST]) {
      paint.fillStyle = this.#colours[state];
      for (const { x, y } of byState[state]) paint.fillRect(4 + x * dx, y * dy, w, DRAWN_LAST.includes(state) ? Math.max(2, h) : h);
    }
  }

  #moveFrame() {
    const { clientHeight, scrollTop, scrollHeight } = this.#scroller;
    this.#frame.style.height = `${Math.max(8, (clientHeight / scrollHeight) * clientHeight)}px`;
    this.#frame.style.transform = `translateY(${(scrollTop / scrollHeight) * clientHeight}px)`;
  }

  #drag(event) {
    const share = event.offsetY / this.#strip.clientHeight;
    this.#scroller.scrollTop = share * this.#scroller.scrollHeight - this.#scroller.clientHeight / 2;
  }
}

/** Return the colour of each state; a canvas reads no style sheet. */
function coloursOf(canvas) {
  const probe = canvas.appendChild(el("span"));
  const colours = {};
  for (const state of Object.keys(STATES)) {
    probe.className = `probe ${state}`;
    colours[state] = getComputedStyle(probe).color;
  }
  probe.remove();
  return colours;
}

/** Return a curve from the bottom of one card to the top of the other, or round the side of their column. */
function curve(from, to) {
  const middle = CARD.height / 2;
  if (Math.abs(from.x - to.x) < CARD.width) {
    const x = Math.max(from.x, to.x) + CARD.width;
    const out = Math.min(90, 24 + Math.abs(from.y - to.y) / 12);
    return `M${from.x + CARD.width} ${from.y + middle}C${x + out} ${from.y + middle} ${x + out} ${to.y + middle} ${to.x + CARD.width} ${to.y + middle}`;
  }
  const [start, end] = from.x < to.x ? [from.x + CARD.width, to.x] : [from.x, to.x + CARD.width];
  const bend = (end - start) / 2;
  return `M${start} ${from.y + middle + 6}C${start + bend} ${from.y + middle + 6} ${end - bend} ${to.y + middle + 6} ${end} ${to.y + middle + 6}`;
}
