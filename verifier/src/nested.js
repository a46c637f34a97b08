// Releases of several tables: rows of people, and rows below them, that keys join.

import { compare } from "./data.js";
import { fails, holds, unchecked } from "./outcome.js";
import { countValues } from "./promises.js";
import { isAtMost, readRational } from "./rational.js";

/**
 * @typedef {import("./certificate.js").Certificate} Certificate
 * @typedef {import("./data.js").TableData} TableData
 * @typedef {import("./outcome.js").Finding} Finding
 * @typedef {{name: string, parent?: string, keys: string[], parentKey?: string, columns: Record<string, any>, released: string[],
 *   known: string[], atMost: number, sizes: [string, string][]}} TablePlan  `sizes`: columns that count the rows of a table below
 * @typedef {{label: string, below: Row[], position: number, table: string}} Row
 */

/** So many choices of known rows are looked at. */
const MOST_CHOICES = 20_000_000;
const HIDDEN = new Set(["identifier", "person", "household", "drop", "decide"]);

/**
 * The tables of a plan, that of the people first, then level by level.
 *
 * @param {Record<string, any>} tables
 * @returns {TablePlan[]}
 */
export function orderTables(tables) {
  const entries = Object.entries(tables);
  /** @param {string} name */
  const ownKey = (name) => tables[name].key ?? `${name}_number`;
  /** @type {TablePlan[]} */
  const ordered = [];
  for (let level = entries.filter(([, each]) => each.parent === undefined); level.length > 0; ) {
    for (const [name, each] of level) {
      const hasRowsBelow = entries.some(([, other]) => other.parent === name);
      const parentKey = each.parent === undefined ? undefined : each.parent_key ?? ownKey(each.parent);
      const columns = each.columns ?? {};
      const released = Object.keys(columns).filter((column) => !HIDDEN.has(columns[column].role));
      ordered.push({
        name, parent: each.parent, parentKey, columns, released,
        keys: [...(hasRowsBelow || each.parent === undefined ? [ownKey(name)] : []), ...(parentKey === undefined ? [] : [parentKey])],
        atMost: each.at_most ?? Infinity,
        sizes: entries.filter(([, other]) => other.parent === name && other.size !== undefined).map(([other, { size }]) => [size, other]),
        known: released.filter((column) => columns[column].role === "quasi-identifier"),
      });
    }
    const above = new Set(level.map(([name]) => name));
    level = entries.filter(([, each]) => above.has(each.parent));
  }
  if (ordered.length !== entries.length || entries.filter(([, each]) => each.parent === undefined).length !== 1) {
    throw new Error("its tables are not one tree");
  }
  return ordered;
}

/**
 * Compare files, columns, roles and domains of the certificate with the tables of the plan.
 *
 * @param {Certificate} certificate @param {TablePlan[]} plan @param {boolean} isShifted  whether dates are shifted at random
 * @returns {Finding[]}
 */
export function checkTables(certificate, plan, isShifted) {
  /** @type {Finding[]} */
  const findings = [];
  const tables = [certificate.data, ...certificate.further_data];
  if (tables.map((data) => data.file).join() !== plan.map((table) => `${table.name}.parquet`).join()) findings.push(fails("tables", "they are not those of the plan"));
  else tables.forEach((data, place) => {
    const { keys, released, columns, sizes } = plan[place];
    const expected = [
      ...keys.map((name) => [name, "identifier", "numeric"]), ...released.map((name) => [name, columns[name].role, columns[name].kind ?? "categorical"]),
      ...sizes.map(([name]) => [name, "quasi-identifier", "numeric"]),
    ];
    const found = data.columns.map((each) => [each.name, each.role, each.kind]);
    if (JSON.stringify(found) !== JSON.stringify(expected)) findings.push(fails(data.file, "its columns, roles and kinds are not those of the plan"));
    if (data.class_column !== undefined) findings.push(fails(data.file, "tables that keys join have no classes"));
  });
  const draws = isShifted || plan.some((table) => table.atMost < Infinity);
  if (!draws && certificate.randomness !== "none used") findings.push(fails("randomness", "nothing in the plan asks for random numbers"));
  const known = plan.flatMap((table) => table.known.map((name) => `${table.name}.${name}`));
  if (certificate.domains.map((/** @type {any} */ each) => each.column).join("\n") !== known.join("\n")) findings.push(fails("domains", "they are not those of the known columns"));
  plan.forEach((table, number) => Object.entries(table.columns).forEach(([name, described], place) => {
    const file = described.hierarchy?.file;
    if (described.hierarchy !== undefined && HIDDEN.has(described.role)) findings.push(fails(name, "the plan gives a hierarchy to a column that is not released"));
    else if (file !== undefined && !new RegExp(`^hierarchies/${number + 1}-${place + 1}(-[^/]*)?\\.csv$`).test(file)) findings.push(fails(name, "its hierarchy file does not have the name that Shoal gives it"));
  }));
  if (certificate.budget !== undefined || certificate.account !== undefined || certificate.rehearsal !== undefined || certificate.policy !== undefined ||
    Object.keys(certificate.measures ?? {}).length > 0) {
    findings.push(fails("certificate.json", "it states budgets, measures or a rehearsal, which a release of several tables does not have"));
  }
  return findings;
}

