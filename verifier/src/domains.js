// Whether released values are ones that the plan allows: declared values, bounds, labels of hierarchies.

import { readDelimited } from "./delimited.js";
import { isClosedInterval, isListing, isNumber, isTextBefore, readHalf, readInterval, readPeriod } from "./labels.js";
import { fails, holds, unchecked } from "./outcome.js";

/**
 * @typedef {import("./certificate.js").DataFile} DataFile
 * @typedef {import("./data.js").TableData} TableData
 * @typedef {import("./outcome.js").Finding} Finding
 * @typedef {Record<string, any>} ColumnPlan
 * @typedef {{buckets: Set<string>, aggregates: Map<string, string>, areAllCoarse: boolean, hasIntervals: boolean}} Made  what the
 *   method makes: columns of buckets, the aggregate of a column, whether every column is generalised, as under differential
 *   privacy, and whether labels may be intervals between values
 */

const ANY = "*";
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
 * @param {Made} made
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
    const allows = made.buckets.has(column.name) ? allowedBuckets(described, files)
      : made.aggregates.has(column.name) ? allowedAggregates(/** @type {string} */ (made.aggregates.get(column.name)), described, files)
      : allowedValues(described, isCoarse, made.hasIntervals, files);
    if (allows === undefined) {
      open.push(column.name);
      return [];
    }
    const released = new Set(/** @type {any[]} */ (table.columns.get(column.name)));
    const different = new Set([...released, ...(made.buckets.has(column.name) ? column.values ?? [] : [])]);
    if (made.buckets.has(column.name) && different.size > released.size) return [fails(subject, "its order names buckets that no record is in")];
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
 * @param {boolean} hasIntervals
 * @param {Map<string, Uint8Array>} files
 * @returns {((value: any) => boolean) | undefined}
 */
function allowedValues(described, isCoarse, hasIntervals, files) {
  const inDomain = declaredValues(described, files);
  if (!isCoarse) return inDomain;
  const isLabel = allowedLabels(described.hierarchy, described, files);
  if (inDomain === undefined || isLabel === undefined) return undefined;
  const isBefore = orderOf(described, files, false);
  const isBetween = hasIntervals && described.kind !== undefined && described.kind !== "categorical";
  return (value) => value === ANY || inDomain(value) || isLabel(String(value)) || (isBetween && isClosedInterval(String(value), inDomain, isBefore));
}

/**
 * What a bucket may be called.
 *
 * @type {(described: ColumnPlan, files: Map<string, Uint8Array>) => ((value: any) => boolean) | undefined}
 */
function allowedBuckets(described, files) {
  const inDomain = declaredValues(described, files);
  const isLabel = allowedLabels(described.hierarchy, described, files);
  if (inDomain === undefined || isLabel === undefined) return undefined;
  const isBefore = orderOf(described, files, true);
  const isOrdered = described.kind !== undefined && described.kind !== "categorical";
  /** @param {string} label */
  const isRange = (label) => inDomain(label) || isClosedInterval(label, inDomain, isBefore);
  return (value) => {
    const label = String(value);
    return label === "missing" || label === ANY || inDomain(label) || isLabel(label) || isListing(label, inDomain, isBefore, true) ||
      (isOrdered && (isRange(label) || isRange(label.replace(/ or missing$/, "")))) || (!isOrdered && isRange(label));
  };
}

/**
 * What an aggregate of a class may be.
 *
 * @type {(function_: string, described: ColumnPlan, files: Map<string, Uint8Array>) => ((value: any) => boolean) | undefined}
 */
function allowedAggregates(function_, described, files) {
  const inDomain = declaredValues(described, files);
  if (inDomain === undefined) return undefined;
  const isBefore = orderOf(described, files, false);
  if (function_ === "interval") return (value) => inDomain(value) || isClosedInterval(String(value), inDomain, isBefore);
  if (function_ === "set") return (value) => inDomain(value) || isListing(String(value), inDomain, isBefore, false);
  return inDomain;
}

