// Verify a release: four loops over files, tables, columns and promises.

import { parse as parseToml } from "smol-toml";
import { readCertificate } from "./certificate.js";
import { checkCopy, isCanonical } from "./delimited.js";
import { isSorted, joinParts, Mismatch, readParquet } from "./data.js";
import { checkDomains } from "./domains.js";
import { checkEntries, checkWords } from "./entries.js";
import { checkNested, checkTables, orderTables } from "./nested.js";
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
  const document = readPlan(files.get("plan.toml"), findings);
  if ((certificate.roles === "guessed") !== (document.guessed === true)) findings.push(fails("roles", "certificate and plan disagree on whether they were guessed"));
  findings.push(...checkWords(certificate));
  if (document.tables !== undefined) return verifyTables(certificate, document, files, findings);
  const plan = document.columns ?? {};
  findings.push(...checkParts(certificate, plan, files), ...checkEntries(certificate, plan, document.promises ?? []));
  if (findings.some((each) => each.status === "fails")) return ended(findings, certificate);
  const made = {
    buckets: new Set(certificate.steps.filter((step) => step.step === "bucketized").flatMap((step) => step.columns ?? [])),
    aggregates: new Map(certificate.steps.filter((step) => step.step === "aggregated").flatMap((step) => step.columns.map((/** @type {string} */ name, /** @type {number} */ i) => [name, step.functions[i]]))),
    hasIntervals: JSON.stringify(document.method ?? {}).includes('"intervals":true'),
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
  const tables = new Set([certificate.data, ...certificate.further_data].map((data) => data.file));
  const astray = certificate.promises.filter((each) => !tables.has(each.file ?? certificate.data.file));
  findings.push(...astray.map((each) => fails(each.model, "it is about a table that the release does not have")));
  if (numbered.length > 0) findings.push(checkLink(numbered));
  return ended([...findings, ...(await atTheEnd(files))], certificate);
}

/** The signature, and what this page never checks. @param {Map<string, Uint8Array>} files */
async function atTheEnd(files) {
  return [
    await checkSignature(files),
    unchecked("bytes", "a page cannot write Parquet again; hidden bytes in a file are not looked for"),
    unchecked("sentences and steps", "that they follow from the plan is not checked here; shoal verify does"),
  ];
}

/**
 * A release of several tables that keys join.
 *
 * @param {Certificate} certificate
 * @param {Plan} document
 * @param {Map<string, Uint8Array>} files
 * @param {Finding[]} findings
 */
async function verifyTables(certificate, document, files, findings) {
  const tables = [certificate.data, ...certificate.further_data];
  let plan;
  try {
    plan = orderTables(document.tables ?? {});
  } catch (error) {
    return ended([...findings, fails("plan.toml", reason(error))], certificate);
  }
  const described = plan.flatMap((table) => Object.values(table.columns));
  findings.push(...checkNames(certificate, ["plan.toml", "summary.txt", "report.html", ...described.map((each) => each.hierarchy?.file)]));
  findings.push(...described.flatMap((each) => checkHierarchyFile(each, files)), ...checkTables(certificate, plan, document.shift_dates !== undefined));
  if (findings.some((each) => each.status === "fails")) return ended(findings, certificate);
  /** @type {Map<string, import("./data.js").TableData>} */
  const opened = new Map();
  for (const [place, data] of tables.entries()) {
    const { name, columns, released } = plan[place];
    const known = { ...data, columns: data.columns.filter((column) => released.includes(column.name)) };
    const table = await readTable(data, files, findings);
    if (table === undefined) continue;
    opened.set(name, table);
    findings.push(...checkDomains(known, table, columns, files, { buckets: new Set(), aggregates: new Map(), hasIntervals: false, areAllCoarse: false }));
  }
  if (!findings.some((each) => each.status === "fails")) findings.push(...checkNested(certificate, plan, opened, document.promises ?? []));
  return ended([...findings, ...(await atTheEnd(files))], certificate);
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
 * @typedef {{columns?: Record<string, any>, tables?: Record<string, any>, promises?: any[], method?: any, shift_dates?: number, guessed?: unknown}} Plan
 *
 * @param {Uint8Array | undefined} bytes
 * @param {Finding[]} findings
 * @returns {Plan}
 */
function readPlan(bytes, findings) {
  try {
    if (bytes === undefined || bytes.length > LARGEST_PLAN) throw new Error();
    const plan = /** @type {any} */ (parseToml(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes), { integersAsBigInt: "asNeeded" }));
    if ((typeof plan.columns === "object") === (typeof plan.tables === "object")) throw new Error();
    return plan;
  } catch {
    findings.push(fails("plan.toml", "it is missing, or not a plan"));
    return {};
  }
}

