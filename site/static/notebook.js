// In each notebook page, ahead of marimo: hands the frontend the Python that python.js started, when it asks for a
// worker. Tells the page around when the notebook is live.
(() => {
  // The policy forbids eval; by default marimo's validator tries whether it may, and Firefox reports that as an error.
  window.__zod_globalConfig = { jitless: true };

  if (window.frameElement) followPage(window.frameElement);

  const { worker, url, kept, keep } = window.python;
  const whenIdle = window.requestIdleCallback ?? ((done) => setTimeout(done)); // WebKit has none
  // The page around listens once this one has loaded.
  const loaded = new Promise((done) => window.addEventListener("load", () => setTimeout(done)));
  const tell = async (name) => {
    await loaded;
    window.dispatchEvent(new Event(name));
  };
  // The kernel is done before the frontend has drawn: live is when every cell that has something to show shows it.
  const toDraw = new Set();
  const tellOnceDrawn = () => {
    for (const cell of toDraw) if (document.getElementById(`output-${cell}`)) toDraw.delete(cell);
    if (toDraw.size) setTimeout(tellOnceDrawn, 10);
    else whenIdle(() => tell("notebook-live"), { timeout: 500 });
  };
  const watch = ({ type, data }) => {
    const { id, payload } = data?.data ?? {};
    if (type === "error" || id === "initializedError") tell("notebook-failed");
    if (id !== "kernelMessage") return;
    if (payload.message.startsWith('{"op": "completed-run"')) tellOnceDrawn();
    if (!payload.message.startsWith('{"op": "cell-op"')) return;
    const { cell_id: cell, output } = JSON.parse(payload.message).data;
    // What marimo shows of an error depends on the error.
    const isShown = output?.data && !output.mimetype.endsWith("error");
    if (output) toDraw[isShown ? "add" : "delete"](cell);
  };
  kept.forEach(watch);
  for (const type of ["message", "error"]) worker.addEventListener(type, watch);

  const listen = worker.addEventListener;
  worker.addEventListener = (type, listener, options) => {
    if (type !== "message") return listen.call(worker, type, listener, options);
    setTimeout(() => {
      worker.removeEventListener("message", keep);
      for (const { data } of kept.splice(0)) if (data) listener(new MessageEvent("message", { data }));
      listen.call(worker, type, listener, options);
    });
  };
  const OriginalWorker = window.Worker;
  window.Worker = new Proxy(OriginalWorker, {
    construct(target, [address, options]) {
      if (new URL(address, document.baseURI).href !== url) return Reflect.construct(target, [address, options]);
      window.Worker = OriginalWorker;
      return worker;
    },
  });

  // marimo asks for the system's colours; in a lesson it gets those of the page around it. (A frame's colour scheme
  // says the same, but WebKit does not pass it on.)
  function followPage(frame) {
    const asks = "(prefers-color-scheme: dark)";
    const ask = window.matchMedia.bind(window);
    const answer = new EventTarget();
    Object.defineProperty(answer, "matches", { get: () => getComputedStyle(frame).colorScheme === "dark" });
    window.matchMedia = (query) => (query === asks ? answer : ask(query));
    const tell = () => answer.dispatchEvent(Object.assign(new Event("change"), { matches: answer.matches }));
    ask(asks).addEventListener("change", tell);
    new MutationObserver(tell).observe(frame.ownerDocument.documentElement, { attributeFilter: ["data-theme"] });
  }
})();
