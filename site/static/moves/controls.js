// The native controls in the saved view: unlocked, set, and read. A control's value is a text, as the address has it; of
// a file to drop, the file itself.
import { find } from "./saved.js";

const inputs = (label) => [...label.querySelectorAll("input, select, textarea")];

export function unlock(label) {
  for (const input of inputs(label)) input.disabled = false;
}

// What is typed as a number counts once the control takes it; when it `isDone`, the nearest that it takes.
export function read({ kind, values, limits }, label, isDone) {
  const [input] = inputs(label);
  switch (kind) {
    case "slider": return text(Number(input.value));
    case "steps": return values[Math.round(input.value)];
    case "choice": return values[input.type === "radio" ? inputs(label).findIndex(({ checked }) => checked) : input.selectedIndex];
    case "switch": return values[Number(input.checked)];
    case "number": return typed(input.value, limits, isDone);
    default: return input.files?.[0] ?? input.value;
  }
}

export function write({ kind, values, limits }, label, value) {
  const [input] = inputs(label);
  const at = values.indexOf(value);
  switch (kind) {
    case "slider":
    case "steps":
      input.value = kind === "steps" ? at : value;
      label.querySelector("output").value = shown(value);
      if (kind === "steps") input.ariaValueText = shown(value);
      break;
    case "choice":
      if (input.type === "radio") inputs(label)[at].checked = true;
      else input.selectedIndex = at;
      break;
    case "switch": input.checked = at === 1; break;
    case "number":
      if (typed(input.value, limits) !== value) input.value = value; // "2." may become "2.5"
      break;
    default: if (input.type !== "file") input.value = value;
  }
}

// A slider stops where something is saved: at the nearest place while it is dragged; a key leads to the next place.
export function snap({ values }, label, before, isHeld) {
  const [input] = inputs(label);
  const value = Number(input.value);
  let { at } = find(values, text(value));
  if (!isHeld && values[at] === before) at += Math.sign(value - before);
  write({ kind: "slider", values }, label, values[Math.min(values.length - 1, Math.max(0, at))]);
}

export const text = (number) => String(Number(number.toPrecision(10)));
const shown = (value) => Number(value).toLocaleString("en-US", { maximumSignificantDigits: 10 });

function typed(value, [low, high], isDone) {
  const number = value.trim() ? Number(value) : NaN;
  const taken = Math.min(high ?? Infinity, Math.max(low ?? -Infinity, number));
  return Number.isFinite(taken) && (isDone || taken === number) ? text(taken) : undefined;
}