/**
 * What tells whether a value stands before another one: as the plan lists them, or by number or text.
 *
 * @param {ColumnPlan} described @param {Map<string, Uint8Array>} files @param {boolean} isListed  whether the order of the plan counts
 * @returns {(a: string, b: string) => boolean}
 */
function orderOf(described, files, isListed) {
  if (described.kind === "numeric") return (a, b) => Number(a) < Number(b);
  const values = isListed || described.kind === "ordinal" ? listedValues(described, files) : undefined;
  if (values === undefined) return isTextBefore;
  const places = new Map(values.map((value, place) => [value, place]));
  return (a, b) => (places.get(a) ?? Infinity) < (places.get(b) ?? -1);
}

/** The values that the plan lists, in its order. @param {ColumnPlan} described @param {Map<string, Uint8Array>} files @returns {string[] | undefined} */
function listedValues(described, files) {
  if (described.values !== undefined) return described.values.map(String);
  if (described.hierarchy?.file !== undefined) return [...readHierarchy(files, described.hierarchy.file).keys()];
  if (Array.isArray(described.hierarchy?.groups)) return Object.values(described.hierarchy.groups[0] ?? {}).flat().map(String);
  return undefined;
}

/** @type {(described: ColumnPlan, files: Map<string, Uint8Array>) => ((value: any) => boolean) | undefined} */
function declaredValues(described, files) {
  if (described.role === "identifier" || described.role === "person" || described.role === "household") {
    return (value) => /^[0-9a-f]{64}$/.test(String(value)); // a pseudonym
  }
  if (described.kind === "numeric" && described.values === undefined) {
    const [low, high] = [described.minimum ?? -Infinity, described.maximum ?? Infinity];
    return (value) => isNumber(value) && Number(value) >= low && Number(value) <= high;
  }
  if (described.kind === "date" && described.values === undefined) {
    return (value) => readPeriod(String(value))?.unit === "day" && isInside(String(value), described);
  }
  const listed = listedValues(described, files);
  if (listed === undefined) return undefined;
  const values = new Set(listed);
  return (value) => values.has(String(value));
}

/** Whether a period has days between the bounds of a column. @param {string} label @param {ColumnPlan} described */
function isInside(label, described) {
  const period = readPeriod(label);
  const [low, high] = [described.minimum, described.maximum].map((day) => (day === undefined ? undefined : readPeriod(String(dayText(day)))));
  return period !== undefined && (low === undefined || period.last >= low.first) && (high === undefined || period.first <= high.last);
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
  if (described.kind === "date") return rule.dates === undefined ? undefined : (label) => rule.dates.includes(readPeriod(label)?.unit) && isInside(label, described);
  return listedLabels(rule, files);
}

/** @type {(rule: any, described: ColumnPlan) => ((label: string) => boolean) | undefined} */
function numberLabels(rule, described) {
  const low = described.minimum ?? -Infinity;
  const high = described.maximum ?? Infinity;
  if (rule.cuts !== undefined) {
    const cuts = new Set(rule.cuts.flat().map(Number));
    return (label) => {
      const [between, half] = [readInterval(label), readHalf(label)];
      return label === "any number" || (between ? cuts.has(between[0]) && cuts.has(between[1]) && between[0] < between[1] : half !== undefined && cuts.has(half[1]));
    };
  }
  if (rule.intervals !== undefined) {
    const origin = Number(rule.origin ?? 0);
    /** @param {number} number @param {number} width */
    const isEdge = (number, width) => Math.abs((number - origin) / width - Math.round((number - origin) / width)) < 1e-9;
    const [bottom, top] = [rule.bottom, rule.top].map((end) => (end === undefined ? NaN : Number(end)));
    return (label) => {
      const [between, half] = [readInterval(label), readHalf(label)];
      if (half) return half[0] === "< " ? half[1] === bottom : half[1] === top;
      if (!between) return false;
      const [first, last] = between;
      if (!(first < last && last > low && first <= high)) return false;
      return rule.intervals.some((/** @type {number} */ width) =>
        last - first <= width * (1 + 1e-9) && (isEdge(first, width) || first === bottom) && (isEdge(last, width) || last === top) &&
        (Math.abs(last - first - width) < 1e-9 * width || first === bottom || last === top));
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
