// Data files: Parquet tables as columns of values that compare as the release compares them.

import { decompress as unzstd } from "fzstd";
import { parquetMetadata, parquetRead, parquetSchema } from "hyparquet";

/** @typedef {{names: string[], columns: Map<string, (string | number | bigint | null)[]>, records: number, scales?: Map<string, number>}} TableData
 *   `scales`: digits behind the point of columns of decimals */

const WRITER = /^(DuckDB|parquet-cpp-arrow|parquet-mr) version [\w.+-]{1,40}( \(build \w{1,40}\))?$/;
const CODECS = new Set(["ZSTD", "SNAPPY", "UNCOMPRESSED"]);
const MOST_CELLS = 200_000_000;

/**
 * Read a Parquet file, after comparing what its footer says with what is expected.
 *
 * @param {Uint8Array} bytes
 * @param {string[]} names
 * @param {number} most  records that the file may have
 * @returns {Promise<TableData>}
 */
export async function readParquet(bytes, names, most) {
  const buffer = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
  const file = /** @type {ArrayBuffer} */ (buffer);
  const metadata = parquetMetadata(file);
  const found = parquetSchema(metadata).children.map((each) => each.element.name);
  if (JSON.stringify(found) !== JSON.stringify(names)) throw new Mismatch("its columns are not the certified ones");
  if ((metadata.key_value_metadata ?? []).length > 0) throw new Mismatch("it holds more than records: metadata");
  if (metadata.row_groups.some(holdsMore)) throw new Mismatch("it holds more than records: an index, a filter, metadata, or a compression of another kind");
  if (!WRITER.test(metadata.created_by ?? "")) throw new Mismatch("it names a program that does not write such files");
  const records = Number(metadata.num_rows);
  if (records > most) throw new Mismatch("its number of records is not the certified one");
  if (records * Math.max(names.length, 1) > MOST_CELLS) throw new Error("the table is too large for this page");
  /** @type {Map<string, any[]>} */
  const columns = new Map(names.map((name) => [name, new Array(records).fill(null)]));
  await parquetRead({
    file,
    metadata,
    utf8: true,
    compressors: { ZSTD: (input, size) => unzstd(input, new Uint8Array(size)) },
    onChunk: ({ columnName, columnData, rowStart }) => {
      const column = columns.get(columnName);
      if (column === undefined) throw new Mismatch("it has a column within a column");
      for (let row = 0; row < columnData.length; row += 1) column[rowStart + row] = plain(columnData[row]);
    },
  });
  const decimals = metadata.schema.filter((each) => each.converted_type === "DECIMAL" || each.logical_type?.type === "DECIMAL");
  return { names, columns, records, scales: new Map(decimals.map((each) => [each.name, each.scale ?? 0])) };
}

/**
 * Join the parts of a table, in their order.
 *
 * @param {TableData[]} parts
 * @returns {TableData}
 */
export function joinParts(parts) {
  if (parts.length === 1) return parts[0];
  const names = parts[0].names;
  const columns = new Map(names.map((name) => [name, parts.flatMap((part) => /** @type {any[]} */ (part.columns.get(name)))]));
  return { names, columns, records: parts.reduce((sum, part) => sum + part.records, 0) };
}

/**
 * Whether a group of records has what no writer of releases makes.
 *
 * @param {import("hyparquet").RowGroup} group
 */
function holdsMore(group) {
  return group.sorting_columns !== undefined || group.columns.some((each) => {
    const meta = each.meta_data;
    return each.file_path !== undefined || each.column_index_offset !== undefined || each.offset_index_offset !== undefined ||
      meta?.bloom_filter_offset !== undefined || meta?.key_value_metadata !== undefined || !CODECS.has(meta?.codec ?? "");
  });
}

/** What a file shows is not what its certificate says. */
export class Mismatch extends Error {}

/**
 * Return a value that compares with ===: dates as text, missing values as null.
 *
 * @param {any} value
 */
function plain(value) {
  if (value === undefined || value === null) return null;
  if (value instanceof Date) {
    const text = value.toISOString();
    return text.endsWith("T00:00:00.000Z") ? text.slice(0, 10) : text;
  }
  if (typeof value === "boolean") return String(value);
  if (typeof value === "number" && Number.isNaN(value)) return null;
  if (typeof value === "number" && value === 0) return 0;
  if (value instanceof Uint8Array) return [...value].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  if (typeof value === "bigint" && value >= -(2n ** 53n) && value <= 2n ** 53n) return Number(value);
  if (typeof value === "object") throw new Mismatch("it has a column within a column");
  return value;
}

/**
 * Whether records are sorted by their columns from left to right, missing values last.
 *
 * @param {TableData} table
 */
export function isSorted(table) {
  const columns = table.names.map((name) => /** @type {any[]} */ (table.columns.get(name)));
  for (let row = 1; row < table.records; row += 1) {
    for (const column of columns) {
      const order = compare(column[row - 1], column[row]);
      if (order > 0) return false;
      if (order < 0) break;
    }
  }
  return true;
}

/** Compare values as releases are sorted: by number or text, missing ones last. @param {any} left @param {any} right */
export function compare(left, right) {
  if (left === right) return 0;
  if (left === null || right === null) return left === null ? 1 : -1;
  if (typeof left !== "string") return left < right ? -1 : 1;
  for (let place = 0; place < left.length && place < right.length; place += 1) {
    if (left.charCodeAt(place) !== right.charCodeAt(place)) {
      return /** @type {number} */ (left.codePointAt(place)) < /** @type {number} */ (right.codePointAt(place)) ? -1 : 1;
    }
  }
  return left.length - right.length;
}

/**
 * Number the classes: records that are equal in all of some columns, in the order in which they appear.
 *
 * @param {TableData} table
 * @param {string[]} names
 * @returns {{classOf: Int32Array, sizes: number[]}}
 */
export function classesOf(table, names) {
  const classOf = new Int32Array(table.records);
  let count = table.records > 0 ? 1 : 0;
  for (const name of names) {
    const column = /** @type {any[]} */ (table.columns.get(name));
    /** @type {Map<any, number>} */
    const codes = new Map();
    /** @type {Map<number, number>} */
    const joint = new Map();
    const width = table.records + 1;
    for (let row = 0; row < table.records; row += 1) {
      let code = codes.get(column[row]);
      if (code === undefined) codes.set(column[row], (code = codes.size));
      const key = classOf[row] * width + code;
      let number = joint.get(key);
      if (number === undefined) joint.set(key, (number = joint.size));
      classOf[row] = number;
    }
    count = joint.size;
  }
  const sizes = new Array(count).fill(0);
  for (const number of classOf) sizes[number] += 1;
  return { classOf, sizes };
}
