// The columns: what is changed is saved at once; two windows notice each other.
import { busy, call, channel, clear, make, numbers, show } from "./app.js";
import { glance, picture } from "./pictures.js";
import { drawValues } from "./groups.js";

const list = document.querySelector("#columns");
const table = list.dataset.table;
const rows = [...list.tBodies[0].rows];
const panel = document.querySelector("#panel");
const form = document.querySelector("#panel-form");
const state = document.querySelector("#state");
const { columns, version: first } = JSON.parse(document.querySelector("#saved").textContent);
const windows = channel(table);
let version = first;
let chosen = null;

/** The roles of columns that name someone: removed, or replaced by pseudonyms. */
const naming = ["identifier", "person", "household"];
/** The roles of surveys, and those that the short choice shows for them. */
const near = { person: "identifier", household: "identifier", stratum: "quasi-identifier", weight: "insensitive" };
/** Roles of columns whose values are not made coarser; and how many columns have a role, in words. */
const levelless = [...naming, "insensitive", "weight", "drop", "decide"];
const several = { identifier: "name a person", person: "say whose record it is", household: "say whose household it is", "quasi-identifier": "others may know", drop: "not needed" };
const labels = Object.fromEntries([...document.querySelector("#only").options].map((option) => [option.value, option.textContent]));
const ruleOptions = [...form.elements.rule.options];
const allowed = (rule, kind) => ruleOptions.find((option) => option.value === rule)?.dataset.kinds.split(" ").includes(kind) ?? true;
const nameOf = (rule) => ruleOptions.find((option) => rule && option.value in rule)?.value ?? "flat";

// ---- saving: one change after the other, each on the state that the last one left

let queue = Promise.resolve();
let saving = 0;
const unsaved = new Map();

function tell() {
  state.classList.toggle("bad", unsaved.size > 0);
  if (saving) state.textContent = "Saving …";
  else if (unsaved.size) state.textContent = `Not saved: ${[...unsaved.keys()].map((n) => columns[n].name).join(", ")}`;
  else state.textContent = "All changes are saved";
  for (const row of rows) row.classList.toggle("unsaved", unsaved.has(Number(row.dataset.number)));
  const counts = Object.entries(labels).filter(([role]) => role).map(([role, label]) => [role, label, columns.filter((column) => column.role === role).length]);
  document.querySelector("#counts").replaceChildren(...counts.filter(([, , number]) => number).map(([role, label, number]) =>
    make("span", { class: `role ${role}` }, `${number} ${several[role] ?? label.toLowerCase()}`)));
}

/** Save changes of columns by number; what the app refuses stays marked as not saved. */
function save(changes, more = {}) {
  saving += 1;
  tell();
  queue = queue.then(async () => {
    try {
      const answer = await call("PATCH", `/api/tables/${table}/schema`, { version, columns: changes, ...more }, { keepalive: true });
      version = answer.version;
      windows.postMessage(version);
      for (const [n, column] of Object.entries(changes)) {
        columns[n] = { name: columns[n].name, ...column };
        unsaved.delete(Number(n));
        paint(Number(n), answer.words[n]);
        if (Number(n) === chosen) clear(document.querySelector("#column-problems"));
      }
      return true;
    } catch (error) {
      for (const n of Object.keys(changes)) unsaved.set(Number(n), error);
      if (chosen !== null && chosen in changes) show(error, document.querySelector("#column-problems"));
      else show(error);
      return false;
    } finally {
      saving -= 1;
      tell();
    }
  });
  return queue;
}

function paint(n, words) {
  const row = rows[n];
  const { role, kind } = columns[n];
  row.dataset.role = role;
  for (const radio of row.querySelectorAll("[type=radio]")) radio.checked = radio.value === (near[role] ?? role);
  row.querySelector(".kind").textContent = kind ?? "categorical";
  if (words !== undefined) row.querySelector(".levels-in-words").textContent = words;
}

/** A column with some of its parts changed; what no longer fits its kind or role goes. */
function changed(n, parts) {
  const column = { ...columns[n], ...parts };
  delete column.name;
  const kind = column.kind ?? "categorical";
  if (!allowed(nameOf(column.hierarchy), kind)) delete column.hierarchy;
  const ordered = kind === "numeric" || kind === "date";
  for (const part of ordered ? ["values"] : ["minimum", "maximum"]) delete column[part];
  if (!naming.includes(column.role)) delete column.pseudonym;
  for (const [part, value] of Object.entries(column)) if (value === undefined) delete column[part];
  return column;
}

