// Packs files with Zstandard; boot.mjs unpacks them.
// usage: node pack.mjs OUT FILE...
import fs from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { constants, zstdCompress } from "node:zlib";

const [out, ...files] = process.argv.slice(2);
// The levels above take twice the memory for half a percent.
const LEVEL = 19;
const params = { [constants.ZSTD_c_compressionLevel]: LEVEL };

await Promise.all(
  files.map(async (file) => {
    const content = await fs.readFile(file);
    const packed = await promisify(zstdCompress)(content, { params, pledgedSrcSize: content.length });
    await fs.writeFile(path.join(out, path.basename(file)), packed);
  }),
);
