// What a verifier says: a list of findings, and the outcome that follows from them.

/**
 * @typedef {"holds" | "fails" | "unchecked"} Status
 * @typedef {{subject: string, status: Status, detail: string, isPromise?: boolean}} Finding
 * @typedef {"holds" | "partly" | "fails"} Outcome
 */

/** @param {string} subject @param {string} detail @returns {Finding} */
export const holds = (subject, detail) => ({ subject, status: "holds", detail });
/** @param {string} subject @param {string} detail @returns {Finding} */
export const fails = (subject, detail) => ({ subject, status: "fails", detail });
/** @param {string} subject @param {string} detail @returns {Finding} */
export const unchecked = (subject, detail) => ({ subject, status: "unchecked", detail });

/**
 * One failure decides; a promise that was not checked keeps a release from being verified as a whole.
 *
 * @param {Finding[]} findings
 * @returns {Outcome}
 */
export function outcomeOf(findings) {
  if (findings.some((each) => each.status === "fails")) return "fails";
  return findings.some((each) => each.isPromise && each.status === "unchecked") ? "partly" : "holds";
}
