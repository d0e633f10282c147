/** What the spec wants, what Azure has and what the last PUT sent, side by side. */

import { el } from "./dom.js";

const SIDES = { spec: "Spec", azure: "Azure", lastPut: "Last PUT" };

/** Return the table, and a list of drift. rows: [{path, spec, azure, lastPut, differs}]. */
export function differenceTable(rows, drift) {
  if (!rows.length) return [el("p", { class: "hint" }, "There is nothing to compare yet.")];
  const sides = Object.keys(SIDES).filter((side) => rows.some((row) => side in row));
  const differing = rows.filter((row) => row.differs);
  const drifted = new Map(drift.map((one) => [one.path, one.about]));
  const ordered = [...differing, ...rows.filter((row) => !row.differs)];
  return [
    el("p", { class: "hint" }, differing.length
      ? `${differing.length} of ${rows.length} fields differ; they come first.` : `All ${rows.length} fields are the same.`),
    sides.includes("lastPut") ? null : el("p", { class: "hint" }, "The body of the last PUT is not known here."),
    el("div", { class: "scrolling", tabindex: "0", role: "group", "aria-label": "Differences, table" }, el("table", { class: "difference" },
      el("thead", null, el("tr", null, ["Field", ...sides.map((side) => SIDES[side])].map((title) => el("th", { scope: "col" }, title)))),
      el("tbody", null, ordered.map((row) => el("tr", { class: row.differs ? "differs" : "" },
        el("th", { scope: "row" }, el("code", null, breakable(row.path)),
          row.differs ? el("span", { class: "mark" }, "differs") : null,
          drifted.has(row.path) ? el("span", { class: "mark" }, "drift") : null),
        sides.map((side) => el("td", { "data-side": SIDES[side] }, valueOf(row[side])))))))),
  ].filter(Boolean);
}

/** Return a path that may be broken after its slashes and dots. */
function breakable(path) {
  return path.split(/(?<=[/.])/).flatMap((part) => [part, el("wbr")]);
}

function valueOf(value) {
  if (value === undefined || value === null) return el("span", { class: "hint" }, "not set");
  return el("code", null, typeof value === "string" ? value : JSON.stringify(value, null, 1));
}
