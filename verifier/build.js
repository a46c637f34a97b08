// Write verify.html: one file with everything in it. `npm install` first, then `node build.js [--check]`.

import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const here = (name) => new URL(name, import.meta.url);
const target = here("../src/shoal/verification/verify.html");
const guide = here("../docs/how-to/verify-a-release.md"); // which tells strangers the hash
const licences = "/*! Holds hyparquet (MIT, Kenny Daniel), fzstd (MIT, Arjun Barrett) and smol-toml (BSD-3-Clause, squirrelchat). */\n";

const bundled = await build({
  entryPoints: [here("src/page.js").pathname], bundle: true, format: "iife", minify: true, write: false, target: "es2022",
  legalComments: "none", charset: "ascii",
});
const script = licences + bundled.outputFiles[0].text.replaceAll("</script", "<\\/script");
const style = readFileSync(here("src/page.css"), "utf8");
const hash = (text) => `sha256-${createHash("sha256").update(text).digest("base64")}`;
const page = readFileSync(here("src/page.html"), "utf8")
  .replace("SCRIPT_HASH", hash(script)).replace("STYLE_HASH", hash(style))
  .replace("<style>STYLE</style>", () => `<style>${style}</style>`)
  .replace("<script>SCRIPT</script>", () => `<script>${script}</script>`);
const digest = createHash("sha256").update(page).digest("hex");
if (process.argv.includes("--check")) {
  if (readFileSync(target, "utf8") !== page) throw new Error("verify.html is not what its sources give; run `node build.js`");
} else {
  writeFileSync(target, page);
  writeFileSync(guide, readFileSync(guide, "utf8").replace(/(?<=```text\n)[0-9a-f]{64}/, digest));
}
console.log(`verify.html: ${page.length} bytes, SHA-256 ${digest}`);
