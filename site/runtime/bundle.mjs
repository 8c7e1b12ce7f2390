// Merges the files of marimo's frontend that every notebook page loads into one. marimo cuts its frontend into hundreds
// of files; a page asks for 290 of them, one after the other, before it can start.
// usage: node bundle.mjs ROLLUP_FOLDER ASSETS OUT NAME
// Writes every script that ASSETS/index-*.js can reach into OUT, the merged one as NAME, and prints which were merged.
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [rollupFolder, assets, out] = process.argv.slice(2, 5).map((p) => path.resolve(p));
const name = path.basename(process.argv[5], ".js");
const { rollup } = await import(pathToFileURL(path.join(rollupFolder, "dist", "es", "rollup.js")));

function only(prefix) {
  const found = fs.readdirSync(assets).filter((file) => file.startsWith(prefix) && file.endsWith(".js"));
  if (found.length === 1) return path.join(assets, found[0]);
  throw new Error(`marimo's frontend has changed: it has ${found.length} files ${prefix}*.js, not one`);
}

const entry = only("index-");
const merged = new Set();
function merge(file, getModuleInfo) {
  if (merged.has(file)) return;
  merged.add(file);
  for (const imported of getModuleInfo(file).importedIds) merge(imported, getModuleInfo);
}

const bundle = await rollup({
  input: entry,
  treeshake: false, // marimo's own build has done that
  preserveEntrySignatures: "allow-extension",
  onwarn: ({ message }) => {
    throw new Error(message);
  },
});
const { output } = await bundle.generate({
  format: "es",
  compact: true,
  entryFileNames: "[name].js",
  chunkFileNames: "[name].js",
  hoistTransitiveImports: false,
  manualChunks(file, { getModuleInfo }) {
    if (merged.size === 0) [entry, only("run-page-")].forEach((root) => merge(root, getModuleInfo));
    if (file !== entry) return merged.has(file) ? name : path.basename(file, ".js");
  },
});

// Each file lists what to fetch ahead for the files it may import later: what was merged is there already.
merged.delete(entry);
const gone = new Set([...merged].map((file) => `./${path.basename(file)}`));
const withoutMerged = (list) => JSON.stringify(JSON.parse(list).map((file) => (gone.has(file) ? `./${name}.js` : file)));
fs.mkdirSync(out, { recursive: true });
for (const { fileName, code } of output) {
  fs.writeFileSync(path.join(out, fileName), code.replace(/(?<=m\.f=)\[[^\]]*\]/g, withoutMerged));
}
console.log([...gone].join("\n"));
