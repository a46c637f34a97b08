import assert from "node:assert/strict";
import test from "node:test";
import { deflateRawSync } from "node:zlib";
import { readZip } from "../src/archive.js";

const text = (/** @type {string} */ value) => new TextEncoder().encode(value);

/** @param {Uint8Array} bytes */
function sumOf(bytes) {
  let sum = 0xffffffff;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit += 1) sum = sum & 1 ? (sum >>> 1) ^ 0xedb88320 : sum >>> 1;
  }
  return (sum ^ 0xffffffff) >>> 0;
}

/**
 * Write an archive; an entry may say something else in the header before it than in the directory.
 *
 * @param {{name: string, local?: string, content: string, method?: number, sum?: number, mode?: number, unlisted?: boolean}[]} entries
 * @param {{before?: string, behind?: string}} around
 */
function zip(entries, { before = "", behind = "" } = {}) {
  const parts = [Buffer.from(before)];
  const directory = [];
  for (const { name, local = name, content, method = 8, sum, mode = 0, unlisted } of entries) {
    const plain = text(content);
    const packed = method === 8 ? deflateRawSync(plain) : Buffer.from(plain);
    const place = Buffer.concat(parts).length;
    const header = Buffer.alloc(30);
    header.writeUInt32LE(0x04034b50, 0);
    header.writeUInt16LE(method, 8);
    header.writeUInt32LE(sum ?? sumOf(plain), 14);
    header.writeUInt32LE(packed.length, 18);
    header.writeUInt32LE(plain.length, 22);
    header.writeUInt16LE(text(local).length, 26);
    parts.push(header, Buffer.from(text(local)), packed);
    if (unlisted) continue;
    const entry = Buffer.alloc(46);
    entry.writeUInt32LE(0x02014b50, 0);
    entry.writeUInt16LE(method, 10);
    header.copy(entry, 16, 14, 26);
    entry.writeUInt16LE(text(name).length, 28);
    entry.writeUInt32LE((mode << 16) >>> 0, 38);
    entry.writeUInt32LE(place, 42);
    directory.push(entry, Buffer.from(text(name)));
  }
  const [files, listed] = [Buffer.concat(parts), Buffer.concat(directory)];
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  const count = entries.filter((each) => !each.unlisted).length;
  end.writeUInt16LE(count, 8);
  end.writeUInt16LE(count, 10);
  end.writeUInt32LE(listed.length, 12);
  end.writeUInt32LE(files.length, 16);
  return new Uint8Array(Buffer.concat([files, listed, end, Buffer.from(behind)]));
}

const good = [{ name: "release/certificate.json", content: "{}" }, { name: "release/data.parquet", content: "PAR1", method: 0 }];

test("an archive is read, with the folder that all files lie in left out", async () => {
  const files = await readZip(zip(good));
  assert.deepEqual([...files.keys()], ["certificate.json", "data.parquet"]);
  assert.equal(new TextDecoder().decode(files.get("data.parquet")), "PAR1");
});

test("an archive that other programs might unpack otherwise is refused", async () => {
  const forged = {
    "bytes before it": zip(good, { before: "#!/bin/sh\n" }),
    "bytes behind it": zip(good, { behind: "Vera Hill" }),
    "another name in front of the file": zip([good[0], { ...good[1], local: "release/data.parquEt" }]),
    "a file that the directory does not list": zip([good[0], { ...good[1], unlisted: true }, good[1]]),
    "a file twice": zip([...good, good[1]]),
    "a wrong sum": zip([good[0], { ...good[1], sum: 7 }]),
    "a link": zip([good[0], { ...good[1], mode: 0xa1ff }]),
    "an empty folder": zip([...good, { name: "release/Vera Hill/", content: "", method: 0 }]),
    "a file beside the folder": zip([...good, { name: "note.txt", content: "x" }]),
    "a way out": zip([...good, { name: "release/../../x", content: "x" }]),
  };
  for (const [name, bytes] of Object.entries(forged)) await assert.rejects(readZip(bytes), Error, name);
});
