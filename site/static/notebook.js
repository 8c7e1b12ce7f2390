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
  const watch = ({ type, data }) => {
    const { id, payload } = data?.data ?? {};
    if (type === "error" || id === "initializedError") tell("notebook-failed");
    if (id === "kernelMessage" && payload.message.startsWith('{"op": "completed-run"')) {
      whenIdle(() => tell("notebook-live"), { timeout: 500 });
    }
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
