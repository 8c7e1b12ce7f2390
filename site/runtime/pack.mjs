// Packs files with Zstandard; boot.mjs unpacks them.
// usage: node pack.mjs OUT FILE...
// Prints the name of each that is done.
import fs from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { constants, zstdCompress } from "node:zlib";

const [out, ...files] = process.argv.slice(2);
const params = { [constants.ZSTD_c_compressionLevel]: constants.ZSTD_MAXCLEVEL ?? 22 };

await Promise.all(
  files.map(async (file) => {
    const content = await fs.readFile(file);
    const packed = await promisify(zstdCompress)(content, { params, pledgedSrcSize: content.length });
    await fs.writeFile(path.join(out, path.basename(file)), packed);
    console.log(file);
  }),
);
