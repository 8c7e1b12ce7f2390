// Starts Python, imports what every lesson needs, and writes its memory.
// usage: node snapshot.mjs PYODIDE_FOLDER STDLIB_ZIP SITE_PACKAGES SCRIPTS NOTEBOOKS OUT_FOLDER
// SCRIPTS is the folder with warm_up.py and scout.py.
import nodeCrypto from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [core, stdlib, packages, scripts, notebooks, out] = process.argv.slice(2).map((p) => path.resolve(p));
const load = (file) => import(pathToFileURL(path.join(core, file)));
const { loadPyodide } = await load("pyodide.mjs");
const { ENVIRONMENT, layoutMark, holdBackTrampoline, linkLibraries } = await load("boot.mjs");
const { default: createCore } = await load("pyodide.core.mjs");
const { info } = JSON.parse(fs.readFileSync(path.join(core, "pyodide-lock.json")));

// The same bytes from every build: what Python reads of clock and chance may not differ. The browser's own take over
// when the image is in place.
let ticks = 0;
Date.now = () => Date.UTC(2026, 0, 1) + Math.floor(ticks++ / 1000);
performance.now = () => ticks++ / 1000;
nodeCrypto.randomFillSync = (view) => view.fill(0);
// Nor may it depend on when JavaScript's garbage is collected: on a busy machine that is another moment.
globalThis.FinalizationRegistry = class {
  register() {}
  unregister() {}
};
// What a browser's worker has and node lacks; modules look for it when they are imported.
globalThis.XMLHttpRequest = class {};
globalThis.crossOriginIsolated = false;

function copyTree(FS, from, to) {
  FS.mkdirTree(to);
  for (const entry of fs.readdirSync(from, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const [source, target] = [path.join(from, entry.name), `${to}/${entry.name}`];
    if (entry.isDirectory()) copyTree(FS, source, target);
    else FS.writeFile(target, fs.readFileSync(source));
  }
}

// The libraries are linked before Python runs; their constructors run when Python opens them.
function runConstructorsOnOpen(Module, constructors) {
  for (const [name, construct] of constructors) {
    const library = Module.LDSO.loadedLibsByName[name];
    const { exports } = library;
    Object.defineProperty(library, "exports", {
      configurable: true,
      get() {
        Object.defineProperty(library, "exports", { value: exports });
        construct();
        return exports;
      },
    });
  }
}

// What was freed still holds what it held; zeros compress to nothing.
function cleanFreeMemory(Module) {
  const end = () => Module.HEAPU32[Module._emscripten_get_sbrk_ptr() / 4];
  const used = end();
  const taken = [];
  for (let size = 1 << 18; size >= 16; size /= 2) {
    for (;;) {
      const at = Module._malloc(size);
      Module.HEAP8.fill(0, at, at + size);
      taken.push(at);
      if (at + size >= used) break;
    }
  }
  for (const at of taken) Module._free(at);
}

// dlopen reads each library's file to the heap, for other threads to link it too. There are none: 6 MB of the image.
function freeLibraryFiles(Module) {
  const FILE = 28; // where Emscripten's `struct dso` points at it; then comes its size
  const MAGIC = 0x6d736100; // the first four bytes of WebAssembly
  const { loadedLibsByHandle, loadedLibsByName } = Module.LDSO;
  const opened = Object.entries(loadedLibsByHandle).filter(([, { name }]) => name.endsWith(".so"));
  for (const [handle, { name }] of opened) {
    const field = (Number(handle) + FILE) / 4;
    const file = Module.HEAPU32[field];
    if (Module.HEAPU32[file / 4] !== MAGIC) throw new Error(`Emscripten has changed: no file of ${name} where it was`);
    Module._free(file);
    Module.HEAPU32.fill(0, field, field + 2);
  }
  if (!opened.length) throw new Error(`Emscripten has changed: of ${Object.keys(loadedLibsByName)} none is open`);
}

async function start(libraries, modules) {
  let mark;
  const py = await loadPyodide({
    indexURL: core + "/",
    stdLibURL: stdlib,
    lockFileContents: JSON.stringify({ info, packages: {} }),
    convertNullToNone: true,
    env: ENVIRONMENT,
    _makeSnapshot: true,
    createPyodideModule: (settings) => {
      holdBackTrampoline(settings);
      settings.preRun.push((Module) => copyTree(Module.FS, packages, Module.API.sitePackages));
      settings.onRuntimeInitialized = () => {
        runConstructorsOnOpen(settings, linkLibraries(settings, libraries));
        mark = layoutMark(settings);
      };
      return createCore(settings);
    },
  });
  copyTree(py.FS, notebooks, "/notebooks");
  py.globals.set("MODULES", py.toPy(modules));
  const imported = (await run(py, "warm_up.py")).toJs();
  return { py, imported, mark };
}

const run = (py, script) => py.runPythonAsync(fs.readFileSync(path.join(scripts, script), "utf8"), { filename: script });

// First run: which libraries and modules are loaded, in which order. Second run: link the libraries ahead, as the
// browser will, and import the modules.
const first = await start([], []);
const modules = (await run(first.py, "scout.py")).toJs();
const libraries = Object.keys(first.py._module.LDSO.loadedLibsByName).filter((name) => name.endsWith(".so"));
const { py, imported, mark } = await start(libraries, modules);

freeLibraryFiles(py._module);
cleanFreeMemory(py._module);

// What is installed is the browser's business; a snapshot may not hold it.
for (const name of Object.keys(py.loadedPackages)) delete py.loadedPackages[name];
// Python holds on to a few of Pyodide's own objects, and to what the browser has and node lacks; each is found again
// by its name.
const api = py._api;
const memory = py.makeMemorySnapshot({
  serializer(object) {
    if (object === XMLHttpRequest) return ["globalThis", "XMLHttpRequest"];
    if (object === api.public_api) return ["public_api"];
    for (const name of Object.getOwnPropertyNames(api.public_api)) {
      if (api.public_api[name] === object) return ["public_api", name];
    }
    for (const name of Object.getOwnPropertyNames(api)) if (api[name] === object) return [name];
    throw new Error(`Python holds on to a JavaScript object: ${object?.constructor?.name} ${object}`);
  },
});
// In parts: they travel and unpack side by side.
const PART_BYTES = 1 << 24;
const parts = [];
for (let at = 0; at < memory.length; at += PART_BYTES) {
  parts.push(`memory-${parts.length}.bin`);
  fs.writeFileSync(path.join(out, parts.at(-1)), memory.subarray(at, at + PART_BYTES));
}
fs.writeFileSync(path.join(out, "snapshot.json"), JSON.stringify({ libraries, mark, imported, parts, size: memory.length }));
