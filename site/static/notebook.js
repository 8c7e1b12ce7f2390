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
  // The kernel is done before the frontend has drawn: it is drawn when every cell that has something new to show shows it.
  const toDraw = new Map(); // cell -> the element that shows what is old, if there is one
  const outputs = new Map();
  const shownBy = (cell) => document.getElementById(`output-${cell}`);
  const redraws = new MutationObserver((changes) => {
    for (const { target } of changes) toDraw.delete((target.closest ? target : target.parentElement)?.closest('[id^="output-"]')?.id.slice(7));
  });
  const onceDrawn = (then) => {
    for (const [cell, old] of toDraw) if (shownBy(cell) !== old) toDraw.delete(cell);
    if (toDraw.size) setTimeout(onceDrawn, 10, then);
    else whenIdle(then, { timeout: 500 });
  };
  // Resolves once Python has answered new values of the controls in these variables, and all of that is drawn.
  const waiting = [];
  const NO_ANSWER_MS = 10_000; // from a control that Python does not know: nobody waits for it for ever
  window.settled = (names) => new Promise((done) => {
    waiting.push({ names: new Set(names), done });
    setTimeout(done, NO_ANSWER_MS);
    redraws.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
  });
  const isSettled = ({ names }) => !names.size;
  let isLive = false;
  const completed = () => {
    if (!isLive) onceDrawn(() => tell("notebook-live"));
    isLive = true;
    for (const each of waiting.filter(isSettled)) {
      waiting.splice(waiting.indexOf(each), 1);
      onceDrawn(each.done);
    }
  };
  const noteOutput = ({ cell_id: cell, output }) => {
    if (!output) return;
    // What marimo shows of an error depends on the error.
    const isShown = output.data && !output.mimetype.endsWith("error");
    const data = JSON.stringify(output.data);
    if (!isShown) toDraw.delete(cell);
    else if (!isLive || (waiting.length && outputs.get(cell) !== data)) toDraw.set(cell, shownBy(cell));
    outputs.set(cell, data);
  };
  const watch = ({ type, data }) => {
    const { id, payload } = data?.data ?? {};
    if (type === "error" || id === "initializedError") tell("notebook-failed");
    if (id !== "kernelMessage") return;
    const [, op] = /^\{"op": "([^"]+)"/.exec(payload.message) ?? [];
    if (op === "completed-run") completed();
    if (op === "cell-op") noteOutput(JSON.parse(payload.message).data);
    if (op === "variable-values" && waiting.length) {
      for (const { name } of JSON.parse(payload.message).data.variables) for (const { names } of waiting) names.delete(name);
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