/**
 * Check keys, the order of the rows and the promises.
 *
 * @param {Certificate} certificate @param {TablePlan[]} plan @param {Map<string, TableData>} tables  by name
 * @param {any[]} asked  the promises of the plan
 * @returns {Finding[]}
 */
export function checkNested(certificate, plan, tables, asked) {
  if (plan.some((table) => !tables.has(table.name))) return [unchecked("keys and order", "a table was not read")];
  const keys = checkKeys(plan, tables);
  if (keys.status === "fails") return [keys];
  const people = readTrees(plan, tables);
  const said = certificate.promises.map((each) => [each.model, ...Object.entries(each.parameters).sort()].join("\n"));
  const wanted = asked.map(({ model, ...parameters }) => [model, ...Object.entries(parameters).sort()].join("\n"));
  const findings = [keys, checkOrder(plan, tables)];
  if (said.join("\n\n") !== wanted.join("\n\n")) findings.push(fails("promises", "they are not those that the plan asks for"));
  const paths = plan.map((table) => table.name);
  for (const promise of certificate.promises) {
    const subject = `${promise.model} ${Object.entries(promise.parameters).filter(([name]) => name !== "value").map(([name, value]) => `${name} = ${value}`).join(", ")}`;
    const finding = promise.strength !== "syntactic" ? fails(subject, "a promise of this kind is syntactic, and the certificate says otherwise")
      : promise.model === "known-items" ? checkItems(subject, promise.parameters, people)
      : promise.model === "secret-among-known-items" ? checkSecret(subject, promise.parameters, people, tables, paths)
      : fails(subject, "a release of several tables does not make this promise");
    findings.push({ ...finding, isPromise: true });
  }
  return findings;
}

/** Keys are places of rows, and every row belongs to a row above. @param {TablePlan[]} plan @param {Map<string, TableData>} tables */
function checkKeys(plan, tables) {
  for (const { name, keys, parent, parentKey } of plan) {
    const table = /** @type {TableData} */ (tables.get(name));
    for (const key of keys) {
      const values = /** @type {any[]} */ (table.columns.get(key));
      const above = parent === undefined ? 0 : /** @type {TableData} */ (tables.get(parent)).records;
      const good = key === parentKey
        ? values.every((value) => Number.isInteger(value) && value >= 1 && value <= above)
        : values.every((value, row) => value === row + 1);
      if (!good) return fails("keys", `those of ${name} are not places of rows`);
    }
  }
  for (const { name, sizes, parentKey, atMost } of plan) {
    if (parentKey !== undefined && [...countValues(/** @type {any[]} */ (tables.get(name)?.columns.get(parentKey))).values()].some((number) => number > atMost)) {
      return fails("keys", `more rows of ${name} belong to a row than the plan allows`);
    }
    for (const [column, below] of sizes) {
      const owner = /** @type {string} */ (plan.find((table) => table.name === below)?.parentKey);
      const counts = countValues(/** @type {any[]} */ (tables.get(below)?.columns.get(owner)));
      const said = /** @type {any[]} */ (tables.get(name)?.columns.get(column));
      if (said.some((value, row) => value !== (counts.get(row + 1) ?? 0))) return fails("keys", `${column} is not how many rows belong to each row`);
    }
  }
  return holds("keys", "places of rows; every row belongs to a row above it");
}

