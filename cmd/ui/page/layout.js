/** Where the graph's cards go: each tree of owners to the right of its root, trees in columns. */

export const CARD = { width: 232, height: 46 };
const GAP = { x: 44, y: 10 };
const BETWEEN_TREES = 30;
const EDGE = 16;
// More leaves than this stand in several columns.
const COLUMN = 5;
const MOST_COLUMNS = 6;

/**
 * Return the trees of a forest as blocks of cards; each object is visited once.
 *
 * forest: roots and children. shown: keys to place, or null for all.
 */
export function blocksOf(forest, shown) {
  const isIn = (key) => shown === null || shown.has(key);
  const childrenOf = (key) => (forest.children.get(key) ?? []).filter(isIn);
  const blocks = [];
  const alone = [];
  for (const root of forest.roots.filter(isIn)) {
    if (childrenOf(root).length) blocks.push(tree(root, childrenOf));
    else alone.push(root);
  }
  const widest = Math.max(CARD.width, ...blocks.map((block) => block.width)) + 2 * EDGE;
  return { trees: blocks, alone, widest };
}

function tree(root, childrenOf) {
  const block = { places: [], lines: [], width: 0, height: 0 };
  // Returns the bottom of what it placed. A recursion is as deep as the owners are.
  const place = (key, x, y) => {
    block.places.push([key, x, y]);
    block.width = Math.max(block.width, x + CARD.width);
    const children = childrenOf(key);
    if (!children.length) return y + CARD.height;
    const leaves = [];
    const branches = [];
    for (const child of children) (childrenOf(child).length ? branches : leaves).push(child);
    const left = x + CARD.width + GAP.x;
    const rows = []; // the middle of each row, and how far its line goes
    let bottom = y;
    if (leaves.length) {
      const columns = columnsFor(leaves.length);
      leaves.forEach((leaf, index) => {
        const column = index % columns;
        const row = (index - column) / columns;
        const at = { x: left + column * (CARD.width + GAP.y), y: y + row * (CARD.height + GAP.y) };
        block.places.push([leaf, at.x, at.y]);
        block.width = Math.max(block.width, at.x + CARD.width);
        rows[row] = [at.y + CARD.height / 2, at.x];
        bottom = at.y + CARD.height;
      });
    }
    for (const branch of branches) {
      const top = bottom === y ? y : bottom + GAP.y;
      rows.push([top + CARD.height / 2, left]);
      bottom = place(branch, left, top);
    }
    block.lines.push(line(key, x + CARD.width, y + CARD.height / 2, rows));
    return Math.max(bottom, y + CARD.height);
  };
  block.height = place(root, 0, 0);
  return block;
}

function columnsFor(count) {
  return count <= COLUMN ? 1 : Math.min(MOST_COLUMNS, Math.ceil(Math.sqrt(count / 4)));
}

/** Return the line from an owner to the rows of what it owns: a trunk with twigs. */
function line(key, x, y, rows) {
  const trunk = GAP.x / 2;
  const radius = 8;
  const last = rows[rows.length - 1][0];
  const parts = [];
  for (const [middle, end] of rows) {
    if (Math.abs(middle - y) < 1) parts.push([x, middle, `H`, end]);
    else parts.push([x + trunk, middle - radius, `q0 ${radius} ${radius} ${radius}H`, end]);
  }
  return { key, x, y, trunk: last > y + 1 ? last - radius : null, trunkX: x + trunk, parts, top: y, bottom: last };
}

function drawn(one, dx, dy) {
  const twigs = one.parts.map(([x, y, form, end]) => `M${x + dx} ${y + dy}${form}${end + dx}`).join("");
  const trunk = one.trunk === null ? "" : `M${one.x + dx} ${one.y + dy}H${one.trunkX + dx}V${one.trunk + dy}`;
  return { key: one.key, top: one.top + dy, bottom: one.bottom + dy, d: trunk + twigs };
}

function grid(keys, width) {
  const columns = Math.max(1, Math.floor((width - EDGE) / (CARD.width + GAP.y)));
  const places = keys.map((key, index) => [
    key, (index % columns) * (CARD.width + GAP.y), Math.floor(index / columns) * (CARD.height + GAP.y),
  ]);
  return {
    places, lines: [],
    width: Math.min(columns, keys.length) * (CARD.width + GAP.y),
    height: Math.ceil(keys.length / columns) * (CARD.height + GAP.y),
  };
}

/**
 * Put the blocks of `blocksOf` below each other, in as many columns as fit into a width:
 * the next one into the shortest. Return `places` (key to {x, y}), `lines` from owners
 * ({key, top, bottom, d}), `width` and `height`.
 */
export function packed({ trees, alone, widest }, width) {
  const result = { places: new Map(), lines: [], width: 0, height: 0 };
  const step = widest - 2 * EDGE + BETWEEN_TREES;
  const count = Math.max(1, Math.min(trees.length, Math.floor((width - 2 * EDGE + BETWEEN_TREES) / step)));
  const tops = new Array(count).fill(EDGE);
  const put = (block, dx, dy) => {
    for (const [key, x, y] of block.places) result.places.set(key, { x: x + dx, y: y + dy });
    for (const one of block.lines) result.lines.push(drawn(one, dx, dy));
    result.width = Math.max(result.width, dx + block.width + EDGE);
    result.height = Math.max(result.height, dy + block.height + EDGE);
  };
  for (const block of trees) {
    const column = tops.indexOf(Math.min(...tops));
    put(block, EDGE + column * step, tops[column]);
    tops[column] += block.height + BETWEEN_TREES;
  }
  if (alone.length) put(grid(alone, width), EDGE, Math.max(...tops));
  return result;
}
