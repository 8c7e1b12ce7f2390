// Starts a notebook's Python ahead of marimo's frontend, which would ask for it seconds later. A lesson's page runs
// this first, so that Python starts beside the frontend; the notebook's page takes it over, or starts one when it is
// opened by itself.
(() => {
  try {
    const { python } = parent;
    delete parent.python; // it serves one page: a frame that is loaded again starts its own
    if (python) return (window.python = python);
  } catch { /* in a frame of another site */ }

  const { worker, version, runtime } = document.currentScript.dataset;
  const url = new URL(worker, document.baseURI).href;
  const index = new URL(runtime, document.baseURI).href;
  const early = new Worker(url, { type: "module", name: version });
  const payload = { version, pyodideIndexUrl: index, pyodideLockfileUrl: `${index}pyodide-lock.json` };
  early.postMessage({ "[transport-id]": "marimo-transport", data: { type: "message", id: "bootstrap", payload } });
  // What it says before the frontend listens is kept, to be told again.
  const kept = [];
  const keep = (event) => kept.push(event);
  for (const type of ["message", "error"]) early.addEventListener(type, keep);
  window.python = { worker: early, url, kept, keep };
})();
