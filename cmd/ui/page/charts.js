/** Queues and budgets as small charts; each says in a text what it shows. */

import { el, svg, counted } from "./dom.js";

const WIDTH = 220;
const HEIGHT = 48;

/** Show charts in an element. charts: {queues, budgets}. */
export function showCharts(element, charts) {
  const queues = [...(charts.queues ?? [])].sort((a, b) => b.depth - a.depth || (a.kind < b.kind ? -1 : 1));
  const busy = queues.filter((queue) => queue.depth || queue.history?.some(Boolean));
  const budgets = charts.budgets ?? [];
  element.replaceChildren(
    el("h3", null, "Queues"),
    busy.length ? el("ul", { class: "charts" }, busy.map(queueChart)) : el("p", { class: "hint" }, "Nothing waits in any queue."),
    queues.length > busy.length && busy.length ? el("p", { class: "hint" }, `${counted(queues.length - busy.length, "other queue")} had nothing waiting.`) : "",
    el("h3", null, "Budgets of requests"),
    budgets.length ? el("ul", { class: "charts" }, budgets.map(budgetChart)) : el("p", { class: "hint" }, "No budget is known yet."),
  );
}

function queueChart({ kind, depth, history = [] }) {
  const values = history.length ? history : [depth];
  const most = Math.max(1, ...values);
  const step = WIDTH / Math.max(1, values.length - 1);
  const points = values.map((value, index) => `${(index * step).toFixed(1)} ${(HEIGHT - 2 - (value / most) * (HEIGHT - 6)).toFixed(1)}`);
  const text = `${kind}: ${depth} waiting now, at most ${Math.max(depth, ...values)} lately`;
  return el("li", { class: "chart" },
    el("p", null, el("strong", null, kind), el("span", { class: "figure" }, depth)),
    svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": text, preserveAspectRatio: "none" },
      svg("path", { class: "area", d: `M0 ${HEIGHT}L${points.join("L")}L${((values.length - 1) * step).toFixed(1)} ${HEIGHT}Z` }),
      svg("path", { class: "stroke", d: `M${points.join("L")}` })),
    el("p", { class: "hint" }, `at most ${Math.max(depth, ...values)} lately`));
}

function budgetChart({ name, used, limit }) {
  const share = limit ? Math.min(1, used / limit) : 0;
  const text = limit ? `${name}: ${used} of ${limit} used` : `${name}: ${used} used, no limit is known`;
  return el("li", { class: `chart ${share > 0.9 ? "failed" : share > 0.7 ? "warning" : "ready"}` },
    el("p", null, el("strong", null, name), el("span", { class: "figure" }, limit ? `${Math.round(share * 100)} %` : "")),
    svg("svg", { class: "budget", viewBox: `0 0 ${WIDTH} 12`, role: "img", "aria-label": text, preserveAspectRatio: "none" },
      svg("rect", { class: "track", width: WIDTH, height: 12, rx: 6 }),
      svg("rect", { class: "fill", width: Math.max(share * WIDTH, share ? 12 : 0), height: 12, rx: 6 })),
    el("p", { class: "hint" }, text.slice(name.length + 2)));
}
