// Whether released values are ones that the plan allows: declared values, bounds, labels of hierarchies.

import { readDelimited } from "./delimited.js";
import { fails, holds, unchecked } from "./outcome.js";

/**
 * @typedef {import("./certificate.js").DataFile} DataFile
 * @typedef {import("./data.js").TableData} TableData
 * @typedef {import("./outcome.js").Finding} Finding
 * @typedef {Record<string, any>} ColumnPlan
 */

const ANY = "*";
const NUMBER = String.raw`[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?`;
const INTERVAL = new RegExp(`^[[(]\\s*(${NUMBER}), (${NUMBER})[\\])]$`);
const HALF = new RegExp(`^(?:<=|>=|<|>) (${NUMBER})$`);
const PERIOD = /^\d{4}(-(0[1-9]|1[0-2])(-\d{2})?|-Q[1-4]|s)?$/;

/**
 * Read a hierarchy file: a row for every value, from the value itself to the last level, with `;` in between.
 *
 * @param {Map<string, Uint8Array>} files
 * @param {string | undefined} name
 * @returns {Map<string, string[]>}
 */
export function readHierarchy(files, name) {
  const bytes = name === undefined ? undefined : files.get(name);
  if (bytes === undefined) throw new RangeError("the release does not hold the hierarchy that it needs");
  const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes).replace(/^\uFEFF/, "");
  const delimiter = text.split("\n", 1)[0].includes(";") ? ";" : ",";
  const rows = readDelimited(text, delimiter).filter((row) => row.length > 1 || row[0] !== "");
  const width = rows[0]?.length ?? 0;
  if (rows.some((row) => row.length !== width)) throw new RangeError("a hierarchy has rows of different lengths");
  return new Map(rows.map((row) => [row[0], row]));
}

/**
 * Check every released column against the plan.
 *
 * @param {DataFile} data
 * @param {TableData} table
 * @param {Record<string, ColumnPlan>} plan  the columns of plan.toml
 * @param {Map<string, Uint8Array>} files
 * @param {{replaced: Set<string>, areAllCoarse: boolean}} made  columns whose values were replaced by names that the
 *   method makes up, and whether every column is generalised, as under differential privacy
 * @returns {Finding[]}
 */
export function checkDomains(data, table, plan, files, made) {
  /** @type {string[]} */
  const open = [];
  const findings = data.columns.flatMap((column) => {
    if (column.name === data.class_column) return [];
    const described = plan[column.name];
    const subject = `values of ${column.name}`;
    if (described === undefined) return [fails(subject, "the plan does not have this column")];
    if (described.role !== column.role) return [fails(subject, "the plan gives the column another role")];
    const isCoarse = made.areAllCoarse || column.role === "quasi-identifier" || column.role === "stratum";
    const allows = made.replaced.has(column.name) ? undefined : allowedValues(described, isCoarse, files);
    if (allows === undefined) {
      open.push(column.name);
      return [];
    }
    const different = new Set(/** @type {any[]} */ (table.columns.get(column.name)));
    const wrong = [...different].filter((value) => value !== null && !allows(value)).length;
    return wrong === 0
      ? [holds(subject, `${different.size.toLocaleString("en-US")} different values, all allowed by the plan`)]
      : [fails(subject, `${wrong.toLocaleString("en-US")} of its values are none that the plan allows`)];
  });
  if (open.length > 0) findings.push(unchecked("values", `the plan does not list what may stand in ${open.join(", ")}`));
  return findings;
}

/**
 * Return what tells allowed values from others; undefined where the plan does not say enough.
 *
 * @param {ColumnPlan} described
 * @param {boolean} isCoarse
 * @param {Map<string, Uint8Array>} files
 * @returns {((value: any) => boolean) | undefined}
 */
function allowedValues(described, isCoarse, files) {
  const inDomain = declaredValues(described, files);
  if (!isCoarse) return inDomain;
  const isLabel = allowedLabels(described.hierarchy, described, files);
  if (inDomain === undefined || isLabel === undefined) return undefined;
  return (value) => value === ANY || inDomain(value) || isLabel(String(value));
}

