// Takes the place of Pyodide's pyodide.asm.mjs: instead of starting Python and importing everything, it links the
// compiled libraries as they were linked when the memory image was made, and puts the image in place. In a browser that
// the image does not fit, it starts Python the plain way.

const ZIP = "/lib/python314.zip";
const IMAGE = {}; // the builder writes it here: names of its parts, size, libraries, mark

// The C library copies its environment to the heap before anything else: it must be the same everywhere, or all
// addresses shift. By itself it depends on the browser's language.
export const ENVIRONMENT = {
  USER: "web_user",
  LOGNAME: "web_user",
  PATH: "/",
  PWD: "/",
  HOME: "/home/pyodide",
  LANG: "C.UTF-8",
  _: "./this.program",
  MPLBACKEND: "svg",
  PYTHONHASHSEED: "0",
  PYTHONINSPECT: "1",
};

// Where WebAssembly knows garbage-collected types, Python adds one function to the table before anything else: all
// addresses would depend on the browser. So it is held back, and added once the image is in place.
export function holdBackTrampoline(settings) {
  const { Module: Compile } = WebAssembly;
  let held;
  WebAssembly.Module = new Proxy(Compile, {
    construct(_, [bytes]) {
      const module = new Compile(bytes);
      if (!Compile.exports(module).some(({ name }) => name === "trampoline_call")) return module;
      held = module;
      throw new Error("held back");
    },
  });
  settings.preRun.push(() => (WebAssembly.Module = Compile));
  return (Module) => {
    if (!held) return;
    const env = { __indirect_function_table: Module.wasmTable, memory: Module.memory };
    const { trampoline_call } = new WebAssembly.Instance(held, { env }).exports;
    const offset = Module.HEAP32[Module.__PyEM_EMSCRIPTEN_TRAMPOLINE_OFFSET / 4];
    Module.HEAP32[(Module.__PyRuntime + offset) / 4] = Module.addFunction(trampoline_call);
  };
}

// The linker gives an exported function its address by looking for the same object in the table, from slot `first` on.
// In WebKit a function read from the table is never the object that was exported: each would be added once more, and
// all later addresses would shift. Both have the function's number for a name, though; so the object in the table
// stands in for the exported one.
function withTableFunctions(exports, table, first) {
  const inTable = new Map();
  for (let slot = first; slot < table.length; slot++) {
    const entry = table.get(slot);
    if (entry) inTable.set(entry.name, entry); // of equal ones the last, as the linker takes it
  }
  const functions = Object.entries(exports).filter(([, value]) => typeof value === "function");
  const known = new Set(inTable.values());
  if (functions.some(([, value]) => known.has(value))) return exports;
  const standIns = functions.map(([name, value]) => [name, inTable.get(value.name) ?? value]);
  return { ...exports, ...Object.fromEntries(standIns) };
}

// Same libraries, same order, on fresh memory: every function and variable gets the address it had in the image. Their
// constructors need a running Python, so they are left out and returned as path -> constructor; in the browser their
// work is part of the image.
export function linkLibraries(Module, paths) {
  const constructors = new Map();
  const { Instance } = WebAssembly;
  let current;
  WebAssembly.Instance = function (module, imports) {
    const { __wasm_call_ctors, ...exports } = new Instance(module, imports).exports;
    if (__wasm_call_ctors) constructors.set(current, __wasm_call_ctors);
    return { exports: withTableFunctions(exports, Module.wasmTable, Number(imports.env.__table_base)) };
  };
  try {
    for (current of paths) Module.loadDynamicLibrary(current, { global: false, nodelete: true }, {});
  } finally {
    WebAssembly.Instance = Instance;
  }
  return constructors;
}

// Where the next object goes on the heap, how many functions the table holds, and a sum over the address of everything
// that libraries share. Equal here and in the image, or the image does not fit.
export function layoutMark(Module) {
  const heap = Module._malloc(16);
  Module._free(heap);
  let sum = 0;
  for (const name of Object.keys(Module.GOT).sort()) sum = (Math.imul(sum, 31) + Module.GOT[name].value) | 0;
  return `${heap} ${Module.wasmTable.length} ${sum}`;
}

