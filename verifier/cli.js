// Verify release folders with the page's own code and print JSON: for tests that compare the two verifiers.

import { readFileSync, readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { verifyRelease } from "./src/verify.js";

for (const folder of process.argv.slice(2)) {
  const files = new Map(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path) => [relative(folder, path), new Uint8Array(readFileSync(path))]),
  );
  let result;
  try {
    const { outcome, findings } = await verifyRelease(files);
    result = { folder, outcome, findings };
  } catch (error) {
    result = { folder, outcome: "error", findings: [{ subject: "page", status: "fails", detail: String(error?.stack ?? error) }] };
  }
  console.log(JSON.stringify(result));
}