window.addEventListener("beforeunload", (event) => { if (saving || unsaved.size) event.preventDefault(); });
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href]");
  if (!link || !saving || link.hasAttribute("download") || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  queue.then(() => { if (!unsaved.size) location.assign(link.href); });
});
windows.onmessage = () => (unsaved.size ? show({ problems: ["the columns were changed in another window"], hint: "load this page again; what is not saved here is lost" }) : location.reload());
window.addEventListener("pageshow", async (event) => {
  if (event.persisted && (await call("GET", `/api/tables/${table}/schema`)).version !== version) location.reload();
});

// ---- the list

for (const row of rows) {
  const n = Number(row.dataset.number);
  paint(n);
  row.querySelector(".choice").addEventListener("change", (event) => {
    save({ [n]: changed(n, { role: event.target.value }) }).then(() => { if (n === chosen) fill(); });
  });
  row.querySelector(".name").addEventListener("click", () => open(n));
}
const shown = () => rows.filter((row) => !row.hidden);
function filter() {
  const text = document.querySelector("#find").value.toLowerCase();
  const role = document.querySelector("#only").value;
  for (const row of rows) row.hidden = !row.dataset.name.toLowerCase().includes(text) || Boolean(role && row.dataset.role !== role);
  document.querySelector("#none").hidden = shown().length > 0;
}
document.querySelector("#find").addEventListener("input", filter);
document.querySelector("#only").addEventListener("change", filter);
document.querySelector("#all").addEventListener("change", (event) => { for (const row of shown()) row.querySelector(".tick").checked = event.target.checked; });
for (const part of ["role", "kind"]) {
  document.querySelector(`#bulk-${part}`).addEventListener("change", (event) => {
    const value = event.target.value;
    const ticked = rows.filter((row) => row.querySelector(".tick").checked).map((row) => Number(row.dataset.number));
    event.target.value = "";
    clear();
    if (!value) return;
    if (!ticked.length) { show({ problems: ["tick the columns to change first"] }); return; }
    save(Object.fromEntries(ticked.map((n) => [n, changed(n, { [part]: value })]))).then(() => { if (chosen !== null) fill(); });
  });
}
document.querySelector("#confirm").addEventListener("click", (event) => busy(event.currentTarget, async () => {
  await queue;
  if (unsaved.size) throw [...unsaved.values()][0];
  const open = columns.filter((column) => column.role === "decide").map((column) => `\`${column.name}\``);
  if (open.length) throw { problems: [`nobody has decided what ${open.length === 1 ? "this column is" : "these columns are"}: ${open.join(", ")}`], hint: "choose one of the four roles for each; Show “To decide” lists them alone" };
  if (await save({}, { confirmed: true })) location.assign(`/tables/${table}/risk`);
}));
glance(rows, (n) => `/api/tables/${table}/columns/${n}/values`);

// ---- the panel

const lines = (value) => value.split("\n").map((line) => line.trim()).filter(Boolean);
/** A field by its name; `form.elements.length` would be their number. */
const field = (name) => form.elements.namedItem(name);
const text = (name) => field(name).value.trim();

/** A line such as "north = Oslo | Bergen" as a pair. */
const pair = (line) => {
  const at = line.indexOf("=");
  return at < 0 ? [line, ""] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
};
const groupsOf = (value) => value.split(/\n\s*\n/).map((level) =>
  Object.fromEntries(lines(level).map(pair).map(([name, of]) => [name, of.split("|").map((each) => each.trim()).filter(Boolean)])));
const groupsText = (levels) => levels.map((level) => Object.entries(level).map(([name, of]) => `${name} = ${of.join(" | ")}`).join("\n")).join("\n\n");

const rules = {
  flat: () => undefined,
  intervals: () => ({ intervals: numbers(text("intervals")), ...(text("origin") && { origin: Number(text("origin")) }), ...(text("bottom") && { bottom: Number(text("bottom")) }), ...(text("top") && { top: Number(text("top")) }) }),
  cuts: () => ({ cuts: lines(text("cuts")).map(numbers) }),
  quantiles: () => ({ quantiles: numbers(text("quantiles")) }),
  mask: () => ({ mask: numbers(text("mask")), length: numbers(text("length"))[0], side: text("side") }),
  dates: () => ({ dates: [...form.querySelectorAll("[name=dates]:checked")].map((box) => box.value) }),
  groups: () => ({ groups: groupsOf(text("groups")) }),
  regions: () => ({ regions: ["sub-region", "region"] }),
  taxonomy: () => ({ taxonomy: Object.fromEntries(lines(text("taxonomy")).map(pair)) }),
  file: () => ({ file: "" }),
};
/** A rule as the texts of its fields. */
const texts = {
  intervals: (rule) => rule.intervals.join(", "),
  origin: (rule) => rule.origin ?? "",
  bottom: (rule) => rule.bottom ?? "",
  top: (rule) => rule.top ?? "",
  cuts: (rule) => rule.cuts.map((level) => level.join(", ")).join("\n"),
  quantiles: (rule) => rule.quantiles.join(", "),
  mask: (rule) => rule.mask.join(", "),
  length: (rule) => rule.length ?? "",
  groups: (rule) => groupsText(rule.groups),
  taxonomy: (rule) => (typeof rule.taxonomy === "string" ? "" : Object.entries(rule.taxonomy).map(([child, parent]) => `${child} = ${parent}`).join("\n")),
};
/** What has no fields here, such as a file, stays as it was. */
const asItWas = (rule, name) => name === "regions" || name === "file" || typeof rule?.[name] === "string";
/** A number where it is one, a day or a mistake as it is. */
const bound = (value) => (value === "" ? undefined : Number.isNaN(Number(value)) ? value : Number(value));

