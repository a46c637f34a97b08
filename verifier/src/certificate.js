// The certificate, read strictly: version 1 of the format, its fields and no others.

/**
 * @typedef {{name: string, role: string, kind: string, values?: string[], hierarchy?: string}} Column
 * @typedef {{file: string, records: number, columns: Column[], class_column?: string}} DataFile
 * @typedef {{name: string, sha256: string, bytes: number}} FileEntry
 * @typedef {{model: string, parameters: Record<string, any>, strength: string, statement: string,
 *   assumptions: string[], unit?: string, neighbours?: string, exact?: Record<string, any>, file?: string}} PromiseEntry
 * @typedef {{version: number, promises: PromiseEntry[], steps: Record<string, any>[], randomness: string, roles: string,
 *   data: DataFile, further_data: DataFile[], files: FileEntry[]} & Record<string, any>} Certificate
 */

/** All fields, in their order. */
const FIELDS =
  ("format version created software promises steps budget account rehearsal policy randomness roles schema_sha256 domains " +
    "measures data further_data files").split(" ");
const NEEDED = "format version created software promises steps randomness roles schema_sha256 domains data files".split(" ");
const PACKAGES = new Set(["shoal", "duckdb", "numpy", "pyarrow", "python"]);
const VERSION = /^[0-9]{1,4}(\.[0-9]{1,8}){0,4}((a|b|rc)[0-9]{1,4})?(\.post[0-9]{1,4})?(\.dev[0-9]{1,10})?(\+[a-z0-9.]{0,12})?$/;
const RATIONAL = /^(0|[1-9][0-9]{0,3999})(\/([1-9][0-9]{0,3999}))?$/;
const SECOND = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/;
const FILE = /^[A-Za-z0-9_-][A-Za-z0-9._-]*(\/[A-Za-z0-9_-][A-Za-z0-9._-]*)?$/;
const LARGEST = 64 * 2 ** 20;

/**
 * @param {Uint8Array | undefined} bytes
 * @returns {Certificate}
 */
export function readCertificate(bytes) {
  if (bytes === undefined) throw new Error("certificate.json is missing");
  if (bytes.length > LARGEST) throw new Error("certificate.json is larger than 64 MiB");
  const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  const content = JSON.parse(text);
  if (content === null || typeof content !== "object" || Array.isArray(content)) throw new Error("it is no JSON object");
  if (content.format !== "shoal-certificate") throw new Error("it is no certificate of Shoal");
  if (content.version !== 1) throw new Error("its version is not the one that this page reads, 1");
  const names = Object.keys(content);
  if (names.some((name) => !FIELDS.includes(name))) throw new Error("it has a field that version 1 does not have");
  if (names.join() !== FIELDS.filter((name) => name in content).join()) throw new Error("its fields are not in their order");
  for (const name of NEEDED) if (!(name in content)) throw new Error(`it lacks the field ${name}`);
  if (repeatsKey(text)) throw new Error("it says something twice");
  if (withoutNumbers(text) !== withoutNumbers(`${JSON.stringify(content, null, 2)}\n`)) throw new Error("it is not written as Shoal writes it");
  if (!text.startsWith('{\n  "format": "shoal-certificate",\n  "version": 1,\n')) throw new Error("it is not written as Shoal writes it");
  if (!SECOND.test(content.created)) throw new Error("its time is not a whole second of UTC");
  content.further_data ??= [];
  for (const data of [content.data, ...content.further_data]) checkData(data);
  for (const file of content.files) {
    if (!FILE.test(file.name) || !/^[0-9a-f]{64}$/.test(file.sha256) || !Number.isInteger(file.bytes)) {
      throw new Error("an entry of its files is not in the form of version 1");
    }
  }
  if (!areSorted(content.files.map((/** @type {FileEntry} */ file) => file.name))) throw new Error("its files are not in the order of their names");
  const software = Object.entries(content.software);
  if (software.length !== PACKAGES.size || software.some(([name, version]) => !PACKAGES.has(name) || !VERSION.test(String(version)))) {
    throw new Error("its list of software is not in the form of version 1");
  }
  const budgets = [content.budget, content.account?.cost, content.account?.spent, content.account?.budget].filter((each) => each);
  if (!budgets.flatMap((each) => [each.epsilon, each.delta, each.rho ?? "0"]).every(isReduced)) {
    throw new Error("an amount of its budget is not in the form of version 1");
  }
  if (!Array.isArray(content.promises) || content.promises.length === 0) throw new Error("it promises nothing");
  return content;
}

/**
 * A JSON text with every number replaced by 0: other programs write the same number otherwise.
 *
 * @param {string} text
 */
const withoutNumbers = (text) => text.replace(/"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g, (part) => (part.startsWith('"') ? part : "0"));

/** @param {string[]} names  file names, in the order of the parts of their paths */
function areSorted(names) {
  const parts = names.map((name) => name.split("/"));
  return parts.every(([first, second = ""], place) => {
    const [before, after = ""] = parts[place - 1] ?? [""];
    return place === 0 || before < first || (before === first && after < second);
  });
}

/** @param {any} amount */
function isReduced(amount) {
  const found = RATIONAL.exec(amount);
  if (found === null || found[3] === "1") return false;
  let [a, b] = [BigInt(found[1]), BigInt(found[3] ?? 1)];
  while (b > 0n) [a, b] = [b, a % b];
  return found[3] === undefined || a === 1n;
}

/** @param {any} data */
function checkData(data) {
  const good =
    typeof data?.file === "string" && Number.isInteger(data.records) && data.records >= 0 && Array.isArray(data.columns) &&
    data.columns.every((/** @type {any} */ each) => typeof each?.name === "string" && typeof each.role === "string" &&
      (each.hierarchy === undefined || FILE.test(each.hierarchy)));
  if (!good) throw new Error("an entry of its data is not in the form of version 1");
}

/**
 * Whether an object of a JSON text has the same key twice; the text is known to be valid.
 *
 * @param {string} text
 */
export function repeatsKey(text) {
  /** @type {(Set<string> | null)[]} */
  const open = [];
  const token = /"(?:[^"\\]|\\.)*"|[{}[\]]/g;
  for (let match = token.exec(text); match; match = token.exec(text)) {
    const sign = match[0];
    if (sign === "{") open.push(new Set());
    else if (sign === "[") open.push(null);
    else if (sign === "}" || sign === "]") open.pop();
    else if (/^\s*:/.test(text.slice(token.lastIndex, token.lastIndex + 40))) {
      const keys = open.at(-1);
      const key = JSON.parse(sign);
      if (keys?.has(key)) return true;
      keys?.add(key);
    }
  }
  return false;
}
