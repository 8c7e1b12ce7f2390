// What the build has saved of a lesson's notebook: what each cell shows, and which controls that rests on. Nothing is
// computed here.
export class Saved {
  constructor({ controls, pairs, cells }) {
    this.controls = new Map(Object.entries(controls).map(([name, control]) => [name, { name, ...control }]));
    this.pairs = pairs;
    this.cells = cells;
  }

  // What a cell shows while the controls in `moved` (a Map from their names to their values) are where they are: its
  // HTML, and whether that is right. Where nothing is saved for them it is what comes nearest.
  shown(cell, moved) {
    const { reads, read } = this.cells[cell];
    const rests = (place, others) => !others.some((name) => reads[read[place]].includes(name));
    let nearest = 0;
    for (const { place, of, exact } of this.#candidates(cell, moved)) {
      nearest = place;
      if (exact && rests(place, [...moved.keys()].filter((name) => !of.includes(name)))) {
        return { html: this.#html(cell, place), right: true };
      }
    }
    return { html: this.#html(cell, nearest), right: false };
  }

  // From no move to two; the last to be moved comes last.
  *#candidates(cell, moved) {
    const { singles, pairs } = this.cells[cell];
    yield { place: 0, of: [], exact: true };
    for (const [name, value] of moved) {
      const { values } = this.controls.get(name);
      if (!values.length) continue;
      const { at, exact } = find(values, value);
      yield { place: singles[name]?.[at] ?? 0, of: [name], exact };
    }
    for (const [number, [first, ones, second, others]] of this.pairs.entries()) {
      if (!moved.has(first) || !moved.has(second)) continue;
      const [one, other] = [find(ones, moved.get(first)), find(others, moved.get(second))];
      yield { place: pairs[number]?.[one.at][other.at] ?? 0, of: [first, second], exact: one.exact && other.exact };
    }
  }

  #html(cell, place) {
    const { default: parts, patches } = this.cells[cell];
    if (!parts.length) return null; // it never shows anything else
    const patched = [...parts];
    for (const [at, without, ...instead] of place ? patches[place - 1] : []) patched.splice(at, without, ...instead);
    return patched.join("");
  }
}

// Where a value is in a list, or the number that comes nearest.
export function find(values, value) {
  const at = values.indexOf(value);
  if (at >= 0) return { at, exact: true };
  const far = values.map((each) => Math.abs(each - value));
  return { at: Math.max(0, far.indexOf(Math.min(...far))), exact: false };
}