/** @type {(described: ColumnPlan, files: Map<string, Uint8Array>) => ((value: any) => boolean) | undefined} */
function declaredValues(described, files) {
  if (described.role === "identifier" || described.role === "person" || described.role === "household") {
    return (value) => /^[0-9a-f]{64}$/.test(String(value)); // a pseudonym
  }
  if (described.values !== undefined) {
    const listed = new Set(described.values.map(String));
    return (value) => listed.has(String(value));
  }
  if (described.kind === "numeric") {
    const [low, high] = [described.minimum ?? -Infinity, described.maximum ?? Infinity];
    return (value) => value !== "" && Number(value) >= low && Number(value) <= high;
  }
  if (described.kind === "date") {
    const [low, high] = [dayText(described.minimum) ?? "0000", dayText(described.maximum) ?? "9999-99"];
    return (value) => /^\d{4}-\d{2}-\d{2}/.test(String(value)) && String(value).slice(0, 10) >= low && String(value).slice(0, 10) <= high;
  }
  if (described.hierarchy?.file !== undefined) {
    const leaves = new Set(readHierarchy(files, described.hierarchy.file).keys());
    return (value) => leaves.has(String(value));
  }
  if (Array.isArray(described.hierarchy?.groups)) {
    const leaves = new Set(Object.values(described.hierarchy.groups[0] ?? {}).flat().map(String));
    return (value) => leaves.has(String(value));
  }
  return undefined;
}

/** @type {(rule: any, described: ColumnPlan, files: Map<string, Uint8Array>) => ((label: string) => boolean) | undefined} */
function allowedLabels(rule, described, files) {
  if (described.kind === "ordinal") {
    const places = new Map(described.values.map((/** @type {any} */ value, /** @type {number} */ place) => [String(value), place]));
    const above = rule === undefined || rule.flat ? () => false : listedLabels(rule, files);
    if (above === undefined) return undefined;
    return (label) => {
      const ends = /^\[(.*), (.*)\]$/.exec(label);
      return above(label) || (ends !== null && (places.get(ends[1]) ?? Infinity) < (places.get(ends[2]) ?? -1));
    };
  }
  if (rule === undefined || rule.flat) return () => false;
  if (described.kind === "numeric") return numberLabels(rule, described);
  if (described.kind === "date") return rule.dates === undefined ? undefined : (label) => PERIOD.test(label);
  return listedLabels(rule, files);
}

/** @type {(rule: any, described: ColumnPlan) => ((label: string) => boolean) | undefined} */
function numberLabels(rule, described) {
  const low = described.minimum ?? -Infinity;
  const high = described.maximum ?? Infinity;
  if (rule.cuts !== undefined) {
    const cuts = new Set(rule.cuts.flat().map(Number));
    return (label) => {
      const [between, half] = [INTERVAL.exec(label), HALF.exec(label)];
      return label === "any number" || (between ? cuts.has(Number(between[1])) && cuts.has(Number(between[2])) : half !== null && cuts.has(Number(half[1])));
    };
  }
  if (rule.intervals !== undefined) {
    const origin = Number(rule.origin ?? 0);
    /** @param {number} number @param {number} width */
    const isEdge = (number, width) => Math.abs((number - origin) / width - Math.round((number - origin) / width)) < 1e-9;
    const ends = new Set([rule.bottom, rule.top].filter((end) => end !== undefined).map(Number));
    return (label) => {
      const [between, half] = [INTERVAL.exec(label), HALF.exec(label)];
      if (half) return ends.has(Number(half[1]));
      if (!between) return false;
      const [first, last] = [Number(between[1]), Number(between[2])];
      if (!(first < last && last > low && first <= high)) return false;
      return rule.intervals.some((/** @type {number} */ width) =>
        last - first <= width * (1 + 1e-9) && (isEdge(first, width) || first === Number(rule.bottom)) && (isEdge(last, width) || last === Number(rule.top)) &&
        (Math.abs(last - first - width) < 1e-9 * width || first === Number(rule.bottom) || last === Number(rule.top)));
    };
  }
  return undefined;
}

/** @type {(rule: any, files: Map<string, Uint8Array>) => ((label: string) => boolean) | undefined} */
function listedLabels(rule, files) {
  if (rule.file !== undefined) {
    const labels = new Set([...readHierarchy(files, rule.file).values()].flat());
    return (label) => labels.has(label) || labels.has(label.replace(/ \(level \d+\)'*$/, ""));
  }
  if (rule.groups !== undefined) {
    const labels = new Set(rule.groups.flatMap((/** @type {any} */ level) => [...Object.keys(level), ...Object.values(level).flat()]).map(String));
    return (label) => labels.has(label) || labels.has(label.replace(/ \(level \d+\)'*$/, ""));
  }
  if (rule.mask !== undefined) {
    const symbol = rule.symbol ?? ANY;
    const hidden = new Set(rule.mask);
    return (label) => hidden.has([...label].filter((sign) => sign === symbol).length) && [...label].length <= rule.length;
  }
  return undefined;
}

/** @param {any} day */
function dayText(day) {
  return day === undefined ? undefined : String(day instanceof Date ? day.toISOString() : day).slice(0, 10);
}