/**
 * Rows are sorted by the rows above them, then by their columns, then by the sorted rows below them, table by table.
 *
 * @param {TablePlan[]} plan @param {Map<string, TableData>} tables
 */
function checkOrder(plan, tables) {
  /** @type {Map<string, number[]>} */
  const ranks = new Map();
  for (const table of [...plan].reverse()) {
    const data = /** @type {TableData} */ (tables.get(table.name));
    const columns = [...table.released, ...table.sizes.map(([column]) => column)].map((name) => /** @type {any[]} */ (data.columns.get(name)));
    const lists = plan.filter((other) => other.parent === table.name).map((other) => ranksBelow(other, data.records, tables, ranks));
    /** @param {number} a @param {number} b */
    const order = (a, b) => {
      for (const column of columns) {
        const found = compare(column[a], column[b]);
        if (found !== 0) return found;
      }
      for (const list of lists) {
        const found = compareLists(list[a], list[b]);
        if (found !== 0) return found;
      }
      return 0;
    };
    const sorted = Array.from({ length: data.records }, (_, row) => row).sort(order);
    const rank = new Array(data.records).fill(0);
    sorted.forEach((row, place) => { rank[row] = place > 0 && order(sorted[place - 1], row) === 0 ? rank[sorted[place - 1]] : place; });
    const above = table.parentKey === undefined ? undefined : data.columns.get(table.parentKey);
    for (let row = 1; row < data.records; row += 1) {
      const owner = above === undefined ? 0 : Number(above[row]) - Number(above[row - 1]);
      if (owner < 0 || (owner === 0 && rank[row] < rank[row - 1])) return fails("order", `rows of ${table.name} are not in the order of what they hold`);
    }
    ranks.set(table.name, rank);
  }
  return holds("order", "that of what the rows hold");
}

/** @param {TablePlan} table @param {number} records @param {Map<string, TableData>} tables @param {Map<string, number[]>} ranks */
function ranksBelow(table, records, tables, ranks) {
  /** @type {number[][]} */
  const lists = Array.from({ length: records }, () => []);
  const owners = /** @type {any[]} */ (tables.get(table.name)?.columns.get(/** @type {string} */ (table.parentKey)));
  const rank = /** @type {number[]} */ (ranks.get(table.name));
  owners.forEach((owner, row) => lists[owner - 1].push(rank[row]));
  for (const list of lists) list.sort((a, b) => a - b);
  return lists;
}

/** @param {number[]} left @param {number[]} right */
function compareLists(left, right) {
  for (let place = 0; place < left.length && place < right.length; place += 1) {
    if (left[place] !== right[place]) return left[place] - right[place];
  }
  return left.length - right.length;
}

/**
 * The rows of every person with the rows below them; a label is what others may know of a row.
 *
 * @param {TablePlan[]} plan @param {Map<string, TableData>} tables
 * @returns {Row[]}
 */
function readTrees(plan, tables) {
  /** @type {Map<string, Row[]>} */
  const rows = new Map();
  plan.forEach((table, number) => {
    const data = /** @type {TableData} */ (tables.get(table.name));
    const columns = [...table.known, ...table.sizes.map(([column]) => column)].map((name) => /** @type {any[]} */ (data.columns.get(name)));
    const made = Array.from({ length: data.records }, (_, row) => ({
      label: JSON.stringify([number, ...columns.map((column) => column[row])]), below: /** @type {Row[]} */ ([]), position: row, table: table.name,
    }));
    rows.set(table.name, made);
    if (table.parent === undefined) return;
    const above = /** @type {Row[]} */ (rows.get(table.parent));
    const owners = /** @type {any[]} */ (data.columns.get(/** @type {string} */ (table.parentKey)));
    made.forEach((row, place) => above[owners[place] - 1].below.push(row));
  });
  return /** @type {Row[]} */ (rows.get(plan[0].name));
}

/**
 * Every pattern of a person: each choice of at most m rows below it, with all rows above them, written in one way.
 *
 * @param {Row} person @param {number} most
 */