function gather() {
  const rule = text("rule");
  const old = columns[chosen].hierarchy;
  const values = lines(form.elements.values.value);
  return changed(chosen, {
    role: text("role"),
    kind: text("kind"),
    missing: text("missing"),
    weight: Number(text("weight") || 1),
    pseudonym: form.elements.pseudonym.checked || undefined,
    minimum: bound(text("minimum")),
    maximum: bound(text("maximum")),
    values: values.length ? values : undefined,
    hierarchy: nameOf(old) === rule && asItWas(old, rule) ? old : rules[rule](),
  });
}

function arrange() {
  for (const option of ruleOptions) option.hidden = option.disabled = !option.dataset.kinds.split(" ").includes(text("kind"));
  if (form.elements.rule.selectedOptions[0]?.disabled) form.elements.rule.value = "flat";
  for (const part of form.querySelectorAll("[data-rule]")) part.hidden = part.dataset.rule !== text("rule");
  for (const part of form.querySelectorAll("[data-kind]")) part.hidden = !part.dataset.kind.split(" ").includes(text("kind"));
  form.elements.pseudonym.closest("label").hidden = !naming.includes(text("role"));
  document.querySelector("#levels").hidden = levelless.includes(text("role"));
}

function fill() {
  const column = columns[chosen];
  const rule = column.hierarchy;
  form.reset();
  form.elements.role.value = column.role;
  form.elements.kind.value = column.kind ?? "categorical";
  form.elements.missing.value = column.missing ?? "category";
  form.elements.weight.value = column.weight ?? 1;
  form.elements.pseudonym.checked = Boolean(column.pseudonym);
  for (const name of ["minimum", "maximum"]) form.elements[name].value = column[name] ?? "";
  form.elements.values.value = (column.values ?? []).join("\n");
  form.elements.rule.value = nameOf(rule);
  for (const [name, of] of Object.entries(texts)) field(name).value = rule && (name in rule) ? of(rule) : "";
  form.elements.side.value = rule?.side ?? "right";
  for (const box of form.querySelectorAll("[name=dates]")) box.checked = (rule?.dates ?? []).includes(box.value);
  arrange();
  if (text("rule") === "groups") byHand();
}

async function open(n) {
  chosen = n;
  panel.hidden = false;
  for (const row of rows) row.classList.toggle("chosen", row === rows[n]);
  document.querySelector("#panel-name").textContent = columns[n].name;
  const about = document.querySelector("#panel-profile");
  const missing = rows[n].cells[4].textContent.trim();
  about.textContent = `${rows[n].cells[3].textContent} different values; ${missing === "–" ? "nothing" : missing} is missing`;
  document.querySelector("#preview").replaceChildren();
  document.querySelector("#download-levels").href = `/api/tables/${table}/columns/${n}/hierarchy.csv`;
  clear(document.querySelector("#column-problems"));
  fill();
  if (unsaved.has(n)) show(unsaved.get(n), document.querySelector("#column-problems"));
  document.querySelector("#panel-name").focus();
  const found = await call("GET", `/api/tables/${table}/columns/${n}/values`);
  if (chosen !== n) return;
  document.querySelector("#panel-picture").replaceChildren(picture(found, { width: 340, height: 96, labels: true }));
  document.querySelector("#panel-why").textContent = found.why ?? "";
}
document.querySelector("#close").addEventListener("click", () => {
  panel.hidden = true;
  rows[chosen].classList.remove("chosen");
  rows[chosen].querySelector(".name").focus();
  chosen = null;
});

