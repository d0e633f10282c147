/** What the page shows, kept in the address: a reload or a shared address shows the same. */

const LISTS = ["state"];
const NAMES = ["view", "key", "tab", "q", "kind", "ns"];

export function read() {
  const given = new URLSearchParams(location.hash.slice(1));
  const place = Object.fromEntries(NAMES.map((name) => [name, given.get(name) ?? ""]));
  for (const name of LISTS) place[name] = (given.get(name) ?? "").split(",").filter(Boolean);
  place.view ||= "objects";
  return place;
}

/** Return the address of a place. */
export function address(place) {
  const given = new URLSearchParams();
  for (const name of NAMES) if (place[name]) given.set(name, place[name]);
  for (const name of LISTS) if (place[name].length) given.set(name, place[name].join(","));
  if (place.view === "objects") given.delete("view");
  return `#${given}`;
}

/** Keep a place in the address. isStep: whether `back` returns from it. */
export function write(place, isStep) {
  const target = address(place);
  if (target === (location.hash || "#")) return;
  history[isStep ? "pushState" : "replaceState"](null, "", target);
}
