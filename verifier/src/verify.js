// Verify a release: four loops over files, tables, columns and promises.

import { parse as parseToml } from "smol-toml";
import { readCertificate } from "./certificate.js";
import { checkCopy, isCanonical } from "./delimited.js";
import { isSorted, Mismatch, readParquet } from "./data.js";
import { checkDomains } from "./domains.js";
import { fails, holds, outcomeOf, unchecked } from "./outcome.js";
import { checkPromise, countValues } from "./promises.js";
import { buffer, checkSignature, hex } from "./signature.js";

/**
 * @typedef {import("./outcome.js").Finding} Finding
 * @typedef {import("./certificate.js").Certificate} Certificate
 */

const UNLISTED = new Set(["certificate.json", "signature.json"]);
/** Roles of columns that leave in no form, unless as pseudonyms. */
const UNRELEASED = new Set(["identifier", "person", "household", "drop", "decide"]);
const OF_POPULATION = new Set(["k-map", "delta-presence"]);
const SERIES = ["joint-crowds.csv", "series.csv"];
/** Steps whose columns show what the method makes up: buckets of values, and aggregates of classes. */
const MAKING = new Set(["bucketized", "aggregated"]);
const LARGEST_PLAN = 16 * 2 ** 20;

/**
 * @param {Map<string, Uint8Array>} files  the files of the release by name
 * @returns {Promise<{outcome: import("./outcome.js").Outcome, findings: Finding[], certificate?: Certificate}>}
 */
export async function verifyRelease(files) {
  /** @type {Certificate} */
  let certificate;
  try {
    certificate = readCertificate(files.get("certificate.json"));
  } catch (error) {
    return ended([fails("certificate.json", reason(error))]);
  }
  const findings = await checkFiles(files, certificate);
  const { columns: plan, guessed } = readPlan(files.get("plan.toml"), findings);
  findings.push(...checkParts(certificate, plan, files, guessed === true));
  if (findings.some((each) => each.status === "fails")) return ended(findings, certificate);
  const made = {
    replaced: new Set(certificate.steps.filter((step) => MAKING.has(step.step)).flatMap((step) => step.columns ?? [])),
    areAllCoarse: certificate.promises.some((each) => each.model === "differential-privacy"),
  };
  /** @type {Map<any, number>[]} */
  const numbered = [];
  for (const data of [certificate.data, ...certificate.further_data]) {
    const promises = certificate.promises.filter((each) => (each.file ?? certificate.data.file) === data.file);
    const table = await checkTable(data, promises, plan, files, made, findings);
    const numbers = data.class_column === undefined ? undefined : table?.columns.get(data.class_column);
    if (numbers !== undefined) numbered.push(countValues(numbers));
  }
  if (numbered.length > 0) findings.push(checkLink(numbered));
  findings.push(await checkSignature(files));
  findings.push(unchecked("bytes", "a page cannot write Parquet again; hidden bytes in a file are not looked for"));
  findings.push(unchecked("sentences and steps", "that they follow from the plan is not checked here; shoal verify does"));
  return ended(findings, certificate);
}

/** @param {Finding[]} findings @param {Certificate} [certificate] */
function ended(findings, certificate) {
  return { outcome: outcomeOf(findings), findings, certificate };
}

/** @param {unknown} error */
const reason = (error) => (error instanceof SyntaxError ? "it is not valid JSON" : error instanceof TypeError ? "it is not in the form of version 1" : /** @type {Error} */ (error).message);

/**
 * @param {Map<string, Uint8Array>} files
 * @param {Certificate} certificate
 * @returns {Promise<Finding[]>}
 */
async function checkFiles(files, certificate) {
  /** @type {Finding[]} */
  const findings = [];
  const listed = new Set(certificate.files.map((entry) => entry.name));
  if (listed.size < certificate.files.length) findings.push(fails("files", "the certificate lists a file twice"));
  for (const name of files.keys()) {
    if (!listed.has(name) && !UNLISTED.has(name)) findings.push(fails(name, "the certificate does not list this file"));
  }
  for (const entry of certificate.files) {
    const content = files.get(entry.name);
    if (content === undefined) findings.push(fails(entry.name, "the file is missing"));
    else if (content.length !== entry.bytes || (await sha256(content)) !== entry.sha256) {
      findings.push(fails(entry.name, "the file was changed after the release was made"));
    }
  }
  if (findings.length === 0) findings.push(holds("files", `all ${listed.size} are as the certificate lists them, and there are no others`));
  return findings;
}

/**
 * Tables that a class links have the same classes, numbered from 1 on, with as many records each.
 *
 * @param {Map<any, number>[]} numbered  how many records of each table have each number
 */
function checkLink(numbered) {
  const [first, ...others] = numbered;
  const isNumbered = [...first.keys()].every((number) => Number.isInteger(number) && number >= 1 && number <= first.size);
  const areSame = others.length === 1 && others.every((other) => other.size === first.size && [...first].every(([number, size]) => other.get(number) === size));
  return isNumbered && areSame
    ? holds("class link", `the same ${first.size.toLocaleString("en-US")} classes in both tables`)
    : fails("class link", "the classes of the tables are not the same, or not numbered from 1 on");
}

/** @param {Uint8Array} content */
async function sha256(content) {
  return hex(new Uint8Array(await crypto.subtle.digest("SHA-256", buffer(content))));
}

