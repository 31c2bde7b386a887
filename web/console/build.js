// Make dist/ from source/: `npm run build`, or `make page`. The same sources give the same bytes.
import { createHash } from "node:crypto";
import { mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { build } from "esbuild";

const ASSETS = "dist/assets";

/** SHA-256 of everything that the output depends on; tests/web/console/test_page.py computes it too. */
async function digestOfSources() {
  const listed = await readdir("source", { recursive: true, withFileTypes: true });
  const names = listed.filter((entry) => entry.isFile()).map((entry) => `${entry.parentPath}/${entry.name}`);
  const digest = createHash("sha256");
  for (const name of [...names, "build.js", "package-lock.json"].sort()) {
    digest.update(`${name}\0`).update(await readFile(name)).update("\0");
  }
  return digest.digest("hex");
}

/** Return the address of the one output whose name begins and ends like this. */
function address(outputs, begin, end) {
  const path = Object.keys(outputs).find((each) => each.startsWith(`${ASSETS}/${begin}`) && each.endsWith(end));
  return path.replace(/^dist\//, "console/");
}

await rm("dist", { recursive: true, force: true });
await mkdir(ASSETS, { recursive: true });
const made = await build({
  entryPoints: { console: "source/main.js", icon: "source/icon.svg" },
  outdir: ASSETS,
  entryNames: "[name]-[hash]",
  chunkNames: "[name]-[hash]",
  loader: { ".svg": "copy" },
  bundle: true,
  splitting: true,
  format: "esm",
  target: "es2022",
  minify: true,
  charset: "utf8",
  legalComments: "none",
  metafile: true,
});
const outputs = made.metafile.outputs;
const page = (await readFile("source/index.html", "utf8"))
  .replace("{{script}}", address(outputs, "console-", ".js"))
  .replace("{{style}}", address(outputs, "console-", ".css"))
  .replaceAll("{{icon}}", address(outputs, "icon-", ".svg"));
await writeFile("dist/index.html", page);
await writeFile("dist/sources.sha256", `${await digestOfSources()}\n`);
