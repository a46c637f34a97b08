// The promises that a table alone decides, each from its definition in the specification.

import { classesOf } from "./data.js";
import { readHierarchy } from "./domains.js";
import { fails, holds, unchecked } from "./outcome.js";
import { isAtMost, readRational } from "./rational.js";

/**
 * @typedef {import("./certificate.js").PromiseEntry} PromiseEntry
 * @typedef {import("./certificate.js").DataFile} DataFile
 * @typedef {import("./data.js").TableData} TableData
 * @typedef {import("./outcome.js").Finding} Finding
 * @typedef {{data: DataFile, table: TableData, files: Map<string, Uint8Array>,
 *   classes: {classOf: Int32Array, sizes: number[]}}} Release
 */

const KNOWN_ELSEWHERE = new Set(["quasi-identifier", "stratum"]);
/** Entropies this near to their threshold are not decided here. */
const MARGIN = 1e-9;

/**
 * @param {PromiseEntry} promise
 * @param {DataFile} data
 * @param {TableData} table
 * @param {Map<string, Uint8Array>} files
 * @returns {Finding}
 */
export function checkPromise(promise, data, table, files) {
  return { ...decide(promise, data, table, files), isPromise: true };
}

/** @type {typeof checkPromise} */
function decide(promise, data, table, files) {
  const subject = title(promise);
  const rule = Object.hasOwn(RULES, promise.model) ? RULES[promise.model] : undefined;
  if (rule === undefined) return unchecked(subject, "this page does not decide promises of this kind");
  if (promise.strength !== "syntactic") return fails(subject, "a model of this kind is syntactic, and the certificate says otherwise");
  const known = data.columns.filter((each) => KNOWN_ELSEWHERE.has(each.role)).map((each) => each.name);
  const classes = classesOf(table, known);
  if (promise.unit === "person") {
    const person = data.columns.find((each) => each.role === "person");
    if (person === undefined || promise.model !== "k-anonymity") {
      return unchecked(subject, "it counts persons, and the release does not show who is whom");
    }
    return hidesPersons(subject, whole(promise.parameters.k), column(table, person.name), classes.classOf);
  }
  try {
    return rule(subject, promise.parameters, { data, table, files, classes });
  } catch (error) {
    if (error instanceof RangeError) return fails(subject, error.message);
    throw error;
  }
}

/**
 * Say a promise in words of this page: the sentences of a certificate may be a forger's.
 *
 * @param {PromiseEntry} promise
 * @param {DataFile} data
 */
export function sayPromise(promise, data) {
  const { k, l, m, p, c, t, attribute, distance, column: secret } = promise.parameters;
  const known = data.columns.filter((each) => KNOWN_ELSEWHERE.has(each.role)).map((each) => each.name).join(", ") || "no column";
  /** @type {Record<string, string>} */
  const sentences = {
    "k-anonymity": `Every record has the same ${known} as at least ${k - 1} others.`,
    "distinct-l-diversity": `Records with the same ${known} show at least ${l} different values of ${attribute}.`,
    "p-sensitive-k-anonymity": `Every record has the same ${known} as at least ${k - 1} others, with at least ${p} different values of each secret.`,
    "entropy-l-diversity": `Among records with the same ${known}, ${attribute} is as uncertain as ${l} equally likely values.`,
    "recursive-l-diversity": `Among records with the same ${known}, the most frequent ${attribute} is less than ${c} times as frequent as all but the ${l - 1} most frequent together.`,
    "known-items": `Whoever knows what the released columns of role quasi-identifier tell of a person and of at most ${m} rows below it finds at least ${k} people, or nobody.`,
    "secret-among-known-items": `Of the people whom somebody finds so, at most the fraction ${c} has the named value of ${secret}.`,
    "t-closeness": `Among records with the same ${known}, ${attribute} is distributed as in the whole release, up to ${t} (${distance ?? "default"} distance).`,
  };
  return Object.hasOwn(sentences, promise.model) ? sentences[promise.model] : undefined;
}

/** @param {PromiseEntry} promise */
function title(promise) {
  const parameters = Object.entries(promise.parameters).map(([name, value]) => `${name} = ${value}`);
  return [promise.model, ...(parameters.length > 0 ? [parameters.join(", ")] : [])].join(" ");
}

/**
 * Where pseudonyms link the records of a person, k persons must have records in the same classes, equally many in each.
 *
 * @param {string} subject @param {number} k @param {any[]} persons @param {Int32Array} classOf
 */
function hidesPersons(subject, k, persons, classOf) {
  /** @type {Map<any, number[]>} */
  const records = new Map();
  persons.forEach((person, row) => {
    const numbers = records.get(person);
    if (numbers === undefined) records.set(person, [classOf[row]]);
    else numbers.push(classOf[row]);
  });
  const alike = countValues([...records.values()].map((numbers) => numbers.sort((a, b) => a - b).join()));
  const fewest = [...alike.values()].reduce((least, number) => Math.min(least, number), Infinity);
  return fewest >= k
    ? holds(subject, `all records of each of ${count(records.size)} pseudonyms look like those of at least ${count(Math.min(fewest, records.size) - 1)} others`)
    : fails(subject, `the records of ${count(fewest)} persons together look like those of nobody else`);
}

