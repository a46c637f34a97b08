// The files of a release: from a folder that was dropped, or from a zip archive.

const LARGEST = 2 ** 30;
const MOST_FILES = 10_000;

const END = 0x06054b50;
const ENTRY = 0x02014b50;
const LOCAL = 0x04034b50;
/** Other names of a file, which other programs would give it. */
const OTHER_NAME = 0x7075;

/**
 * Read a zip archive of at most a gibibyte in which every byte belongs to one file, so that every program unpacks the
 * same ones. Names that leave the folder, links and encryption are refused.
 *
 * @param {Uint8Array} bytes
 * @returns {Promise<Map<string, Uint8Array>>}
 */
export async function readZip(bytes) {
  if (bytes.length < 22 || bytes.length > LARGEST) throw new Error("this is not a zip archive, or larger than a gibibyte");
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const end = bytes.length - 22;
  if (view.getUint32(end, true) !== END) throw new Error("this is not a zip archive, or it has a comment");
  const [entries, size, start] = [view.getUint16(end + 10, true), view.getUint32(end + 12, true), view.getUint32(end + 16, true)];
  if (entries > MOST_FILES) throw new Error("the archive has too many files");
  if (view.getUint32(end + 4, true) !== 0 || view.getUint16(end + 8, true) !== entries || start + size !== end) throw damaged();
  /** @type {Map<string, Uint8Array>} */
  const files = new Map();
  /** @type {Set<string>} */
  const folders = new Set();
  /** @type {[number, number, number][]} */
  const places = [];
  let [place, total] = [start, 0];
  for (let number = 0; number < entries; number += 1) {
    const entry = readEntry(view, bytes, place, start);
    place = entry.next;
    total += entry.size;
    if (total > LARGEST) throw new Error("the archive is larger than a gibibyte");
    places.push([entry.local, entry.content + entry.packed, entry.isDescribed ? 24 : 0]);
    const content = bytes.subarray(entry.content, entry.content + entry.packed);
    if (files.has(entry.name) || folders.has(entry.name)) throw new Error("the archive holds a file twice");
    if (entry.name.endsWith("/")) {
      if (entry.size > 0 || entry.packed > 2) throw damaged();
      folders.add(entry.name);
      continue;
    }
    const unpacked = entry.method === 0 ? content : entry.method === 8 ? await inflate(content, entry.size) : refuse();
    if (unpacked.length !== entry.size || crc32(unpacked) !== entry.sum) throw damaged();
    files.set(entry.name, unpacked);
  }
  if (place !== end) throw damaged();
  requireNothingBetween(places, start);
  for (const folder of folders) if (![...files.keys()].some((name) => name.startsWith(folder))) throw new Error("the archive holds an empty folder");
  return withoutCommonFolder(files);
}

/**
 * Read an entry of the directory, and compare it with the header that stands before the file.
 *
 * @param {DataView} view @param {Uint8Array} bytes @param {number} place @param {number} directory
 */
function readEntry(view, bytes, place, directory) {
  if (view.getUint32(place, true) !== ENTRY) throw damaged();
  const [flags, method, sum] = [view.getUint16(place + 8, true), view.getUint16(place + 10, true), view.getUint32(place + 16, true)];
  const [packed, size, local] = [view.getUint32(place + 20, true), view.getUint32(place + 24, true), view.getUint32(place + 42, true)];
  const [nameLength, extraLength, comment] = [28, 30, 32].map((offset) => view.getUint16(place + offset, true));
  const mode = view.getUint32(place + 38, true) >>> 16;
  if ((mode & 0xf000) === 0xa000) throw new Error("the archive holds a link");
  if ((flags & ~0x080e) !== 0) throw refusal();
  if (comment > 0) throw new Error("the archive has a comment");
  const named = bytes.subarray(place + 46, place + 46 + nameLength);
  const next = place + 46 + nameLength + extraLength;
  if (local + 30 + nameLength > directory || view.getUint32(local, true) !== LOCAL) throw damaged();
  const localExtra = view.getUint16(local + 28, true);
  const content = local + 30 + nameLength + localExtra;
  const isDescribed = (flags & 8) !== 0;
  const repeated = [[6, flags, 2], [8, method, 2], [26, nameLength, 2], ...(isDescribed ? [] : [[14, sum, 4], [18, packed, 4], [22, size, 4]])];
  for (const [offset, value, width] of repeated) {
    if ((width === 2 ? view.getUint16(local + offset, true) : view.getUint32(local + offset, true)) !== value) throw damaged();
  }
  if (content + packed > directory || named.some((byte, at) => bytes[local + 30 + at] !== byte)) throw damaged();
  for (const [from, length] of [[next - extraLength, extraLength], [content - localExtra, localExtra]]) {
    for (let at = from; at + 4 <= from + length; at += 4 + view.getUint16(at + 2, true)) if (view.getUint16(at, true) === OTHER_NAME) throw damaged();
  }
  const name = new TextDecoder("utf-8", { fatal: true }).decode(named);
  return { name, method, sum, packed, size, local, content, next, isDescribed };
}

/**
 * Files stand one after the other from the first byte on, each with at most its sums behind it.
 *
 * @param {[number, number, number][]} places  where each begins and ends, and how many bytes may follow
 * @param {number} directory
 */
function requireNothingBetween(places, directory) {
  places.sort((a, b) => a[0] - b[0]);
  let [from, most] = [0, 0];
  for (const [begin, end, behind] of [...places, /** @type {[number, number, number]} */ ([directory, directory, 0])]) {
    if (begin < from || begin > from + most || (begin > from && begin < from + 12)) throw damaged();
    [from, most] = [end, behind];
  }
}

const damaged = () => new Error("the archive is damaged, or holds more than files");
const refusal = () => new Error("the archive is packed in a way that this page does not read");

const SUMS = Uint32Array.from({ length: 256 }, (_, byte) => {
  let sum = byte;
  for (let bit = 0; bit < 8; bit += 1) sum = sum & 1 ? (sum >>> 1) ^ 0xedb88320 : sum >>> 1;
  return sum;
});

/** @param {Uint8Array} bytes */
function crc32(bytes) {
  let sum = 0xffffffff;
  for (let at = 0; at < bytes.length; at += 1) sum = SUMS[(sum ^ bytes[at]) & 0xff] ^ (sum >>> 8);
  return (sum ^ 0xffffffff) >>> 0;
}

/** @returns {never} */
function refuse() {
  throw refusal();
}

/** @param {Uint8Array} content @param {number} size */
async function inflate(content, size) {
  const stream = new Blob([/** @type {BlobPart} */ (content)]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const result = new Uint8Array(size);
  let filled = 0;
  for (const reader = stream.getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done) break;
    if (filled + value.length > size) throw damaged();
    result.set(value, filled);
    filled += value.length;
  }
  if (filled !== size) throw damaged();
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
