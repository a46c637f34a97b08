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

const FIELDS = new Set(
  ("format version created software promises steps budget account randomness roles schema_sha256 domains measures " +
    "data further_data files accepted rehearsal policy").split(" "),
);
const NEEDED = "format version promises steps randomness data files".split(" ");
const RATIONAL = /^[0-9]+(\/[0-9]+)?$/;
const FILE = /^[A-Za-z0-9_-][A-Za-z0-9._-]*(\/[A-Za-z0-9_-][A-Za-z0-9._-]*)?$/;
const LARGEST = 64 * 2 ** 20;

/**
 * @param {Uint8Array | undefined} bytes
 * @returns {Certificate}
 */
export function readCertificate(bytes) {
  if (bytes === undefined) throw new Error("certificate.json is missing");
  if (bytes.length > LARGEST) throw new Error("certificate.json is larger than 64 MiB");
  const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  const content = JSON.parse(text);
  if (content === null || typeof content !== "object" || Array.isArray(content)) throw new Error("it is no JSON object");
  if (content.format !== "shoal-certificate") throw new Error("it is no certificate of Shoal");
  if (content.version !== 1) throw new Error("its version is not the one that this page reads, 1");
  for (const name of Object.keys(content)) if (!FIELDS.has(name)) throw new Error("it has a field that version 1 does not have");
  for (const name of NEEDED) if (!(name in content)) throw new Error(`it lacks the field ${name}`);
  if (repeatsKey(text)) throw new Error("it says something twice");
  content.further_data ??= [];
  for (const data of [content.data, ...content.further_data]) checkData(data);
  for (const file of content.files) {
    if (!FILE.test(file.name) || !/^[0-9a-f]{64}$/.test(file.sha256) || !Number.isInteger(file.bytes)) {
      throw new Error("an entry of its files is not in the form of version 1");
    }
  }
  for (const [name, version] of Object.entries(content.software ?? {})) {
    if (!/^[a-z][a-z-]{0,30}$/.test(name) || !/^[0-9][0-9A-Za-z.+!]{0,40}$/.test(String(version))) {
      throw new Error("its list of software is not in the form of version 1");
    }
  }
  const amounts = [content.budget, content.account?.cost, content.account?.spent, content.account?.budget].filter((each) => each);
  if (amounts.some((each) => !RATIONAL.test(each.epsilon) || !RATIONAL.test(each.delta))) {
    throw new Error("an amount of its budget is not in the form of version 1");
  }
  if (!Array.isArray(content.promises) || content.promises.length === 0) throw new Error("it promises nothing");
  return content;
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