// A bundle: length of the index (32 bits), the index as JSON, then the files one after the other.
function readBundle(buffer) {
  const bytes = new Uint8Array(buffer);
  const length = new DataView(buffer).getUint32(0, true);
  const { files, ...index } = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  let at = 4 + length;
  return { ...index, files: files.map(([path, size]) => [path, bytes.subarray(at, (at += size))]) };
}

function writeFiles(FS, root, files) {
  const made = new Set();
  for (const [path, body] of files) {
    const target = `${root}/${path}`;
    const folder = target.slice(0, target.lastIndexOf("/"));
    if (!made.has(folder)) FS.mkdirTree(folder);
    made.add(folder);
    FS.writeFile(target, body, { canOwn: true });
  }
}

const url = (name) => new URL(name, import.meta.url);

async function download(name) {
  const response = await fetch(url(name));
  if (!response.ok) throw new Error(`${name}: HTTP ${response.status}`);
  return response.arrayBuffer();
}

// Files come packed, and are unpacked here: most hosts send what ends in .bin as it is. Browsers have no decoder of
// their own that packs as well, so Zstandard's travels along.
let zstd;
async function startUnpacker() {
  const module = await WebAssembly.compile(await download("zstd.wasm"));
  zstd = new WebAssembly.Instance(module, { env: { emscripten_notify_memory_growth() {} } }).exports;
}

function unpack(buffer) {
  const bytes = new Uint8Array(buffer);
  const packed = zstd.malloc(bytes.length);
  new Uint8Array(zstd.memory.buffer).set(bytes, packed);
  const size = Number(zstd.ZSTD_findDecompressedSize(packed, bytes.length));
  const unpacked = zstd.malloc(size);
  const written = zstd.ZSTD_decompress(unpacked, size, packed, bytes.length);
  if (written !== size) throw new Error(`a damaged file: ${bytes.length} bytes do not unpack`);
  const content = zstd.memory.buffer.slice(unpacked, unpacked + size);
  zstd.free(unpacked);
  zstd.free(packed);
  return content;
}

// Python imports synchronously, so what comes late is fetched synchronously; a worker may do that.
function downloadNow(name) {
  const request = new XMLHttpRequest();
  request.open("GET", url(name), false);
  request.responseType = "arraybuffer";
  request.send();
  if (request.status !== 200) throw new Error(`${name}: HTTP ${request.status}`);
  return request.response;
}

function fetchTheRest(Module) {
  const { files } = readBundle(unpack(downloadNow("rest.bin")));
  const [[, zip], ...packages] = files;
  Module.FS.writeFile(ZIP, zip, { canOwn: true });
  writeFiles(Module.FS, Module.API.sitePackages, packages);
}

async function startFromImage(settings, createCore, started, parts) {
  const { libraries, mark, size } = IMAGE;
  const addTrampoline = holdBackTrampoline(settings);
  const { instantiateWasm } = settings;
  settings.instantiateWasm = (imports, receive) =>
    instantiateWasm(imports, ({ exports }, module) => {
      const table = exports.__indirect_function_table;
      receive({ exports: withTableFunctions(exports, table, 0) }, module);
    });
  const { files, late } = await started;
  settings.preRun.push((Module) => {
    Object.assign(Module.ENV, ENVIRONMENT);
    writeFiles(Module.FS, Module.API.sitePackages, files);
  });
  settings.noInitialRun = true;
  settings.onRuntimeInitialized = () => linkLibraries(settings, libraries);
  const Module = await createCore(settings);
  const here = layoutMark(Module);
  if (here !== mark) throw new Error(`heap, table and addresses are ${here}, in the image ${mark}`);
  const memory = new Uint8Array(size);
  let at = 0;
  for (const part of await Promise.all(parts)) {
    memory.set(part, at);
    at += part.byteLength;
  }
  const { API } = Module;
  const finalize = API.finalizeBootstrap;
  API.finalizeBootstrap = () => {
    Module._malloc(memory.length); // makes room; what it writes is replaced by the image
    const index = API.restoreSnapshot(memory);
    addTrampoline(Module);
    const root = ([first]) => (first === "globalThis" ? globalThis : API);
    const pyodide = finalize(index, (path) => path.reduce((object, name) => object[name], root(path)));
    const lateImports = pyodide.pyimport("late_imports");
    lateImports.start(late, () => fetchTheRest(Module));
    lateImports.destroy();
    return pyodide;
  };
  return Module;
}

