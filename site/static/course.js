// Page frame: theme, search, language switch, divider, tabs, and the change from the saved view to the live notebook.
const root = document.documentElement;
const remember = (key, value) => {
  try { localStorage[`kvtiers.${key}`] = value; } catch { /* private mode: the choice lasts for this page */ }
};
const recall = (key) => {
  try { return localStorage[`kvtiers.${key}`]; } catch { return undefined; }
};
const dark = () => root.dataset.theme === "dark" || (root.dataset.theme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);

const frame = document.getElementById("live");
const panel = document.getElementById("notebook");

document.getElementById("theme").addEventListener("click", () => {
  root.dataset.theme = dark() ? "light" : "dark";
  remember("theme", root.dataset.theme);
});

search(document.getElementById("find"));
for (const event of ["pointerdown", "focus", "click"]) {
  document.querySelector("a.language").addEventListener(event, ({ currentTarget }) => stayHere(currentTarget));
  // The next lesson keeps the reader's moves in its address, and those of its own controls that are called alike.
  for (const lesson of document.querySelectorAll(".steps a, .around a")) lesson.addEventListener(event, () => (lesson.search = location.search));
}

if (frame) {
  divider(document.getElementById("divider"));
  tabs();
  start();
  document.getElementById("download").addEventListener("click", download);
}

function search(button) {
  const dialog = document.getElementById("search");
  const open = async () => {
    try {
      (await import("./search.js")).open();
    } catch {
      const count = document.getElementById("found-count");
      count.textContent = count.dataset.failed;
      if (!dialog.open) dialog.showModal();
    }
  };
  button.disabled = false;
  button.addEventListener("click", open);
  document.getElementById("search-close").addEventListener("click", () => dialog.close());
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, textarea, select")) return;
    event.preventDefault();
    open();
  });
}

// The other language opens at the section that is being read, with the same order of the quiz.
function stayHere(link) {
  const places = [...document.querySelectorAll("main :is(h2, section, fieldset, dl > div)[id]")];
  const line = 90; // px, a little below where a link to a section puts it, under the header
  const passed = places.filter((place) => place.id !== "notebook" && place.getBoundingClientRect().top < line);
  const isAtTop = scrollY + (document.querySelector("article")?.scrollTop ?? 0) === 0;
  const onTab = document.getElementById("tab-notebook")?.checkVisibility() && document.querySelector(".lesson").dataset.show;
  const target = new URL(link.href);
  target.search = location.search;
  target.hash = onTab === "notebook" ? "notebook" : isAtTop ? "" : (passed.at(-1)?.id ?? "");
  link.href = target;
}

// The file names the wheel on the site it comes from, wherever that is served.
async function download(event) {
  event.preventDefault();
  const { href, dataset } = event.currentTarget;
  const source = await fetch(href).then((response) => (response.ok ? response.text() : null)).catch(() => null);
  if (source === null) {
    location.href = href; // the browser says what is wrong
    return;
  }
  const wheels = new URL(dataset.wheels, location.href);
  const named = source.replace(/(kvtiers @ )\S*\/wheels\//, (_, name) => name + wheels);
  const file = new Blob([named], { type: "text/x-python" });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = href.slice(href.lastIndexOf("/") + 1);
  link.click();
  URL.revokeObjectURL(link.href);
}

function divider(bar) {
  const set = (percent) => {
    const value = Math.round(Math.min(75, Math.max(25, percent)));
    root.style.setProperty("--split", `${value}%`);
    bar.setAttribute("aria-valuenow", value);
    remember("split", value);
  };
  const stored = Number(recall("split"));
  if (stored) set(stored);
  bar.addEventListener("pointerdown", (event) => {
    bar.setPointerCapture(event.pointerId);
    frame.style.pointerEvents = "none";
  });
  bar.addEventListener("pointermove", (event) => {
    if (bar.hasPointerCapture(event.pointerId)) set((event.clientX / innerWidth) * 100);
  });
  bar.addEventListener("pointerup", () => (frame.style.pointerEvents = ""));
  bar.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -2, ArrowRight: 2 }[event.key];
    if (step) set(Number(bar.getAttribute("aria-valuenow")) + step);
  });
}

function tabs() {
  const [text, notebook] = ["text", "notebook"].map((name) => document.getElementById(`tab-${name}`));
  const show = (name) => {
    document.querySelector(".lesson").dataset.show = name;
    text.setAttribute("aria-selected", name === "text");
    notebook.setAttribute("aria-selected", name === "notebook");
  };
  text.addEventListener("click", () => show("text"));
  notebook.addEventListener("click", () => show("notebook"));
  const follow = () => show(location.hash === "#notebook" ? "notebook" : "text");
  addEventListener("hashchange", follow);
  follow();
}

// Resolves when the reader has moved nothing for a moment; sooner than Python could wait for it in any case.
async function pause() {
  const MOMENT_MS = 300;
  const MOMENTS = 4;
  let isMoving = true;
  const note = () => (isMoving = true);
  panel.addEventListener("input", note);
  for (let moment = 0; isMoving && moment < MOMENTS; moment += 1) {
    isMoving = false;
    await new Promise((done) => setTimeout(done, MOMENT_MS));
  }
  panel.removeEventListener("input", note);
}

// The saved view stays on top and answers the reader's moves until the notebook's kernel has run every cell and has made
// the same moves: none is lost.
function start() {
  const state = document.getElementById("state");
  let note;
  const set = (name) => {
    panel.dataset.state = name;
    state.textContent = state.dataset[(name === "live" && note === "beyond" ? undefined : note) ?? name];
  };
  const say = (what) => {
    note = what;
    set(panel.dataset.state);
  };
  const moves = import("./moves/moves.js").then((module) => module.start(say)).catch(() => undefined);
  // The notebook's frontend keeps the page's thread busy for a second: moves that are made at once are answered before it
  // comes. Python, which takes longer than that, is starting meanwhile.
  moves.finally(async () => {
    delete root.dataset.moved;
    await pause();
    frame.src = frame.dataset.src;
  });
  frame.addEventListener("load", () => {
    const page = frame.contentWindow;
    page.addEventListener("notebook-live", async () => {
      const arrive = await (await moves)?.takeOver(page);
      set("live");
      frame.removeAttribute("tabindex");
      arrive?.();
      import("./names.js").then(({ nameWidgets }) => nameWidgets(page.document, frame.dataset));
    });
    page.addEventListener("notebook-failed", () => set("failed"));
  });
  // The same notebook with its cells open, in the same place, and back. Another tab, if that is asked for, gets it too.
  const edit = document.getElementById("edit");
  edit.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    set("starting");
    [frame.dataset.src, edit.href] = [edit.href, frame.dataset.src];
    if (frame.src) frame.contentWindow.location.replace(frame.dataset.src); // before it has come, it comes as that
    [edit.textContent, edit.dataset.other] = [edit.dataset.other, edit.textContent];
  });
  document.getElementById("reset").addEventListener("click", (event) => {
    event.preventDefault();
    history.replaceState(null, "", location.pathname + location.hash);
    location.reload();
  });
  const copy = document.getElementById("copy");
  copy.hidden = !navigator.clipboard; // only a site that comes over https, or from this machine, may write there
  copy.addEventListener("click", () => navigator.clipboard.writeText(location.href).then(() => say("copied")));
}
