// Text files of rows: hierarchies, and copies of tables as CSV.

import { fails, holds } from "./outcome.js";

/** @typedef {import("./data.js").TableData} TableData */

const NUMBER = /^-?(0|[1-9][0-9]*)(\.(0|[0-9]*[1-9]))?([eE][+-]?[0-9]{1,3})?$/;
/** How far a number may lie from its notation: decimals are not read exactly here. */
const NEAR = 1e-12;

/** @param {string} text @param {string} delimiter */
export function readDelimited(text, delimiter) {
  /** @type {string[][]} */
  const rows = [];
  /** @type {string[]} */
  let row = [];
  let [cell, isQuoted, place] = ["", false, 0];
  const endRow = () => {
    row.push(cell);
    rows.push(row);
    [row, cell] = [[], ""];
  };
  for (; place < text.length; place += 1) {
    const sign = text[place];
    if (isQuoted) {
      if (sign !== '"') cell += sign;
      else if (text[place + 1] === '"') (cell += '"'), (place += 1);
      else isQuoted = false;
    } else if (sign === '"' && cell === "") isQuoted = true;
    else if (sign === delimiter) row.push(cell), (cell = "");
    else if (sign === "\n") endRow();
    else if (sign !== "\r") cell += sign;
  }
  if (cell !== "" || row.length > 0) endRow();
  return rows;
}

/**
 * Write a cell as releases do: in quotes only where it holds the delimiter, a quote or a line break.
 *
 * @param {string} cell @param {string} delimiter
 */
const written = (cell, delimiter) => (cell.includes(delimiter) || /["\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);

/**
 * Whether a hierarchy file holds rows and nothing else, none twice, written as releases write them.
 *
 * @param {Uint8Array} bytes @param {string} delimiter
 */
export function isCanonical(bytes, delimiter) {
  const text = decode(bytes);
  const lines = readDelimited(text, delimiter).map((row) => row.map((cell) => written(cell, delimiter)).join(delimiter));
  return new Set(lines).size === lines.length && !text.startsWith("\uFEFF") && text === lines.map((line) => `${line}\n`).join("");
}

/**
 * Compare a copy of a table as CSV with the table, record by record.
 *
 * @param {string} name @param {Uint8Array} bytes @param {TableData} table
 */
export function checkCopy(name, bytes, table) {
  const text = decode(bytes);
  const [header, ...rows] = readDelimited(text, ",");
  const columns = table.names.map((column) => /** @type {any[]} */ (table.columns.get(column)));
  const isSame = rows.length === table.records && (header ?? []).join("\n") === table.names.join("\n") &&
    rows.every((row, place) => row.length === columns.length && row.every((cell, j) => isNotedAs(columns[j][place], cell, table.scales?.get(table.names[j]))));
  if (!isSame) return fails(name, "it does not hold the records of the table");
  /** @param {string} cell @param {any} value */
  const again = (cell, value) => (value === "" ? '""' : written(cell, ","));
  const lines = [table.names.map((each) => written(each, ",")).join(","), ...rows.map((row, place) => row.map((cell, j) => again(cell, columns[j][place])).join(","))];
  return text === `${lines.join("\n")}\n`
    ? holds(name, "the records of the table, written as Shoal writes them")
    : fails(name, "the records of the table, but not written as Shoal writes them");
}

/** @param {any} value @param {string} cell @param {number} [scale]  digits behind the point of a decimal */
function isNotedAs(value, cell, scale) {
  if (value === null) return cell === "" || cell === "nan";
  if (scale !== undefined && typeof value === "number" && cell === value.toFixed(scale)) return true;
  if (String(value) === cell) return true;
  if (typeof value === "number") {
    const number = Number(cell);
    return NUMBER.test(cell) && (number === value || Math.fround(number) === value || Math.abs(number - value) <= NEAR * Math.abs(value));
  }
  const time = /^\d{4}-\d{2}-\d{2}T/.test(value) ? Date.parse(`${cell.replace(" ", "T").replace(/([+-]\d{2})$/, "$1:00")}${/[+-]\d{2}(:\d{2})?$|Z$/.test(cell) ? "" : "Z"}`) : NaN;
  return !Number.isNaN(time) && new Date(time).toISOString() === value;
}

/** Decode text; a byte order mark stays. @param {Uint8Array} bytes */
const decode = (bytes) => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