/** @type {Record<string, (subject: string, parameters: Record<string, any>, release: Release) => Finding>} */
const RULES = {
  "k-anonymity": (subject, parameters, { classes }) => {
    const k = whole(parameters.k);
    const smallest = classes.sizes.reduce((least, size) => Math.min(least, size), Infinity);
    if (classes.sizes.length === 0) return holds(subject, "there are no records");
    return smallest >= k
      ? holds(subject, `the smallest of ${count(classes.sizes.length)} classes has ${count(smallest)} records`)
      : fails(subject, `a class has ${count(smallest)} records`);
  },

  "distinct-l-diversity": (subject, parameters, release) => {
    const l = whole(parameters.l);
    return everyClass(subject, parameters.attribute, release, (counts) => counts.size >= l);
  },

  "p-sensitive-k-anonymity": (subject, parameters, release) => {
    const [p, k] = [whole(parameters.p), whole(parameters.k)];
    const names = [parameters.attributes ?? release.data.columns.filter((each) => each.role === "sensitive").map((each) => each.name)].flat();
    const each = names.map((name) => everyClass(subject, name, release, (counts, size) => counts.size >= p && size >= k));
    return each.find((finding) => finding.status === "fails") ?? each[0] ?? unchecked(subject, "it names no column");
  },

  "entropy-l-diversity": (subject, parameters, release) => {
    const threshold = Math.log(Number(rationalNumber(parameters.l)));
    let isClose = false;
    const finding = everyClass(subject, parameters.attribute, release, (counts, size) => {
      let entropy = Math.log(size);
      for (const number of counts.values()) entropy -= (number / size) * Math.log(number);
      isClose ||= Math.abs(entropy - threshold) <= MARGIN;
      return entropy >= threshold - MARGIN;
    });
    if (finding.status === "holds" && isClose) return unchecked(subject, "the entropy of a class is too near to the threshold");
    return finding;
  },

  "recursive-l-diversity": (subject, parameters, release) => {
    const [c, l] = [readRational(parameters.c), whole(parameters.l)];
    return everyClass(subject, parameters.attribute, release, (counts) => {
      const descending = [...counts.values()].sort((a, b) => b - a);
      const others = BigInt(descending.slice(l - 1).reduce((sum, each) => sum + each, 0));
      return BigInt(descending[0]) * c.denominator < c.numerator * others;
    });
  },

  "t-closeness": (subject, parameters, release) => {
    const attribute = release.data.columns.find((each) => each.name === parameters.attribute);
    if (attribute === undefined) return fails(subject, "the release does not have its column");
    const distance = parameters.distance ?? (attribute.kind === "categorical" ? (attribute.hierarchy ? "hierarchical" : "equal") : "ordered");
    const t = readRational(parameters.t);
    const mover = Object.hasOwn(MOVERS, distance) ? MOVERS[distance] : undefined;
    if (mover === undefined) return fails(subject, "its distance is not one of equal, ordered and hierarchical");
    const bound = mover(release, attribute);
    return everyClass(subject, parameters.attribute, release, (counts, size) => {
      const [distanceTimes, divisor] = bound(counts, size);
      return isAtMost(distanceTimes, divisor, t);
    });
  },
};

/**
 * @typedef {(counts: Map<any, number>, size: number) => [bigint, bigint]} Distance  numerator and denominator
 * @type {Record<string, (release: Release, attribute: import("./certificate.js").Column) => Distance>}
 *
 * The cost of each follows the values that a class has, not those of the table. Products of two numbers of records are
 * exact as long as there are fewer than 2^26 records, which is more than a page reads.
 */
