// Whether entries of a certificate are of a known form and fit the plan: columns, domains, units, promises.

import { fails } from "./outcome.js";
import { isAtMost, readRational } from "./rational.js";

/**
 * @typedef {import("./certificate.js").Certificate} Certificate
 * @typedef {import("./outcome.js").Finding} Finding
 */

const MODELS = new Set((
  "attribute-set average-risk beta-likeness bounded-differential-privacy clusters composition delta-disclosure delta-presence " +
  "differential-privacy distinct-l-diversity entropy-l-diversity estimated-k-map estimated-uniqueness hidden-classes k-anonymity " +
  "k-m-anonymity k-map k-wildcards known-items local-differential-privacy multiplicative-closeness p-sensitive-k-anonymity " +
  "privacy-given-partition probabilistic-k-anonymity record-query-privacy recursive-l-diversity sample-uniqueness " +
  "secret-among-known-items series-k-anonymity stochastic-closeness t-closeness view-differential-privacy").split(" "));
const STRENGTHS = new Set(["syntactic", "unconditional", "conditional"]);
const PROVENANCES = new Set(["declared", "publicly known", "paid for", "inferred from the data"]);
const SOURCES = new Set([
  "none used", "none used, but for the secret key of the pseudonyms", "the cryptographic generator of the operating system",
  "a seed, for tests: whoever knows it can repeat the draw",
]);
/** Parameters that make a promise stronger when they grow, and those that make it weaker. */
const STRONGER = ["k", "l", "p"];
const WEAKER = ["t", "c", "epsilon", "delta"];
/** Promises that a plan asks for by the same name. */
const ASKED = new Set(["differential-privacy", "k-anonymity", "distinct-l-diversity", "p-sensitive-k-anonymity", "entropy-l-diversity", "recursive-l-diversity", "t-closeness"]);
/** Promises about other classes than those of the release, which answer what a plan asks for. */
const ANSWERING = new Set(["hidden-classes", "probabilistic-k-anonymity", "clusters", "attribute-set", "composition", "k-wildcards", "stochastic-closeness", "series-k-anonymity"]);

/**
 * Check what every certificate says of itself.
 *
 * @param {Certificate} certificate
 * @returns {Finding[]}
 */
export function checkWords(certificate) {
  /** @type {[boolean, string, string][]} */
  const rules = [
    [certificate.roles === "declared" || certificate.roles === "guessed", "roles", "they are neither declared nor guessed"],
    [SOURCES.has(certificate.randomness), "randomness", "a source of random numbers that no release has"],
    [/^[0-9a-f]{64}$/.test(certificate.schema_sha256), "schema", "its fingerprint is none"],
    [certificate.domains.every((/** @type {any} */ each) => PROVENANCES.has(each.provenance)), "domains", "they come from nowhere that a release says"],
    [certificate.promises.every((each) => MODELS.has(each.model) && STRENGTHS.has(each.strength)), "promises", "one is of a kind that no release makes"],
    [new Set(certificate.promises.map(({ model, parameters, file }) => JSON.stringify([model, parameters, file]))).size === certificate.promises.length, "promises", "one stands there twice"],
    [certificate.rehearsal === undefined || (["exact", "learned"].includes(certificate.rehearsal.kind) && isFraction(certificate.rehearsal.margin)), "rehearsal", "not in the form of version 1"],
  ];
  return rules.filter(([good]) => !good).map(([, subject, detail]) => fails(subject, detail));
}

/** @param {any} value */
const isFraction = (value) => /^[0-9]{1,9}(\/[0-9]{1,9})?$/.test(String(value));

/**
 * Check kinds and orders of columns, domains, units, and that the promises asked for were made.
 *
 * @param {Certificate} certificate
 * @param {Record<string, any>} plan  columns by name
 * @param {any[]} asked  promises of the plan
 * @returns {Finding[]}
 */
export function checkEntries(certificate, plan, asked) {
  const tables = [certificate.data, ...certificate.further_data];
  const columns = tables.flatMap((data) => data.columns.filter((column) => column.name !== data.class_column));
  const isOfPersons = Object.values(plan).some((each) => each.role === "person");
  // buckets have names of their own, whose order the certificate states
  const buckets = new Set(certificate.steps.filter((step) => step.step === "bucketized").flatMap((step) => step.columns ?? []));
  const planned = columns.filter((column) => !buckets.has(column.name));
  const covered = new Set(certificate.domains.map((/** @type {any} */ each) => each.column));
  const syntactic = certificate.promises.every((each) => !ANSWERING.has(each.model));
  /** @type {[boolean, string, string][]} */
  const rules = [
    [new Set(tables.map((data) => data.file)).size === tables.length, "tables", "one stands there twice"],
    [tables.every((data, place) => hasLink(data, place === tables.length - 1)), "class link", "the column that numbers the classes is not described as such"],
    [planned.every((column) => column.kind === (plan[column.name]?.kind ?? "categorical")), "columns", "a kind is not the one of the plan"],
    [columns.every((column) => (buckets.has(column.name) ? isOrder(column, plan[column.name]?.kind ?? "categorical") : sameOrder(column.values, plan[column.name]))), "columns", "the order of values is not the one of the plan"],
    [Object.entries(plan).every(([name, each]) => each.role !== "quasi-identifier" || covered.has(name)), "domains", "a quasi-identifier is not among them"],
    [certificate.promises.every((each) => each.unit === (isOfPersons ? "person" : "record")), "promises", "the unit is not the one of the plan"],
    [!syntactic || asked.filter((each) => ASKED.has(each.model)).every((each) => certificate.promises.some((made) => isKeptBy(each, made))), "promises", "the plan asks for more"],
    [certificate.promises.filter((each) => ASKED.has(each.model)).every((made) => asked.some((each) => isAskedBy(each, made))), "promises", "the plan does not ask for one of them"],
  ];
  return rules.filter(([good]) => !good).map(([, subject, detail]) => fails(subject, detail));
}

/** @param {string[] | undefined} values @param {any} described */
function sameOrder(values, described) {
  if (described?.kind !== "ordinal") return values === undefined;
  return JSON.stringify(values) === JSON.stringify((described.values ?? []).map(String));
}

/** Whether the column that numbers classes is described as that. @param {import("./certificate.js").DataFile} data @param {boolean} isLast */
function hasLink({ class_column: name, columns }, isLast) {
  const [link, ...others] = columns.filter((column) => column.name === name);
  return name === undefined || (others.length === 0 && link?.kind === "categorical" && link.role === (isLast ? "quasi-identifier" : "insensitive") && link.values === undefined);
}

/** Whether a column of buckets is in no order, or in one that names each once. @param {import("./certificate.js").Column} column @param {string} planned  the kind of its values */
function isOrder({ kind, values }, planned) {
  return kind === "ordinal" && planned !== "categorical" ? values !== undefined && new Set(values).size === values.length : kind === "categorical" && values === undefined;
}

/** @param {any} asked @param {import("./certificate.js").PromiseEntry} made */
function isKeptBy(asked, made) {
  if (!isAskedBy(asked, made)) return false;
  return [...STRONGER, ...WEAKER].every((name) => {
    if (asked[name] === undefined) return true;
    const [wanted, found] = [readRational(asked[name]), readRational(made.parameters[name])];
    return STRONGER.includes(name) ? isAtMost(wanted.numerator, wanted.denominator, found) : isAtMost(found.numerator, found.denominator, wanted);
  });
}

/** @param {any} asked @param {import("./certificate.js").PromiseEntry} made */
const isAskedBy = (asked, made) => asked.model === made.model && (asked.attribute === undefined || asked.attribute === made.parameters.attribute);