/**
 * @param {Uint8Array | undefined} bytes
 * @param {Finding[]} findings
 * @returns {{columns: Record<string, any>, guessed?: unknown}}
 */
function readPlan(bytes, findings) {
  try {
    if (bytes === undefined || bytes.length > LARGEST_PLAN) throw new Error();
    const plan = /** @type {any} */ (parseToml(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes)));
    if (typeof plan.columns !== "object") throw new Error();
    return plan;
  } catch {
    findings.push(fails("plan.toml", "it is missing, or not a plan"));
    return { columns: {} };
  }
}

/**
 * The files, columns and roles that follow from the plan.
 *
 * @param {Certificate} certificate
 * @param {Record<string, any>} plan
 * @param {Map<string, Uint8Array>} files
 * @param {boolean} isGuessed
 */
function checkParts(certificate, plan, files, isGuessed) {
  /** @type {Finding[]} */
  const findings = [];
  const tables = [certificate.data, ...certificate.further_data];
  const hierarchies = [...Object.values(plan).map((each) => each.hierarchy?.file ?? each.hierarchy?.taxonomy), ...tables.flatMap((data) => data.columns.map((each) => each.hierarchy))];
  const notes = [
    ...(tables.some((data) => data.class_column !== undefined) ? ["joined.sql"] : []),
    ...(certificate.promises.some((promise) => OF_POPULATION.has(promise.model)) ? ["population.parquet"] : []),
    ...(certificate.steps.some((step) => step.step === "hidden-counted") ? ["hidden.csv"] : []),
    ...(certificate.promises.some((promise) => promise.model === "series-k-anonymity") ? SERIES : []),
  ];
  const usual = new Set(["plan.toml", "summary.txt", "report.html", "verify.html", ...notes, ...hierarchies]);
  const ofTable = tables.map((data) => new RegExp(`^${data.file.replace(/\.parquet$/, "")}\\.(parquet|csv)(/part-\\d{5}\\.(parquet|csv))?$`));
  for (const { name } of certificate.files) {
    if (!usual.has(name) && !ofTable.some((pattern) => pattern.test(name))) findings.push(fails(name, "not a file that a release of this plan has"));
  }
  const released = new Set(tables.flatMap((data) => data.columns.map((each) => each.name)));
  for (const [name, described] of Object.entries(plan)) {
    const isKept = !UNRELEASED.has(described.role) || described.pseudonym === true;
    if (isKept && !released.has(name)) findings.push(fails("columns", "a column of the plan is not released"));
    if (!isKept && described.hierarchy !== undefined) findings.push(fails("columns", "the plan gives a hierarchy to a column that is not released"));
  }
  const places = certificate.domains.map((/** @type {{column: string}} */ domain) => Object.keys(plan).indexOf(domain.column));
  if (places.some((/** @type {number} */ place, /** @type {number} */ i) => place < 0 || (i > 0 && place <= places[i - 1]))) findings.push(fails("domains", "they do not stand in the order of the plan"));
  Object.entries(plan).forEach(([name, described], place) => {
    const file = described.hierarchy?.file ?? described.hierarchy?.taxonomy;
    const content = typeof file === "string" ? files.get(file) : undefined;
    if (content !== undefined && !isCanonical(content, described.hierarchy.delimiter ?? ";")) findings.push(fails(file, "it holds more than the rows of a hierarchy, or is written otherwise"));
    if (typeof file === "string" && !new RegExp(`^hierarchies/${place + 1}(-[^/]*)?\\.csv$`).test(file)) findings.push(fails(name, "its hierarchy file does not have the name that Shoal gives it"));
  });
  if (files.has("verify.html")) findings.push(unchecked("verify.html", "a page that came with the data may be a forger's: use one that you fetched yourself"));
  if ((certificate.roles === "guessed") !== isGuessed) findings.push(fails("roles", "certificate and plan disagree on whether they were guessed"));
  return findings;
}

/**
 * @param {import("./certificate.js").DataFile} data
 * @param {import("./certificate.js").PromiseEntry[]} promises
 * @param {Record<string, any>} plan
 * @param {Map<string, Uint8Array>} files
 * @param {Parameters<typeof checkDomains>[4]} made
 * @param {Finding[]} findings
 */
async function checkTable(data, promises, plan, files, made, findings) {
  const bytes = files.get(data.file);
  if (bytes === undefined) {
    findings.push(unchecked(data.file, "a table in several parts is not read here"));
    findings.push(...promises.map((each) => ({ ...unchecked(each.model, "its table was not read"), isPromise: true })));
    return;
  }
  try {
    const table = await readParquet(bytes, data.columns.map((each) => each.name), data.records);
    findings.push(holds(data.file, `${data.records.toLocaleString("en-US")} records, ${data.columns.length} columns, as certified`));
    if (!isSorted(table)) findings.push(fails(data.file, "its records are not in the order of their values"));
    const copy = data.file.replace(/\.parquet$/, ".csv");
    const copied = files.get(copy);
    if (copied !== undefined) findings.push(checkCopy(copy, copied, table));
    findings.push(...checkDomains(data, table, plan, files, made));
    findings.push(...promises.map((each) => checkPromise(each, data, table, files)));
    return table;
  } catch (error) {
    if (!(error instanceof Mismatch) && !(error instanceof RangeError)) {
      findings.push(fails(data.file, "it cannot be read as a table"));
      return;
    }
    findings.push(fails(data.file, error.message));
  }
}
