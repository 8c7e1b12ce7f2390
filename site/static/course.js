// Page frame: theme, divider, tabs, and the change from the saved view to the live notebook.
const root = document.documentElement;
const remember = (key, value) => {
  try { localStorage[key] = value; } catch { /* private mode: the choice lasts for this page */ }
};
const recall = (key) => {
  try { return localStorage[key]; } catch { return undefined; }
};
const dark = () => root.dataset.theme === "dark" || (root.dataset.theme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);

const frame = document.getElementById("live");
const panel = document.getElementById("notebook");

document.getElementById("theme").addEventListener("click", () => {
  root.dataset.theme = dark() ? "light" : "dark";
  remember("theme", root.dataset.theme);
});

if (frame) {
  divider(document.getElementById("divider"));
  tabs();
  start();
  document.getElementById("download").addEventListener("click", download);
}

// The file names the wheel on the site it comes from, wherever that is served.
async function download(event) {
  event.preventDefault();
  const { href, dataset } = event.currentTarget;
  const source = await (await fetch(href)).text();
  const wheels = new URL(dataset.wheels, location.href);
  const file = new Blob([source.replace(/(kvtiers @ )\S*\/wheels\//, `$1${wheels}`)], { type: "text/x-python" });
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
}

// The saved view stays on top, its controls locked, until the notebook's kernel has run every cell. Only then can
// anything be moved, so no move is lost.
function start() {
  const state = document.getElementById("state");
  const set = (name) => {
    panel.dataset.state = name;
    state.textContent = state.dataset[name];
  };
  frame.src = frame.dataset.src;
  frame.addEventListener("load", () => {
    const page = frame.contentWindow;
    page.addEventListener("notebook-live", () => {
      set("live");
      frame.removeAttribute("tabindex");
    });
    page.addEventListener("notebook-failed", () => set("failed"));
  });
  document.getElementById("reset").addEventListener("click", (event) => {
    event.preventDefault();
    location.reload();
  });
}
