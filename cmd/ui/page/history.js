/** Conditions now, and what they were before. */

import { el, svg, moment } from "./dom.js";

const WIDTH = 400;
const COLOURS = { True: "ready", False: "failed", Unknown: "unknown" };

/** Return the conditions of an object, and a list of what they were, the newest first. */
export function historyOf(conditions, history) {
  const ordered = [...history].sort((a, b) => (a.time < b.time ? 1 : -1));
  return [
    ...conditions.map((one) => el("div", { class: "condition" },
      el("p", null, el("strong", null, one.type), " ", el("span", { class: "status" }, one.status),
        one.reason ? ` · ${one.reason}` : "", one.severity ? ` · ${one.severity}` : "", " · ", moment(one.since)),
      one.message ? el("p", { class: "message" }, one.message) : null,
      band(one.type, history))),
    el("h3", null, "Before"),
    ordered.length ? el("ol", { class: "happened" }, ordered.map((one) => el("li", null,
      el("p", null, el("strong", null, one.type), " ", el("span", { class: "status" }, one.status),
        one.reason ? ` · ${one.reason}` : "", " · ", moment(one.time)),
      one.message ? el("p", { class: "message" }, one.message) : null)))
      : el("p", { class: "hint" }, "Nothing was seen since the page's server started."),
  ];
}

/** Return a band of what a condition was, from the first time seen until now. */
function band(type, history) {
  const own = history.filter((one) => one.type === type).sort((a, b) => (a.time < b.time ? -1 : 1));
  if (own.length < 2) return null;
  const first = new Date(own[0].time);
  const span = Math.max(1, Date.now() - first);
  const at = (time) => ((new Date(time) - first) / span) * WIDTH;
  const text = `${type} over time: ${own.map((one) => `${one.status}${one.reason ? ` (${one.reason})` : ""}`).join(", then ")}`;
  return svg("svg", { class: "band", viewBox: `0 0 ${WIDTH} 10`, preserveAspectRatio: "none", role: "img", "aria-label": text },
    own.map((one, index) => {
      const x = at(one.time);
      const end = index + 1 < own.length ? at(own[index + 1].time) : WIDTH;
      return svg("rect", { class: COLOURS[one.status] ?? "unknown", x, y: one.status === "True" ? 0 : 4, width: Math.max(1, end - x), height: one.status === "True" ? 10 : 6 },
        svg("title", null, `${one.status} ${one.reason ?? ""}`));
    }));
}
