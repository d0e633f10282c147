/** Elements of the page. Texts become text nodes: no data is ever read as markup. */

const SVG = "http://www.w3.org/2000/svg";

/** The states of objects, the most urgent first, with their titles. */
export const STATES = {
  failed: "Failed", warning: "Warning", waiting: "Waiting", working: "Working",
  deleting: "Deleting", paused: "Paused", unknown: "Unknown", ready: "Ready",
};

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** Make an element of HTML. A function named `onclick` listens to clicks. */
export function el(tag, attributes, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** Make an element of SVG. */
export function svg(tag, attributes, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

export const byId = (id) => document.getElementById(id);

/** Return the shape of a state, in its colour. The text beside it says the same. */
export function stateIcon(state) {
  const known = state in STATES ? state : "unknown";
  return svg("svg", { class: `icon ${known}`, "aria-hidden": "true", viewBox: "0 0 16 16" },
    svg("use", { href: `#state-${known}` }));
}

/** Return a state as shape and text. */
export function stateChip(state) {
  return el("span", { class: `chip ${state}` }, stateIcon(state), STATES[state] ?? "Unknown");
}

/** Return a time as text relative to now; `refreshTimes` keeps it right. */
export function moment(iso) {
  if (!iso) return el("span", { class: "hint" }, "not known");
  return el("time", { datetime: iso, title: new Date(iso).toLocaleString() }, relative(iso));
}

export function refreshTimes() {
  for (const element of document.querySelectorAll("time")) {
    const text = relative(element.dateTime);
    if (element.textContent !== text) element.textContent = text;
  }
}

/** Return a time of today as the clock shows it, with tenths of seconds. */
export function clock(iso) {
  const at = new Date(iso);
  const two = (number) => String(number).padStart(2, "0");
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}.${Math.floor(at.getMilliseconds() / 100)}`;
}

function relative(iso) {
  const seconds = Math.round((Date.now() - new Date(iso)) / 1000);
  const size = Math.abs(seconds);
  const [count, unit] = size < 90 ? [size, "s"] : size < 5400 ? [Math.round(size / 60), "min"]
    : size < 172800 ? [Math.round(size / 3600), "h"] : [Math.round(size / 86400), "d"];
  return seconds < 0 ? `in ${count} ${unit}` : `${count} ${unit} ago`;
}

/** Return `1 object`, `2 objects`. */
export const counted = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;

/** Call a function once in the next frame, however often it is asked for. */
export function perFrame(action) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => { asked = false; action(); });
  };
}

const LONGEST_PRESS_MILLISECONDS = 1000;
let pressedAt = 0;
addEventListener("pointerdown", () => { pressedAt = Date.now(); }, true);
for (const end of ["pointerup", "pointercancel"]) addEventListener(end, () => { pressedAt = 0; }, true);

/** Draw something anew, but not between press and release of a button: the click would be lost with the old element. */
export function whenReleased(action) {
  if (!pressedAt || Date.now() - pressedAt > LONGEST_PRESS_MILLISECONDS) action();
  else setTimeout(() => whenReleased(action), 30);
}
