// The files of a release: from a folder that was dropped, or from a zip archive.

const LARGEST = 2 ** 30;
const MOST_FILES = 10_000;

/**
 * Read a zip archive of at most a gibibyte. Names that leave the folder, links and encryption are refused.
 *
 * @param {Uint8Array} bytes
 * @returns {Promise<Map<string, Uint8Array>>}
 */
export async function readZip(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let end = bytes.length - 22;
  while (end >= 0 && view.getUint32(end, true) !== 0x06054b50) end -= 1;
  if (end < 0) throw new Error("this is not a zip archive");
  const entries = view.getUint16(end + 10, true);
  let place = view.getUint32(end + 16, true);
  if (entries > MOST_FILES || place === 0xffffffff) throw new Error("the archive has too many files");
  /** @type {Map<string, Uint8Array>} */
  const files = new Map();
  let total = 0;
  for (let entry = 0; entry < entries; entry += 1) {
    if (view.getUint32(place, true) !== 0x02014b50) throw new Error("the archive is damaged");
    const method = view.getUint16(place + 10, true);
    const packed = view.getUint32(place + 20, true);
    const size = view.getUint32(place + 24, true);
    const nameLength = view.getUint16(place + 28, true);
    const skipped = view.getUint16(place + 30, true) + view.getUint16(place + 32, true);
    const mode = view.getUint32(place + 38, true) >>> 16;
    const local = view.getUint32(place + 42, true);
    const name = new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(place + 46, place + 46 + nameLength));
    place += 46 + nameLength + skipped;
    total += size;
    if (total > LARGEST) throw new Error("the archive is larger than a gibibyte");
    if ((mode & 0xf000) === 0xa000) throw new Error("the archive holds a link");
    if (name.endsWith("/")) continue;
    const start = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true);
    const content = bytes.subarray(start, start + packed);
    if (files.has(name)) throw new Error("the archive holds a file twice");
    files.set(name, method === 0 ? content : method === 8 ? await inflate(content, size) : refuse());
  }
  return withoutCommonFolder(files);
}

/** @returns {never} */
function refuse() {
  throw new Error("the archive is packed in a way that this page does not read");
}

/** @param {Uint8Array} content @param {number} size */
async function inflate(content, size) {
  const stream = new Blob([/** @type {BlobPart} */ (content)]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const result = new Uint8Array(size);
  let filled = 0;
  for (const reader = stream.getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done) break;
    if (filled + value.length > size) throw new Error("the archive is damaged");
    result.set(value, filled);
    filled += value.length;
  }
  if (filled !== size) throw new Error("the archive is damaged");
  return result;
}

/**
 * Leave out the folder that all files lie in, if there is one and the certificate is in it.
 *
 * @param {Map<string, Uint8Array>} files
 */
export function withoutCommonFolder(files) {
  for (const name of files.keys()) {
    if (name.startsWith("/") || name.includes("\\") || name.split("/").includes("..")) {
      throw new Error("a name leads out of the folder");
    }
  }
  const certificates = [...files.keys()].filter((name) => /^[^/]*\/?certificate\.json$/.test(name));
  if (certificates.length !== 1) throw new Error("there is no release here: no certificate.json, or several");
  const folder = certificates[0].slice(0, -"certificate.json".length);
  return new Map([...files].map(([name, content]) => {
    if (!name.startsWith(folder)) throw new Error("there are files beside the folder of the release");
    return [name.slice(folder.length), content];
  }));
}