// Slower, and alike in every browser: Python starts by itself and imports from files.
async function startPlainly(settings, createCore) {
  const { files } = readBundle(unpack(await download("plain.bin")));
  const [[, zip], ...packages] = files;
  const quiet = { PYTHONWARNINGS: "ignore:Unable to import Axes3D" }; // it was left out
  settings.preRun.push((Module) => Object.assign(Module.ENV, ENVIRONMENT, quiet));
  settings.onRuntimeInitialized = () => { // after Pyodide has put an empty standard library there
    settings.FS.writeFile(ZIP, zip, { canOwn: true });
    writeFiles(settings.FS, settings.API.sitePackages, packages);
  };
  return createCore(settings);
}

// Where the core can't be fetched or compiled Pyodide says so in two warnings and waits for ever.
function orCoreLost(start) {
  const { warn } = console;
  const lost = new Promise((_, reject) => {
    let follows = false;
    console.warn = (said, ...more) => {
      warn(said, ...more);
      if (follows) reject(said);
      follows = said === "wasm instantiation failed!";
    };
  });
  return Promise.race([start, lost]).finally(() => (console.warn = warn));
}

export default function createPyodideModule(settings) {
  return orCoreLost(startFromImageOrPlainly(settings));
}

async function startFromImageOrPlainly(settings) {
  const unpacker = startUnpacker();
  const fetchPacked = async (name) => {
    const [packed] = await Promise.all([download(name), unpacker]);
    return unpack(packed);
  };
  const core = fetchPacked("core.bin").then((bundle) => readBundle(bundle).files);
  const compiled = core.then(([[, code]]) => WebAssembly.compile(code));
  const started = fetchPacked("start.bin").then(readBundle);
  const firstPart = core.then(([, [, part]]) => part);
  const parts = [firstPart, ...IMAGE.parts.map(async (name) => new Uint8Array(await fetchPacked(name)))];
  for (const awaited of [started, ...parts]) awaited.catch(() => {}); // whoever needs it hears of it then
  const { default: createCore } = await import("./pyodide.core.mjs"); // long to parse: the rest travels meanwhile
  const module = await compiled;
  const instantiate = (imports, receive) => {
    receive(new WebAssembly.Instance(module, imports), module);
    return {};
  };
  settings.API.config.packages = []; // all in the image
  // A start writes into its settings, and can ask Pyodide only once.
  const untouched = { ...settings, API: { ...settings.API }, preRun: [...settings.preRun] };
  const { instantiateWasm } = settings;
  // Pyodide takes pyodide.asm.wasm, which is empty here, for the core, and adds to the imports what it must.
  settings.instantiateWasm = (imports, receive) =>
    instantiateWasm(imports, () => {
      const { Jsv_GetError_import, JsvError_Check } = imports.env;
      untouched.instantiateWasm = (again, receiveAgain) => {
        Object.assign(again.env, { Jsv_GetError_import, JsvError_Check });
        return instantiate(again, receiveAgain);
      };
      instantiate(imports, receive);
    });
  try {
    return await startFromImage(settings, createCore, started, parts);
  } catch (error) {
    console.warn(`The memory image does not fit this browser, Python starts without it: ${error.message}`);
    return startPlainly(untouched, createCore);
  }
}
