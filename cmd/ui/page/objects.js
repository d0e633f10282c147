/** The objects that the server told of, their trees of owners, and filters of them. */

export class Objects {
  #rows = new Map();
  #forest = null;
  #texts = new WeakMap();
  #changes = 0;
  #asked = null; // the last filter, and what it found
  #found = null;

  get size() { return this.#rows.size; }

  get(key) { return this.#rows.get(key); }

  values() { return this.#rows.values(); }

  replace(rows) {
    this.#rows = new Map(rows.map((row) => [row.key, row]));
    this.#forest = null;
    this.#changes += 1;
  }

  /** Take a change over. Returns the rows that are new or have another state. */
  change({ changed = [], gone = [] }) {
    const news = [];
    this.#changes += 1;
    for (const row of changed) {
      const before = this.#rows.get(row.key);
      if (before?.owner !== row.owner || before === undefined) this.#forest = null;
      if (before?.state !== row.state) news.push(row);
      this.#rows.set(row.key, row);
    }
    for (const key of gone) if (this.#rows.delete(key)) this.#forest = null;
    return news;
  }

  /** The trees of owners: `roots`, and `children` of a key. Objects whose owner is not there are roots. */
  get forest() {
    this.#forest ??= planted(this.#rows);
    return this.#forest;
  }

  /**
   * Return the keys that a filter lets through (`matched`), and those with their owners
   * (`shown`), or null for both if there is no filter.
   */
  filtered({ q, kind, ns, state }) {
    const asked = JSON.stringify([q, kind, ns, state, this.#changes]);
    if (asked !== this.#asked) {
      this.#asked = asked;
      this.#found = this.#filtered(q, kind, ns, state);
    }
    return this.#found;
  }

  #filtered(q, kind, ns, state) {
    const words = q.toLowerCase().split(/\s+/).filter(Boolean);
    if (!words.length && !kind && !ns && !state.length) return { matched: null, shown: null };
    const matched = new Set();
    for (const row of this.#rows.values()) {
      const isIn = (!kind || row.kind === kind) && (!ns || row.namespace === ns)
        && (!state.length || state.includes(row.state))
        && (!words.length || words.every((word) => this.#text(row).includes(word)));
      if (isIn) matched.add(row.key);
    }
    const shown = new Set(matched);
    for (const key of matched) {
      let owner = this.#rows.get(key).owner;
      while (owner && this.#rows.has(owner) && !shown.has(owner)) {
        shown.add(owner);
        owner = this.#rows.get(owner).owner;
      }
    }
    return { matched, shown };
  }

  /** Return the key of an owner: distance 0 is the object's own. null if it is not there. */
  ownerOf(row, distance) {
    let owner = row.owner;
    for (let step = 0; step < distance && owner; step += 1) owner = this.#rows.get(owner)?.owner;
    return this.#rows.has(owner) ? owner : null;
  }

  /** Return the key of a reference with a title, or null. */
  referenceOf(row, title) {
    return (row.references ?? []).find((key) => this.#rows.has(key) && titleOf(key) === title) ?? null;
  }

  #text(row) {
    let text = this.#texts.get(row);
    if (text === undefined) {
      text = [row.namespace, row.name, row.kind, row.group, row.state, row.reason, row.message, row.armId]
        .join(" ").toLowerCase();
      this.#texts.set(row, text);
    }
    return text;
  }
}

/** Return `KIND NAMESPACE/NAME` of a key. */
export function titleOf(key) {
  const [, kind, namespace, name] = key.split("/");
  return `${kind} ${namespace}/${name}`;
}

const { compare } = new Intl.Collator("en", { numeric: true });

function planted(rows) {
  const children = new Map();
  const roots = [];
  for (const row of rows.values()) {
    if (!row.owner || row.owner === row.key || !rows.has(row.owner)) { roots.push(row.key); continue; }
    if (!children.has(row.owner)) children.set(row.owner, []);
    children.get(row.owner).push(row.key);
  }
  const reached = new Set();
  const reach = (key) => {
    const stack = [key];
    while (stack.length) {
      const next = stack.pop();
      if (reached.has(next)) continue;
      reached.add(next);
      stack.push(...(children.get(next) ?? []));
    }
  };
  roots.forEach(reach);
  for (const row of rows.values()) {
    if (reached.has(row.key)) continue;
    // Owners that name each other: the first one is cut off from its owner.
    const siblings = children.get(row.owner);
    siblings.splice(siblings.indexOf(row.key), 1);
    roots.push(row.key);
    reach(row.key);
  }
  const byName = (one, other) => {
    const [a, b] = [rows.get(one), rows.get(other)];
    return compare(a.namespace, b.namespace) || compare(a.kind, b.kind) || compare(a.name, b.name);
  };
  roots.sort(byName);
  for (const list of children.values()) list.sort(byName);
  return { roots, children };
}
