// A lesson's moves: the saved view answers them until Python is there, then the live notebook takes them over as they
// are; on both sides the address holds them.
import { Address, asked } from "./address.js";
import { read, snap, unlock, write } from "./controls.js";
import { Live } from "./live.js";
import { Saved } from "./saved.js";

async function fetchMoves() {
  const answer = await fetch("moves.bin");
  if (!answer.ok) throw new Error(`moves.bin: HTTP ${answer.status}`);
  return new Response(answer.body.pipeThrough(new DecompressionStream("gzip"))).json();
}

// `say` is called with the name of what there is to say about the moves, or with nothing.
export async function start(say) {
  const view = document.getElementById("saved");
  const saved = new Saved(await fetchMoves());
  const { controls } = saved;
  const address = new Address(controls);
  const drawn = new Map(); // what a cell shows now, where that is not its default
  const { moved, wrong } = asked(controls); // the last to be moved comes last
  let live;
  let held; // a promise while a pointer holds a control

  show();
  view.inert = false;
  for (const tabs of view.querySelectorAll(".tab-names")) unlockTabs(tabs);
  if (wrong) {
    address.write(moved);
    say("wrong");
  }

  function move(name, value) {
    const control = controls.get(name);
    for (const other of [name, ...(control.resets ?? [])]) moved.delete(other);
    if (value !== control.default) moved.set(name, value);
    show();
  }

  function show() {
    let isRight = true;
    const focused = document.activeElement?.closest("#saved [data-control]")?.dataset.control;
    for (const cell of view.querySelectorAll("[data-cell]")) {
      const { cell: id } = cell.dataset;
      if (!saved.cells[id]) continue;
      const { html, right } = saved.shown(id, moved);
      if (html !== null && html !== (drawn.get(id) ?? saved.shown(id, new Map()).html)) cell.innerHTML = html;
      drawn.set(id, html);
      cell.classList.toggle("beyond", !right && cell.innerHTML !== "");
      isRight &&= right;
    }
    for (const label of view.querySelectorAll("[data-control]")) {
      const control = controls.get(label.dataset.control);
      unlock(label);
      write(control, label, moved.get(control.name) ?? control.default);
    }
    if (focused && !document.activeElement?.closest("#saved")) fieldOf(focused)?.focus();
    say(isRight ? undefined : "beyond");
  }

  function fieldOf(name) {
    const label = view.querySelector(`[data-control="${name}"]`);
    return label?.querySelector(":checked[type=radio]") ?? label?.querySelector("input, select, textarea");
  }

  const controlOf = ({ target }) => {
    const label = target.closest("[data-control]");
    return label && { label, control: controls.get(label.dataset.control) };
  };
  view.addEventListener("input", (event) => {
    const { label, control } = controlOf(event) ?? {};
    if (!control) return;
    if (control.kind === "slider") snap(control, label, moved.get(control.name) ?? control.default, held);
    const value = read(control, label);
    if (value === undefined) return;
    move(control.name, value);
    if (!held) address.write(moved, control.name); // a move may replace the control itself: then nothing else is said of it
  });
  view.addEventListener("change", (event) => {
    const { label, control } = controlOf(event) ?? {};
    if (!control) return;
    if (control.kind === "number") move(control.name, read(control, label, true) ?? moved.get(control.name) ?? control.default);
    address.write(moved, control.name); // what was dragged is let go
  });
  view.addEventListener("pointerdown", (event) => {
    if (!controlOf(event)) return;
    held = new Promise((done) => {
      for (const end of ["pointerup", "pointercancel"]) addEventListener(end, done, { once: true });
    }).then(() => (held = undefined));
  });
  addEventListener("popstate", () => {
    const typed = [...moved].filter(([name]) => controls.get(name).kind === "free");
    const wanted = [...typed, ...asked(controls).moved];
    moved.clear();
    for (const [name, value] of wanted) moved.set(name, value);
    show();
    live?.follow(moved);
  });

  return {
    // Resolves once the notebook on this page shows the reader's moves, with what to do when it has come to the front.
    async takeOver(page) {
      const next = new Live(page, controls, async (name, value) => {
        move(name, value);
        address.write(moved, name);
        if (!next.isBehind(moved)) return;
        await page.settled([name]);
        await next.follow(moved);
      });
      live = next;
      do {
        await held;
        await next.follow(moved);
      } while (held);
      const name = document.activeElement?.closest("#saved [data-control]")?.dataset.control;
      const { selectionStart, selectionEnd } = name ? document.activeElement : {};
      const top = view.scrollTop;
      return () => {
        next.unfold(view);
        next.scrollTo(top);
        if (name) next.focus(name, [selectionStart, selectionEnd]);
      };
    },
  };
}

// Tabs: one of the panels after their names is shown.
function unlockTabs(names) {
  const buttons = [...names.children];
  const panels = [...names.parentElement.querySelectorAll(':scope > [data-kind="tab"]')];
  for (const [at, button] of buttons.entries()) {
    button.disabled = false;
    button.addEventListener("click", () => {
      for (const [other, panel] of panels.entries()) {
        panel.hidden = other !== at;
        buttons[other].setAttribute("aria-pressed", other === at);
      }
    });
  }
  buttons[0].setAttribute("aria-pressed", true);
}