function patternsOf(person, most) {
  /** @type {Row[]} */
  const rows = [];
  /** @type {Map<Row, Row>} */
  const above = new Map();
  /** @param {Row} row */
  const collect = (row) => row.below.forEach((each) => { above.set(each, row); rows.push(each); collect(each); });
  collect(person);
  /** @type {Set<string>} */
  const patterns = new Set();
  /** @param {Row} row @param {Set<Row>} known @returns {string} */
  const write = (row, known) => `${row.label}(${row.below.filter((each) => known.has(each)).map((each) => write(each, known)).sort().join("")})`;
  /** @param {number} from @param {Row[]} chosen */
  const choose = (from, chosen) => {
    const known = new Set(chosen);
    for (let row of chosen) while ((row = /** @type {Row} */ (above.get(row))) !== undefined) known.add(row);
    patterns.add(write(person, known));
    if (chosen.length < most) for (let place = from; place < rows.length; place += 1) choose(place + 1, [...chosen, rows[place]]);
  };
  choose(0, []);
  return patterns;
}

/**
 * How many people show each pattern, and how many of these have a secret; undefined where there are too many to look at.
 *
 * @param {Row[]} people @param {number} most @param {Set<number>} holders  places of the people with the secret
 */
function countPatterns(people, most, holders) {
  /** @param {Row} row @returns {number} */
  const size = (row) => row.below.reduce((sum, each) => sum + 1 + size(each), 0);
  /** @param {Row} row @returns {string} */
  const write = (row) => `${row.label}(${row.below.map(write).sort().join("")})`;
  /** @type {Map<string, {person: Row, number: number, having: number}>} */
  const alike = new Map();
  for (const person of people) {
    const key = write(person);
    const same = alike.get(key) ?? { person, number: 0, having: 0 };
    alike.set(key, { person, number: same.number + 1, having: same.having + (holders.has(person.position) ? 1 : 0) });
  }
  let choices = 0;
  for (const { person } of alike.values()) {
    const rows = size(person);
    for (let [known, ways] = [0, 1]; known <= most && known <= rows; ways = (ways * (rows - known)) / (known + 1), known += 1) choices += ways;
  }
  if (choices > MOST_CHOICES) return undefined;
  /** @type {Map<string, [number, number]>} */
  const counts = new Map();
  for (const { person, number, having } of alike.values()) {
    for (const pattern of patternsOf(person, most)) {
      const [all, those] = counts.get(pattern) ?? [0, 0];
      counts.set(pattern, [all + number, those + having]);
    }
  }
  return counts;
}

const TOO_MANY = "people have too many rows for this page to look at every choice of them";

/** @param {string} subject @param {Record<string, any>} parameters @param {Row[]} people */
function checkItems(subject, { k, m }, people) {
  if (!Number.isInteger(k) || k < 1 || !Number.isInteger(m) || m < 0) return fails(subject, "k and m are no whole numbers");
  const counts = countPatterns(people, m, new Set());
  if (counts === undefined) return unchecked(subject, TOO_MANY);
  const fewest = [...counts.values()].reduce((least, [all]) => Math.min(least, all), Infinity);
  return fewest >= k ? holds(subject, `at least ${fewest} people show each of ${counts.size.toLocaleString("en-US")} patterns`)
    : fails(subject, `a pattern is shown by ${fewest} people`);
}

/** @param {string} subject @param {Record<string, any>} parameters @param {Row[]} people @param {Map<string, TableData>} tables @param {string[]} names */
function checkSecret(subject, { column, value, c, m }, people, tables, names) {
  const name = names.find((each) => String(column).startsWith(`${each}.`)) ?? "";
  const values = tables.get(name)?.columns.get(String(column).slice(name.length + 1));
  if (values === undefined || !Number.isInteger(m) || m < 0) return fails(subject, "the release does not have its column");
  /** @param {Row} row @returns {boolean} */
  const has = (row) => (row.table === name && values[row.position] !== null && String(values[row.position]) === value) || row.below.some(has);
  const counts = countPatterns(people, m, new Set(people.filter(has).map((person) => person.position)));
  if (counts === undefined) return unchecked(subject, TOO_MANY);
  let limit;
  try {
    limit = readRational(c);
  } catch {
    return fails(subject, "its certainty is no number");
  }
  return [...counts.values()].every(([all, having]) => isAtMost(BigInt(having), BigInt(all), limit))
    ? holds(subject, `in none of ${counts.size.toLocaleString("en-US")} patterns do more have it`)
    : fails(subject, "a pattern makes it more certain");
}
