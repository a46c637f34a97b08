// The page: drop a release on it, read the verdict.

import { readZip, withoutCommonFolder } from "./archive.js";
import { sayPromise } from "./promises.js";
import { verifyRelease } from "./verify.js";

const VERDICTS = {
  holds: ["Every promise holds", "This page decided every promise of the certificate on the data."],
  partly: ["Nothing is wrong, but a promise was not checked", "What this page checked holds; it did not decide every promise."],
  fails: ["This release fails", "What failed stands first. Do not rely on any of its promises."],
};
const MARKS = { fails: "fails", unchecked: "not checked", holds: "ok" };

/** @param {string} id */
const element = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** @param {string} tag @param {string} text @param {string} [kind] */
function make(tag, text, kind) {
  const made = document.createElement(tag);
  made.textContent = visible(text);
  if (kind !== undefined) made.className = kind;
  return made;
}

/** Show control and direction signs instead of obeying them. @param {string} text */
function visible(text) {
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g, "\ufffd");
}

/** @param {Map<string, Uint8Array>} files */
async function show(files) {
  const { outcome, findings, certificate } = await verifyRelease(files);
  const result = element("result");
  const [title, meaning] = VERDICTS[outcome];
  result.replaceChildren(make("h2", title, outcome), make("p", meaning));
  if (certificate !== undefined && outcome !== "fails") {
    const promises = document.createElement("ul");
    const files = new Map([certificate.data, ...certificate.further_data].map((data) => [data.file, data]));
    for (const promise of certificate.promises) {
      const data = files.get(promise.file ?? certificate.data.file);
      const sentence = data === undefined ? undefined : sayPromise(promise, data);
      promises.append(make("li", sentence ?? `${promise.model}: not checked by this page`));
    }
    result.append(make("h3", "What it promises, in this page's words"), promises);
  }
  const table = document.createElement("table");
  for (const status of /** @type {const} */ (["fails", "unchecked", "holds"])) {
    for (const finding of findings.filter((each) => each.status === status)) {
      const row = table.insertRow();
      row.append(make("td", MARKS[status], status), make("th", finding.subject), make("td", finding.detail));
    }
  }
  result.append(make("h3", "What was checked"), table);
  document.title = `${title} – Shoal`;
}

/** @param {() => Promise<Map<string, Uint8Array>>} read */
async function run(read) {
  const result = element("result");
  result.replaceChildren(make("p", "Reading ..."));
  try {
    await show(await read());
  } catch (error) {
    result.replaceChildren(make("h2", "This cannot be checked", "fails"), make("p", /** @type {Error} */ (error).message));
  }
}

/** @param {FileList | File[]} list */
async function fromFiles(list) {
  const files = [...list];
  if (files.length === 1 && files[0].name.toLowerCase().endsWith(".zip")) return readZip(await bytesOf(files[0]));
  /** @type {Map<string, Uint8Array>} */
  const found = new Map();
  for (const file of files) found.set(file.webkitRelativePath || file.name, await bytesOf(file));
  return withoutCommonFolder(found);
}

/** @param {File} file */
const bytesOf = async (file) => new Uint8Array(await file.arrayBuffer());

/** @param {FileSystemEntry} entry @param {string} path @param {Map<string, Uint8Array>} found */
async function walk(entry, path, found) {
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => /** @type {FileSystemFileEntry} */ (entry).file(resolve, reject));
    found.set(path + entry.name, await bytesOf(/** @type {File} */ (file)));
    return;
  }
  const reader = /** @type {FileSystemDirectoryEntry} */ (entry).createReader();
  for (;;) {
    /** @type {FileSystemEntry[]} */
    const entries = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (entries.length === 0) return;
    for (const each of entries) await walk(each, `${path}${entry.name}/`, found);
  }
}

/** @param {DataTransfer} dropped */
async function fromDrop(dropped) {
  const entries = [...dropped.items].map((item) => item.webkitGetAsEntry()).filter((entry) => entry !== null);
  if (entries.length === 1 && entries[0].isDirectory) {
    /** @type {Map<string, Uint8Array>} */
    const found = new Map();
    await walk(entries[0], "", found);
    return withoutCommonFolder(found);
  }
  return fromFiles(dropped.files);
}

// for tests, and for whoever checks many releases by a script
Object.assign(globalThis, { verifyRelease });

const target = element("drop");
for (const name of ["dragover", "drop"]) document.addEventListener(name, (event) => event.preventDefault());
document.addEventListener("dragover", () => target.classList.add("over"));
document.addEventListener("dragleave", () => target.classList.remove("over"));
document.addEventListener("drop", (event) => {
  target.classList.remove("over");
  const dropped = event.dataTransfer;
  if (dropped !== null) run(() => fromDrop(dropped));
});
for (const id of ["folder", "archive"]) {
  const input = /** @type {HTMLInputElement} */ (element(id));
  input.addEventListener("change", () => {
    const chosen = [...(input.files ?? [])];
    if (chosen.length > 0) run(() => fromFiles(chosen));
  });
}
