// The lesson's address holds what differs from the notebook's defaults: ?layers=40&kv_type=fp8. What is typed as text or
// dropped stays out of it: it may be long, or private.
const EVERY_MS = 350; // browsers refuse to write it more often for long
const ONE_MOVE_MS = 2000;

const isTold = ({ kind }) => kind !== "free";

// The moves that the address asks for, and whether it asks for something that a control does not have.
export function asked(controls) {
  const moved = new Map();
  let wrong = false;
  const parameters = new URLSearchParams(location.search);
  for (const control of controls.values()) {
    const value = parameters.get(control.name);
    if (value === null || !isTold(control) || value === control.default) continue;
    if (has(control, value)) moved.set(control.name, value);
    else wrong = true;
  }
  return { moved, wrong };
}

export function has({ kind, values, limits }, value) {
  if (values.includes(value)) return true;
  const number = Number(value);
  if (!limits || String(number) !== value) return false;
  const [low, high, step] = limits;
  const places = (number - low) / step;
  const isOnStep = kind === "number" || Math.abs(places - Math.round(places)) < 1e-6;
  return (low ?? -Infinity) <= number && number <= (high ?? Infinity) && isOnStep;
}

// Writes moves into the address, at most every so often; one entry of the history for each move of a control.
export class Address {
  #controls;
  #timer;
  #wrote = 0;
  #last = {};

  constructor(controls) {
    this.#controls = controls;
    addEventListener("pagehide", () => this.#flush());
    addEventListener("click", () => this.#flush(), { capture: true });
  }

  write(moved, name) {
    const search = this.#search(moved);
    if (search === location.search && !this.#timer) return;
    this.#pending = { search, name };
    this.#timer ??= setTimeout(() => this.#flush(), Math.max(0, this.#wrote + EVERY_MS - performance.now()));
  }

  #pending;

  #flush() {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (!this.#pending) return;
    const { search, name } = this.#pending;
    this.#pending = undefined;
    if (search === location.search) return;
    const now = performance.now();
    const goesOn = name === undefined || (name === this.#last.name && now - this.#last.at < ONE_MOVE_MS);
    this.#last = { name, at: now };
    this.#wrote = now;
    history[goesOn ? "replaceState" : "pushState"](null, "", `${location.pathname}${search}${location.hash}`);
  }

  // Other lessons' controls stay in it.
  #search(moved) {
    const parameters = new URLSearchParams(location.search);
    for (const control of this.#controls.values()) {
      parameters.delete(control.name);
      if (moved.has(control.name) && isTold(control)) parameters.set(control.name, moved.get(control.name));
    }
    const search = String(parameters);
    return search && `?${search}`;
  }
}
