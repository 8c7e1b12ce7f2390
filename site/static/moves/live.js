// The same controls in the live notebook: marimo's own events carry values in and out.
import { text } from "./controls.js";

const INPUT = "marimo-value-input";
const UPDATE = "marimo-value-update";

export class Live {
  #page;
  #controls;
  #values = new Map(); // what it has, where that is not the default
  #isOurs = false;

  // `told` gets the name of each control that the reader moves, and its value.
  constructor(page, controls, told) {
    this.#page = page;
    this.#controls = controls;
    const byId = new Map([...controls.values()].map((control) => [control.id, control]));
    page.document.addEventListener(INPUT, (event) => {
      const holder = event.composedPath().find((each) => each.localName === "marimo-ui-element");
      const control = byId.get(holder?.getAttribute("object-id"));
      if (this.#isOurs || !control) return;
      const value = fromMarimo(control, event.detail.value, event.detail.element);
      this.#note(control, value);
      told(control.name, value);
    });
  }

  // Whether a control is not where `moved` wants it.
  isBehind(moved) {
    return [...this.#controls.values()].some((control) => this.#wanted(control, moved) !== this.#has(control));
  }

  #wanted = ({ name, default: first }, moved) => moved.get(name) ?? first;
  #has = ({ name, default: first }) => this.#values.get(name) ?? first;

  // Move the controls until they are where `moved` wants them, or not on the page; `moved` may change meanwhile. What is
  // made anew by the move of another comes after it; of one dictionary marimo takes one move at a time.
  async follow(moved) {
    for (;;) {
      const sent = new Set();
      const madeAnew = new Map(); // and what each is now
      for (const control of this.#controls.values()) {
        const value = this.#wanted(control, moved);
        const own = control.name.split(".")[0];
        if (value === this.#has(control) || sent.has(own) || madeAnew.has(control.name)) continue;
        const element = this.#find(control);
        if (!element) continue;
        this.#note(control, value);
        await this.#send(control, element, value);
        sent.add(own);
        for (const other of control.resets ?? []) madeAnew.set(other, this.#mark(other));
      }
      if (!sent.size) return;
      await this.#page.settled(sent);
      await this.#drawnAnew(madeAnew);
    }
  }

  #mark = (name) => this.#find(this.#controls.get(name))?.parentElement.getAttribute("random-id");

  // The kernel has made these anew; the page may still hold the ones before, whose choices can be called otherwise.
  async #drawnAnew(marks) {
    for (let tries = 0; tries < 100; tries += 1) {
      if ([...marks].every(([name, mark]) => mark === undefined || this.#mark(name) !== mark)) return;
      await new Promise((done) => setTimeout(done, 20));
    }
  }

  focus(name, selection) {
    const element = this.#find(this.#controls.get(name));
    const target = element?.shadowRoot?.querySelector('[role="slider"], [role="switch"], select, input, textarea, button');
    target?.focus();
    if (selection && target?.setSelectionRange) target.setSelectionRange(...selection);
  }

  // Tabs and folded answers, as they are in the saved view: they are in no variable of the notebook.
  unfold(view) {
    const { document: live } = this.#page;
    for (const [at, names] of [...view.querySelectorAll(".tab-names")].entries()) {
      const chosen = [...names.children].findIndex((button) => button.ariaPressed === "true");
      const tabs = live.querySelectorAll("marimo-tabs")[at];
      if (chosen > 0) this.#tell(UPDATE, tabs, String(chosen), false);
    }
    for (const [at, folded] of [...view.querySelectorAll("details")].entries()) {
      if (folded.open) live.querySelectorAll("marimo-accordion")[at]?.shadowRoot?.querySelector("button")?.click();
    }
  }

  scrollTo(top) {
    const { document: live } = this.#page;
    const scrolls = (element) => element.scrollHeight > element.clientHeight && /auto|scroll/.test(this.#page.getComputedStyle(element).overflowY);
    for (let each = live.querySelector(".marimo-cell, .output-area"); each; each = each.parentElement) if (scrolls(each)) each.scrollTop = top;
    live.scrollingElement.scrollTop = top;
  }

  #tell(type, element, value, bubbles) {
    const detail = { value, element };
    element.dispatchEvent(new this.#page.CustomEvent(type, { bubbles, composed: true, detail }));
  }

  #note({ name, default: first, resets = [] }, value) {
    for (const other of resets) this.#values.delete(other);
    if (value === first) this.#values.delete(name);
    else this.#values.set(name, value);
  }

  #find({ id }) {
    const search = (tree) => {
      const found = tree.querySelector(`marimo-ui-element[object-id="${id}"]`);
      if (found) return found.firstElementChild;
      for (const { shadowRoot } of tree.querySelectorAll("*")) {
        const within = shadowRoot && search(shadowRoot);
        if (within) return within;
      }
      return undefined;
    };
    return search(this.#page.document);
  }

  async #send(control, element, value) {
    const sent = await toMarimo(control, value, element);
    this.#isOurs = true;
    this.#tell(UPDATE, element, sent, false);
    this.#tell(INPUT, element, sent, true);
    this.#isOurs = false;
  }
}

const options = (element) => JSON.parse(element.dataset.options);

async function toMarimo({ kind, values }, value, element) {
  switch (kind) {
    case "slider":
    case "number": return Number(value);
    case "steps": return values.indexOf(value);
    case "choice": {
      const key = options(element)[values.indexOf(value)];
      return element.localName === "marimo-radio" ? key : [key];
    }
    case "switch": return value === "on";
    default: return typeof value === "string" ? value : [[value.name, await base64(value)]];
  }
}

function fromMarimo({ kind, values }, value, element) {
  switch (kind) {
    case "slider":
    case "number": return text(Number(value));
    case "steps": return values[value];
    case "choice": return values[options(element).indexOf(Array.isArray(value) ? value[0] : value)];
    case "switch": return value ? "on" : "off";
    default: return typeof value === "string" ? value : "";
  }
}

async function base64(file) {
  const address = await new Promise((done, failed) => {
    const reader = Object.assign(new FileReader(), { onload: () => done(reader.result), onerror: failed });
    reader.readAsDataURL(file);
  });
  return address.slice(address.indexOf(",") + 1);
}