const MOVERS = {
  equal: ({ table }, attribute) => {
    const whole = countValues(column(table, attribute.name));
    const all = table.records;
    return (counts, size) => {
      let sum = size * all; // what the values add that the class does not have
      for (const [value, number] of counts) {
        const expected = /** @type {number} */ (whole.get(value)) * size;
        sum += Math.abs(number * all - expected) - expected;
      }
      return [BigInt(sum), 2n * BigInt(size) * BigInt(all)];
    };
  },

  ordered: ({ table }, attribute) => {
    const whole = countValues(column(table, attribute.name));
    const all = table.records;
    const order = sortValues([...whole.keys()], attribute);
    const places = new Map(order.map((value, place) => [value, place]));
    // how many records have the value at a place or an earlier one, and the sums of these numbers before a place
    const below = new Float64Array(order.length);
    const sums = new Float64Array(order.length + 1);
    order.forEach((value, place) => {
      below[place] = (place > 0 ? below[place - 1] : 0) + /** @type {number} */ (whole.get(value));
      sums[place + 1] = sums[place] + below[place];
    });
    /** The sum of |held * all - below * size| over places from first to before last. @type {(held: number, size: number, first: number, last: number) => bigint} */
    const between = (held, size, first, last) => {
      let [low, high] = [first, last]; // the first place where the table is ahead
      while (low < high) {
        const middle = (low + high) >> 1;
        if (below[middle] * size > held * all) high = middle;
        else low = middle + 1;
      }
      const scaled = BigInt(held * all);
      const behind = scaled * BigInt(low - first) - BigInt(size) * BigInt(sums[low] - sums[first]);
      return behind + BigInt(size) * BigInt(sums[last] - sums[low]) - scaled * BigInt(last - low);
    };
    return (counts, size) => {
      const present = [...counts].map(([value, number]) => [/** @type {number} */ (places.get(value)), number]).sort((a, b) => a[0] - b[0]);
      let [sum, held, from] = [0n, 0, 0];
      for (const [place, number] of present) {
        sum += between(held, size, from, place);
        [held, from] = [held + number, place];
      }
      sum += between(held, size, from, order.length);
      return [sum, BigInt(Math.max(order.length - 1, 1)) * BigInt(size) * BigInt(all)];
    };
  },

  // The distance of two values is the level of their lowest common ancestor over the height: as if every edge of the
  // tree had the length 1 / (2 height), so that earth moves along the edges.
  hierarchical: ({ table, files }, attribute) => {
    const rows = readHierarchy(files, attribute.hierarchy);
    const all = table.records;
    const height = rows.values().next().value?.length ?? 0;
    const whole = countValues(column(table, attribute.name));
    /** @param {any} value @returns {string[]} */
    const path = (value) => {
      if (value === null) return new Array(height).fill("").map((_, level) => `missing ${level}`);
      const labels = rows.get(String(value));
      if (labels === undefined) throw new RangeError("a value is not in the hierarchy of the release");
      return labels;
    };
    /** @type {(counts: Map<any, number>) => Map<string, number>[]} */
    const byLevel = (counts) => {
      const levels = Array.from({ length: Math.max(height - 1, 0) }, () => /** @type {Map<string, number>} */ (new Map()));
      for (const [value, number] of counts) {
        const labels = path(value);
        levels.forEach((nodes, level) => nodes.set(labels[level], (nodes.get(labels[level]) ?? 0) + number));
      }
      return levels;
    };
    const expected = byLevel(whole);
    return (counts, size) => {
      let sum = 0;
      byLevel(counts).forEach((nodes, level) => {
        sum += size * all;
        for (const [label, number] of nodes) {
          const usual = /** @type {number} */ (expected[level].get(label)) * size;
          sum += Math.abs(number * all - usual) - usual;
        }
      });
      return [BigInt(sum), 2n * BigInt(Math.max(height - 1, 1)) * BigInt(size) * BigInt(all)];
    };
  },
};

/**
 * @param {string} subject
 * @param {string} attribute
 * @param {Release} release
 * @param {(counts: Map<any, number>, size: number) => boolean} keeps
 */
function everyClass(subject, attribute, release, keeps) {
  const values = release.table.columns.get(attribute);
  if (values === undefined) return fails(subject, "the release does not have its column");
  /** @type {Map<any, number>[]} */
  const histograms = release.classes.sizes.map(() => new Map());
  values.forEach((value, row) => {
    const counts = histograms[release.classes.classOf[row]];
    counts.set(value, (counts.get(value) ?? 0) + 1);
  });
  const broken = histograms.filter((counts, number) => !keeps(counts, release.classes.sizes[number])).length;
  return broken === 0
    ? holds(subject, `in all ${count(histograms.length)} classes`)
    : fails(subject, `${count(broken)} of ${count(histograms.length)} classes do not keep it`);
}

/** @param {any[]} values */
export function countValues(values) {
  /** @type {Map<any, number>} */
  const counts = new Map();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}

/**
 * Sort by number, by day or as declared; a missing value comes last.
 *
 * @param {any[]} values
 * @param {import("./certificate.js").Column} attribute
 */
function sortValues(values, attribute) {
  if (attribute.kind === "categorical") throw new RangeError("values of a categorical column have no order");
  const places = new Map((attribute.values ?? []).map((value, place) => [value, place]));
  /** @param {any} value */
  const key = (value) => {
    if (attribute.kind === "ordinal") {
      const place = places.get(String(value));
      if (place === undefined) throw new RangeError("a value is not among those of its column");
      return place;
    }
    return attribute.kind === "numeric" ? Number(value) : String(value);
  };
  const present = values.filter((value) => value !== null).sort((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0));
  return values.includes(null) ? [...present, null] : present;
}

/** @param {TableData} table @param {string} name */
const column = (table, name) => /** @type {any[]} */ (table.columns.get(name));
/** @param {number} value */
const count = (value) => value.toLocaleString("en-US");
/** @param {unknown} value */
function rationalNumber(value) {
  const { numerator, denominator } = readRational(value);
  return Number(numerator) / Number(denominator);
}

/** @param {unknown} value */
function whole(value) {
  if (!Number.isInteger(value) || /** @type {number} */ (value) < 1) throw new RangeError("a parameter is no whole number from 1 on");
  return /** @type {number} */ (value);
}