async function preview() {
  const place = document.querySelector("#preview");
  try {
    const found = await call("POST", `/api/tables/${table}/columns/${chosen}/preview`, gather());
    const head = found.levels.map((size, level) =>
      make("th", { scope: "col" }, level ? `Level ${level}` : "Value", make("br"), make("span", { class: "quiet" }, size === 1 ? "1 value" : `${size.toLocaleString("en")} values`)));
    let last = [];
    const body = found.rows.map((row) => {
      const cells = row.map((cell, level) => make("td", cell === last[level] && level ? { class: "same" } : {}, cell ?? "(missing)"));
      last = row;
      return make("tr", {}, ...cells);
    });
    place.replaceChildren(make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "The levels" },
      make("table", { class: "figures" }, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...body))));
    if (found.outside) place.append(make("p", { class: "problems" }, found.outside));
    if (found.rows.length < found.values) place.append(make("p", { class: "quiet" }, `${found.rows.length} of ${found.values.toLocaleString("en")} values are shown.`));
  } catch (error) {
    const box = make("div", { class: "problems" });
    show(error, box);
    place.replaceChildren(box);
  }
}
document.querySelector("#preview-levels").addEventListener("click", preview);

/** Send a hierarchy file for a column and return the rule that names it. */
async function sendHierarchy(n, file) {
  const head = (await file.slice(0, 4096).text()).split("\n")[0];
  const delimiter = [";", ",", "\t", "|"].sort((a, b) => head.split(b).length - head.split(a).length)[0];
  return call("PUT", `/api/tables/${table}/columns/${n}/hierarchy?delimiter=${encodeURIComponent(delimiter)}`, file);
}

form.addEventListener("change", async (event) => {
  const n = chosen;
  if (event.target.closest("#values") || event.target.name === "group-name") return;
  arrange();
  if (event.target.name === "upload") {
    if (!event.target.files.length) return;
    try {
      const hierarchy = await sendHierarchy(n, event.target.files[0]);
      if (await save({ [n]: changed(n, { kind: text("kind"), hierarchy }) }) && n === chosen) preview();
    } catch (error) {
      show(error, document.querySelector("#column-problems"));
    }
    return;
  }
  if (event.target.name === "rule" && text("rule") === "groups") byHand();
  const complete = text("rule") === nameOf(columns[n].hierarchy) || !["file", "intervals", "cuts", "quantiles", "mask", "groups", "taxonomy", "dates"].includes(text("rule")) || event.target.name !== "rule";
  if (!complete) {
    unsaved.set(n, { problems: [`the levels of ${columns[n].name} are not filled in yet`], hint: "fill them in, or choose another way" });
    tell();
    return;
  }
  if (await save({ [n]: gather() }) && n === chosen && document.querySelector("#preview").childElementCount) preview();
});

function byHand() {
  const n = chosen;
  drawValues({
    address: `/api/tables/${table}/columns/${n}/values?limit=500`,
    place: document.querySelector("#values"),
    names: document.querySelector("#group-names"),
    levels: () => groupsOf(text("groups")),
  });
}
document.querySelector("#group").addEventListener("click", async () => {
  const name = text("group-name");
  const ticked = [...document.querySelectorAll("#values [type=checkbox]:checked")].map((box) => box.value);
  if (!name || !ticked.length) { show({ problems: ["tick some values, and name their group"] }, document.querySelector("#column-problems")); return; }
  const [level = {}, ...others] = groupsOf(text("groups"));
  for (const [other, of] of Object.entries(level)) {
    level[other] = of.filter((value) => !ticked.includes(value));
    if (!level[other].length) delete level[other];
  }
  level[name] = [...(level[name] ?? []), ...ticked];
  form.elements.groups.value = groupsText([level, ...others]);
  form.elements["group-name"].value = "";
  byHand();
  await save({ [chosen]: gather() });
});

// ---- files

document.querySelector("#many").addEventListener("change", async (event) => {
  clear();
  const files = [...event.target.files];
  event.target.value = "";
  const plain = (name) => name.toLowerCase().replace(/[^a-z0-9]/g, "");
  const changes = {};
  const problems = [];
  for (const file of files) {
    const stem = plain(file.name.replace(/\.[^.]*$/, ""));
    const found = columns.map((column, n) => [plain(column.name), n]).filter(([name]) => name && stem.endsWith(name)).sort((a, b) => b[0].length - a[0].length)[0];
    try {
      if (!found) throw { problems: [`${file.name}: no column is called so`] };
      changes[found[1]] = changed(found[1], { hierarchy: await sendHierarchy(found[1], file) });
    } catch (error) {
      problems.push(...error.problems);
    }
  }
  if (Object.keys(changes).length) await save(changes);
  if (problems.length) show({ problems });
});
document.querySelector("#schema-file").addEventListener("change", async (event) => {
  clear();
  try {
    await queue;
    await call("PUT", `/api/tables/${table}/schema.toml`, event.target.files[0]);
    windows.postMessage("");
    unsaved.clear();
    location.reload();
  } catch (error) {
    show(error);
  }
});
tell();
