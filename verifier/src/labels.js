// Labels of released values: how numbers, days, intervals and lists of values are written.

const DIGITS = String.raw`-?(?:0|[1-9]\d*)(?:\.\d*[1-9])?(?:[eE][+-]?\d+)?`;
const NUMBER = new RegExp(`^${DIGITS}$`);
const HALF_OPEN = new RegExp(`^\\[(${DIGITS}), (${DIGITS})\\)$`);
const HALF = new RegExp(`^(< |>= )(${DIGITS})$`);
const MISSING = "missing";
const MORE = /, and ([1-9]\d{0,10}) more\}$/;
/** So many values of a longer list are named. */
const NAMED = 12;
const DAY = 86_400_000;

/** Whether a value is a number as releases write one. @param {any} value */
export const isNumber = (value) => typeof value === "number" || typeof value === "bigint" || NUMBER.test(String(value));

/** The ends of `[a, b)`. @param {string} label @returns {[number, number] | undefined} */
export function readInterval(label) {
  const found = HALF_OPEN.exec(label);
  return found === null ? undefined : [Number(found[1]), Number(found[2])];
}

/** The end of `< a` or `>= b`, and on which side the numbers lie. @param {string} label @returns {["< " | ">= ", number] | undefined} */
export function readHalf(label) {
  const found = HALF.exec(label);
  return found === null ? undefined : [/** @type {"< " | ">= "} */ (found[1]), Number(found[2])];
}

/**
 * The first and the last day of a day, a month, a quarter, a year or a decade, and its unit; undefined for other texts.
 *
 * @param {string} label
 * @returns {{unit: string, first: number, last: number} | undefined}
 */
export function readPeriod(label) {
  const found = /^(\d{4})(?:-(\d{2})(?:-(\d{2})(?:T[0-9:.]+Z)?)?|-Q([1-4])|(s))?$/.exec(label);
  if (found === null) return undefined;
  const [year, month, day] = [Number(found[1]), Number(found[2] ?? 1), Number(found[3] ?? 1)];
  /** @param {number} y @param {number} m @param {number} d */
  const utc = (y, m, d) => new Date(0).setUTCFullYear(y, m - 1, d);
  const first = utc(year, month, day);
  if (new Date(first).getUTCDate() !== day || month < 1 || month > 12) return undefined;
  if (found[3] !== undefined) return { unit: "day", first, last: first };
  if (found[2] !== undefined) return { unit: "month", first, last: utc(year, month + 1, 1) - DAY };
  if (found[4] !== undefined) return { unit: "quarter", first: utc(year, 3 * Number(found[4]) - 2, 1), last: utc(year, 3 * Number(found[4]) + 1, 1) - DAY };
  if (found[5] !== undefined) return year % 10 === 0 ? { unit: "decade", first, last: utc(year + 10, 1, 1) - DAY } : undefined;
  return { unit: "year", first, last: utc(year + 1, 1, 1) - DAY };
}

/**
 * Whether a label is `[a, b]` with two values of a column, the lesser one first.
 *
 * @param {string} label @param {(value: string) => boolean} isValue @param {(a: string, b: string) => boolean} isBefore
 */
export function isClosedInterval(label, isValue, isBefore) {
  if (!label.startsWith("[") || !label.endsWith("]")) return false;
  const parts = label.slice(1, -1).split(", ");
  return parts.some((_, cut) => {
    const [low, high] = [parts.slice(0, cut).join(", "), parts.slice(cut).join(", ")];
    return cut > 0 && isValue(low) && isValue(high) && isBefore(low, high);
  });
}

/**
 * Whether a label is `{a, b, c}` with several values in their order, whatever commas these hold.
 *
 * @param {string} label @param {(value: string) => boolean} isValue @param {(a: string, b: string) => boolean} isBefore
 * @param {boolean} isBucket  whether a missing value may come last, and only the first of many values may be named
 */
export function isListing(label, isValue, isBefore, isBucket) {
  if (!label.startsWith("{") || !label.endsWith("}") || label.length > 2 ** 16) return false;
  const more = isBucket ? MORE.exec(label) : null;
  const parts = (more === null ? label : label.replace(MORE, "}")).slice(1, -1).split(", ");
  /** @type {Map<string, boolean>} */
  const tried = new Map();
  /** @param {number} from @param {string | undefined} last @param {number} number @returns {boolean} */
  const fits = (from, last, number) => {
    if (from === parts.length) return more === null ? number > 1 : number === NAMED;
    const key = `${from} ${number} ${last}`;
    const known = tried.get(key);
    if (known !== undefined) return known;
    let good = false;
    for (let end = from + 1; end <= parts.length && !good; end += 1) {
      const value = parts.slice(from, end).join(", ");
      const isLastMissing = isBucket && value === MISSING && end === parts.length && last !== undefined;
      good = (isLastMissing || (isValue(value) && (last === undefined || isBefore(last, value)))) && fits(end, isLastMissing ? MISSING : value, number + 1);
    }
    tried.set(key, good);
    return good;
  };
  return fits(0, undefined, 0);
}

/** Compare texts by their code points, as releases do. @param {string} a @param {string} b */
export function isTextBefore(a, b) {
  const [left, right] = [[...a], [...b]];
  const place = left.findIndex((sign, at) => sign !== right[at]);
  if (place < 0) return left.length < right.length;
  return right[place] !== undefined && /** @type {number} */ (left[place].codePointAt(0)) < /** @type {number} */ (right[place].codePointAt(0));
}
