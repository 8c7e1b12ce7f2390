// In each notebook page, ahead of marimo: starts the Python worker at once, instead of after marimo's frontend has
// loaded, and hands it over when the frontend asks for it. Tells the page around when the notebook is live.
(() => {
  const { worker, version, runtime } = document.currentScript.dataset;
  const url = new URL(worker, document.baseURI).href;
  const index = new URL(runtime, document.baseURI).href;
  const OriginalWorker = window.Worker;
  const early = new OriginalWorker(url, { type: "module", name: version });
  const payload = { version, pyodideIndexUrl: index, pyodideLockfileUrl: `${index}pyodide-lock.json` };
  early.postMessage({ "[transport-id]": "marimo-transport", data: { type: "message", id: "bootstrap", payload } });

  const tell = (name) => window.dispatchEvent(new Event(name));
  early.addEventListener("message", ({ data: { data } }) => {
    if (data?.id === "initializedError") tell("notebook-failed");
    if (data?.id === "kernelMessage" && data.payload.message.startsWith('{"op": "completed-run"')) {
      requestIdleCallback(() => tell("notebook-live"), { timeout: 500 });
    }
  });
  early.addEventListener("error", () => tell("notebook-failed"));

  // What the worker says before the frontend listens is kept and told again.
  const kept = [];
  const keep = ({ data }) => kept.push(data);
  early.addEventListener("message", keep);
  const listen = early.addEventListener;
  early.addEventListener = (type, listener, options) => {
    if (type !== "message") return listen.call(early, type, listener, options);
    setTimeout(() => {
      early.removeEventListener("message", keep);
      for (const data of kept.splice(0)) listener(new MessageEvent("message", { data }));
      listen.call(early, type, listener, options);
    });
  };
  window.Worker = new Proxy(OriginalWorker, {
    construct(target, [address, options]) {
      if (new URL(address, document.baseURI).href !== url) return Reflect.construct(target, [address, options]);
      window.Worker = OriginalWorker;
      return early;
    },
  });
})();