/**
 * The files, columns and roles that follow from the plan.
 *
 * @param {Certificate} certificate
 * @param {Record<string, any>} plan
 * @param {Map<string, Uint8Array>} files
 */
function checkParts(certificate, plan, files) {
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
  findings.push(...checkNames(certificate, ["plan.toml", "summary.txt", "report.html", "verify.html", ...notes, ...hierarchies]));
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
    findings.push(...checkHierarchyFile(described, files));
    if (typeof file === "string" && !new RegExp(`^hierarchies/${place + 1}(-[^/]*)?\\.csv$`).test(file)) findings.push(fails(name, "its hierarchy file does not have the name that Shoal gives it"));
  });
  if (files.has("verify.html")) findings.push(unchecked("verify.html", "a page that came with the data may be a forger's: use one that you fetched yourself"));
  return findings;
}

/** Refuse files that no release of a plan has. @param {Certificate} certificate @param {(string | undefined)[]} usual */
function checkNames(certificate, usual) {
  const names = new Set(usual);
  const tables = [certificate.data, ...certificate.further_data].map((data) => data.file.replace(/\.parquet$/, ""));
  const ofTable = /^(.*?)\.(parquet|csv)(\/part-\d{5}\.\2)?$/;
  return certificate.files
    .filter(({ name }) => !names.has(name) && !tables.includes(ofTable.exec(name)?.[1] ?? ""))
    .map(({ name }) => fails(name, "not a file that a release of this plan has"));
}

/** A hierarchy file holds its rows and nothing else. @param {any} described @param {Map<string, Uint8Array>} files */
function checkHierarchyFile(described, files) {
  const file = described.hierarchy?.file ?? described.hierarchy?.taxonomy;
  const content = typeof file === "string" ? files.get(file) : undefined;
  return content === undefined || isCanonical(content, described.hierarchy.delimiter ?? ";") ? [] : [fails(file, "it holds more than the rows of a hierarchy, or is written otherwise")];
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
  const table = await readTable(data, files, findings);
  if (table === undefined) {
    findings.push(...promises.map((each) => ({ ...unchecked(each.model, "its table was not read"), isPromise: true })));
    return;
  }
  if (!isSorted(table)) findings.push(fails(data.file, "its records are not in the order of their values"));
  try {
    findings.push(...checkDomains(data, table, plan, files, made));
    findings.push(...promises.map((each) => checkPromise(each, data, table, files)));
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    findings.push(fails(data.file, error.message));
  }
  return table;
}

/**
 * Read a table and compare it with its copy; undefined, with a finding, where it cannot be read here.
 *
 * @param {import("./certificate.js").DataFile} data
 * @param {Map<string, Uint8Array>} files
 * @param {Finding[]} findings
 */
async function readTable(data, files, findings) {
  const names = namesOf(data.file, files);
  const copies = namesOf(data.file.replace(/\.parquet$/, ".csv"), files);
  if (names.length === 0) findings.push(fails(data.file, "the release does not hold it"));
  if (copies.length > 0 && copies.length !== names.length) findings.push(fails(copies[0], "the copy has more or fewer parts than the table"));
  if (names.length === 0 || (copies.length > 0 && copies.length !== names.length)) return;
  try {
    const parts = [];
    for (const [place, name] of names.entries()) {
      const part = await readParquet(/** @type {Uint8Array} */ (files.get(name)), data.columns.map((each) => each.name), data.records);
      if (copies.length > 0) findings.push(checkCopy(copies[place], /** @type {Uint8Array} */ (files.get(copies[place])), part));
      parts.push(part);
    }
    const table = joinParts(parts);
    if (table.records !== data.records) throw new Mismatch("its number of records is not the certified one");
    findings.push(holds(data.file, `${data.records.toLocaleString("en-US")} records, ${data.columns.length} columns, as certified`));
    return table;
  } catch (error) {
    findings.push(fails(data.file, error instanceof Mismatch || error instanceof RangeError ? error.message : "it cannot be read as a table"));
  }
}

/**
 * The files of a table: one, or its parts from 0 on without a gap; none where there are both, or others.
 *
 * @param {string} file @param {Map<string, Uint8Array>} files
 */
function namesOf(file, files) {
  const ending = file.slice(file.lastIndexOf("."));
  const parts = [...files.keys()].filter((name) => name.startsWith(`${file}/`)).sort();
  if (parts.length === 0) return files.has(file) ? [file] : [];
  const areAll = !files.has(file) && parts.every((name, place) => name === `${file}/part-${String(place).padStart(5, "0")}${ending}`);
  return areAll ? parts : [];
}
