// Exact numbers: thresholds are decided on fractions of whole numbers, never on floating point.

/** @typedef {{numerator: bigint, denominator: bigint}} Rational */

/**
 * Read a parameter: a number means the decimal that it prints, a text may be a fraction such as "1/5".
 *
 * @param {unknown} value
 * @returns {Rational}
 */
export function readRational(value) {
  const text = String(value).trim();
  const fraction = /^(\d+)\/([1-9]\d*)$/.exec(text);
  if (fraction) return { numerator: BigInt(fraction[1]), denominator: BigInt(fraction[2]) };
  const decimal = /^(\d{1,30})(?:\.(\d{1,30}))?(?:[eE]([+-]?\d{1,3}))?$/.exec(text);
  if (!decimal) throw new RangeError("a parameter is not a number");
  const digits = decimal[2] ?? "";
  const exponent = Number(decimal[3] ?? 0) - digits.length;
  const whole = BigInt(decimal[1] + digits);
  return exponent >= 0
    ? { numerator: whole * 10n ** BigInt(exponent), denominator: 1n }
    : { numerator: whole, denominator: 10n ** BigInt(-exponent) };
}

/**
 * Whether left / divisor is at most a rational.
 *
 * @param {bigint} left @param {bigint} divisor @param {Rational} right
 */
export const isAtMost = (left, divisor, right) => left * right.denominator <= right.numerator * divisor;
