// The columns: what is changed is saved at once; two windows notice each other.
import { busy, call, channel, clear, make, show } from "./app.js";
import { called, complete, drawGroups, moved } from "./groups.js";
import { drawCuts, withCut } from "./cuts.js";
import { glance, picture } from "./pictures.js";
import { tellDraft, watchPurpose } from "./purpose.js";
import { groupsOf, groupsText, lines, rules, texts } from "./rules.js";

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
const several = {
  identifier: "name a person",
  person: "say whose record it is",
  household: "say whose household it is",
  "quasi-identifier": "that others may know",
  drop: "not needed",
};
const labels = Object.fromEntries(
  [...document.querySelector("#only").options].map((option) => [option.value, option.textContent]),
);
const ruleOptions = [...form.elements.rule.options];
const allowed = (rule, kind) =>
  ruleOptions
    .find((option) => option.value === rule)
    ?.dataset.kinds.split(" ")
    .includes(kind) ?? true;
const nameOf = (rule) => ruleOptions.find((option) => rule && option.value in rule)?.value ?? "flat";

// ---- saving: one change after the other, each on the state that the last one left

/** @type {Promise<any>} */
let queue = Promise.resolve();
let saving = 0;
const unsaved = new Map();

function tell() {
  state.classList.toggle("bad", unsaved.size > 0);
  if (saving) state.textContent = "Saving …";
  else if (unsaved.size) state.textContent = `Not saved: ${[...unsaved.keys()].map((n) => columns[n].name).join(", ")}`;
  else state.textContent = "All changes are saved";
  for (const row of rows) row.classList.toggle("unsaved", unsaved.has(Number(row.dataset.number)));
  tellDraft(columns);
  const counts = Object.entries(labels)
    .filter(([role]) => role)
    .map(([role, label]) => [role, label, columns.filter((column) => column.role === role).length]);
  document
    .querySelector("#counts")
    .replaceChildren(
      ...counts
        .filter(([, , number]) => number)
        .map(([role, label, number]) =>
          make(
            "span",
            { class: `role ${role}` },
            `${number} ${((number > 1 || role === "quasi-identifier") && several[role]) || label.toLowerCase()}`,
          ),
        ),
    );
}

/** Save changes of columns by number; what the app refuses stays marked as not saved.
 * @returns {Promise<any>} whether they are saved
 */
function save(changes, more = {}) {
  saving += 1;
  tell();
  queue = queue.then(async () => {
    try {
      const answer = await call(
        "PATCH",
        `/api/tables/${table}/schema`,
        { version, columns: changes, ...more },
        { keepalive: true },
      );
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
  if (kind !== "date") delete column.date_format;
  for (const part of ["decimal", "thousands", "unit"]) if (kind !== "numeric") delete column[part];
  if (!ordered) delete column.unreadable;
  if (!naming.includes(column.role)) delete column.pseudonym;
  for (const [part, value] of Object.entries(column)) if (value === undefined) delete column[part];
  return column;
}

window.addEventListener("beforeunload", (event) => {
  if (saving || unsaved.size) event.preventDefault();
});
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href]");
  if (!link || !saving || link.hasAttribute("download") || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  queue.then(() => {
    if (!unsaved.size) location.assign(link.href);
  });
});
windows.onmessage = () =>
  unsaved.size
    ? show({
        problems: ["the columns were changed in another window"],
        hint: "load this page again; what is not saved here is lost",
      })
    : location.reload();
window.addEventListener("pageshow", async (event) => {
  if (event.persisted && (await call("GET", `/api/tables/${table}/schema`)).version !== version) location.reload();
});

// ---- the list

for (const row of rows) {
  const n = Number(row.dataset.number);
  paint(n);
  row.querySelector(".choice").addEventListener("change", (event) => {
    save({ [n]: changed(n, { role: event.target.value }) }).then(() => {
      if (n === chosen) fill();
    });
  });
  row.querySelector(".name").addEventListener("click", () => open(n));
}
const shown = () => rows.filter((row) => !row.hidden);
function filter() {
  const text = document.querySelector("#find").value.toLowerCase();
  const role = document.querySelector("#only").value;
  for (const row of rows)
    row.hidden = !row.dataset.name.toLowerCase().includes(text) || Boolean(role && row.dataset.role !== role);
  document.querySelector("#none").hidden = shown().length > 0;
}
document.querySelector("#find").addEventListener("input", filter);
document.querySelector("#only").addEventListener("change", filter);
document.querySelector("#all").addEventListener("change", (event) => {
  for (const row of shown()) row.querySelector(".tick").checked = event.target.checked;
});
for (const part of ["role", "kind"]) {
  document.querySelector(`#bulk-${part}`).addEventListener("change", (event) => {
    const value = event.target.value;
    const ticked = rows.filter((row) => row.querySelector(".tick").checked).map((row) => Number(row.dataset.number));
    event.target.value = "";
    clear();
    if (!value) return;
    if (!ticked.length) {
      show({ problems: ["first tick the columns to change"] });
      return;
    }
    save(Object.fromEntries(ticked.map((n) => [n, changed(n, { [part]: value })]))).then(() => {
      if (chosen !== null) fill();
    });
  });
}
document.querySelector("#confirm").addEventListener("click", (event) =>
  busy(event.currentTarget, async () => {
    await queue;
    if (unsaved.size) throw [...unsaved.values()][0];
    const open = columns.filter((column) => column.role === "decide").map((column) => `\`${column.name}\``);
    if (open.length)
      throw {
        problems: [
          `nobody has decided what ${open.length === 1 ? "this column is" : "these columns are"}: ${open.join(", ")}`,
        ],
        hint: "choose one of the four roles for each; Show “To decide” lists only these",
      };
    if (await save({}, { confirmed: true })) location.assign(`/tables/${table}/risk`);
  }),
);
glance(rows, (n) => `/api/tables/${table}/columns/${n}/values`);

// ---- the panel

/** A field by its name; `form.elements.length` would be their number. */
const field = (name) => form.elements.namedItem(name);
const text = (name) => field(name).value.trim();

/** What a person grouped by hand: names may hold any sign, which its text cannot tell; an edited text counts again. */
let grouped = { levels: [], text: "" };
const levelsNow = () => (text("groups") === grouped.text ? grouped.levels : groupsOf(text("groups")));
function setLevels(levels) {
  form.elements.groups.value = groupsText(levels);
  grouped = { levels, text: text("groups") };
}
function ruleNow() {
  const name = text("rule");
  return name === "groups"
    ? { groups: levelsNow() }
    : rules[name](
        text,
        [...form.querySelectorAll("[name=dates]:checked")].map((box) => box.value),
      );
}

/** What has no fields here, such as a file, stays as it was. */
const asItWas = (rule, name) => ["regions", "digits", "file"].includes(name) || typeof rule?.[name] === "string";
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
    date_format: text("date_format") || undefined,
    minimum: bound(text("minimum")),
    maximum: bound(text("maximum")),
    values: values.length ? values : undefined,
    hierarchy: nameOf(old) === rule && asItWas(old, rule) ? old : ruleNow(),
  });
}

function arrange() {
  for (const option of ruleOptions)
    option.hidden = option.disabled = !option.dataset.kinds.split(" ").includes(text("kind"));
  if (form.elements.rule.selectedOptions[0]?.disabled) form.elements.rule.value = "flat";
  for (const part of form.querySelectorAll("[data-rule]")) part.hidden = part.dataset.rule !== text("rule");
  for (const part of form.querySelectorAll("[data-kind]"))
    part.hidden = !part.dataset.kind.split(" ").includes(text("kind"));
  form.elements.pseudonym.closest("label").hidden = !naming.includes(text("role"));
  document.querySelector("#levels").hidden = levelless.includes(text("role"));
  drawPicture();
  if (text("rule") === "groups" && !document.querySelector("#levels").hidden) byHand();
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
  for (const name of ["minimum", "maximum", "date_format"]) form.elements[name].value = column[name] ?? "";
  form.elements.values.value = (column.values ?? []).join("\n");
  form.elements.rule.value = nameOf(rule);
  for (const [name, of] of Object.entries(texts)) field(name).value = rule && name in rule ? of(rule) : "";
  grouped = { levels: rule?.groups ?? [], text: text("groups") };
  form.elements.side.value = rule?.side ?? "right";
  for (const box of form.querySelectorAll("[name=dates]")) box.checked = (rule?.dates ?? []).includes(box.value);
  arrange();
}

async function open(n) {
  chosen = n;
  panel.hidden = false;
  for (const row of rows) row.classList.toggle("chosen", row === rows[n]);
  document.querySelector("#panel-name").textContent = columns[n].name;
  const about = document.querySelector("#panel-profile");
  const missing = rows[n].cells[4].textContent.trim();
  const different = rows[n].cells[3].textContent;
  about.textContent = `${different} different values; ${missing === "–" ? "nothing" : missing} is missing`;
  document.querySelector("#preview").replaceChildren();
  document.querySelector("#download-levels").href = `/api/tables/${table}/columns/${n}/hierarchy.csv`;
  clear(document.querySelector("#column-problems"));
  fill();
  if (unsaved.has(n)) show(unsaved.get(n), document.querySelector("#column-problems"));
  document.querySelector("#panel-name").focus();
  const found = await call("GET", `/api/tables/${table}/columns/${n}/values`);
  if (chosen !== n) return;
  seen = { column: n, ...found };
  drawPicture();
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
      make(
        "th",
        { scope: "col" },
        level ? `Level ${level}` : "Value",
        make("br"),
        make("span", { class: "quiet" }, size === 1 ? "1 value" : `${size.toLocaleString("en")} values`),
      ),
    );
    let last = [];
    const body = found.rows.map((row) => {
      const cells = row.map((cell, level) =>
        make("td", cell === last[level] && level ? { class: "same" } : {}, cell ?? "(missing)"),
      );
      last = row;
      return make("tr", {}, ...cells);
    });
    place.replaceChildren(
      make(
        "div",
        { class: "scroll", tabindex: "0", role: "region", "aria-label": "The levels" },
        make("table", { class: "figures" }, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...body)),
      ),
    );
    if (found.outside) place.append(make("p", { class: "problems" }, found.outside));
    if (found.rows.length < found.values)
      place.append(
        make("p", { class: "quiet" }, `${found.rows.length} of ${found.values.toLocaleString("en")} values are shown.`),
      );
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
  if (event.target.closest("#values") || ["group-name", "group-level"].includes(event.target.name)) return;
  arrange();
  if (event.target.name === "upload") {
    if (!event.target.files.length) return;
    try {
      const hierarchy = await sendHierarchy(n, event.target.files[0]);
      if ((await save({ [n]: changed(n, { kind: text("kind"), hierarchy }) })) && n === chosen) preview();
    } catch (error) {
      show(error, document.querySelector("#column-problems"));
    }
    return;
  }
  const filledIn = ["file", "intervals", "cuts", "quantiles", "mask", "groups", "found", "taxonomy", "dates"];
  const complete =
    text("rule") === nameOf(columns[n].hierarchy) ||
    !filledIn.includes(text("rule")) ||
    event.target.name !== "rule";
  if (!complete) {
    unsaved.set(n, {
      problems: [`the levels of ${columns[n].name} are not filled in yet`],
      hint: "fill them in, or choose another way",
    });
    tell();
    return;
  }
  if ((await save({ [n]: gather() })) && n === chosen && document.querySelector("#preview").childElementCount)
    preview();
});

// ---- groups by hand

/** The values of the chosen column and their records, and the level of groups that is shown. */
let held = { column: null, values: [], records: new Map(), distinct: 0 };
let shownLevel = 0;

async function byHand() {
  const n = chosen;
  if (held.column !== n) {
    const found = await call("GET", `/api/tables/${table}/columns/${n}/values?limit=2000`);
    held = {
      column: n,
      values: found.top.map(({ value }) => value),
      records: new Map(found.top.map(({ value, records }) => [value, records])),
      distinct: found.distinct,
    };
    shownLevel = 0;
  }
  if (chosen === n) drawLevel();
}
function drawLevel() {
  const now = levelsNow();
  const levels = complete(now.length ? now : [{}], held.values);
  shownLevel = Math.min(shownLevel, levels.length - 1);
  const choice = form.elements["group-level"];
  choice.replaceChildren(
    ...levels.map((_, i) => make("option", { value: i }, i ? `${i + 1}: groups of groups` : "1: groups of values")),
    make("option", { value: levels.length }, "one more level"),
  );
  choice.value = shownLevel;
  const keep = (next) => {
    setLevels(complete(next, held.values));
    drawLevel();
    return save({ [chosen]: gather() });
  };
  group = (members, name) => keep(moved(levels, shownLevel, members, name));
  addLevel = () => {
    shownLevel = levels.length;
    setLevels(complete([...levels, {}], held.values));
    drawLevel();
  };
  drawGroups({
    place: document.querySelector("#values"),
    names: document.querySelector("#group-names"),
    level: levels[shownLevel],
    records: shownLevel ? new Map() : held.records,
    move: group,
    rename: (old, name) => keep(called(levels, shownLevel, old, name)),
  });
  const hidden = held.distinct > held.values.length + 1;
  document.querySelector("#values-note").textContent = hidden
    ? `Only the ${held.values.length.toLocaleString("en")} most common of ${held.distinct.toLocaleString("en")} ` +
      "values are shown; the others need a group too. A hierarchy file is better here."
    : "";
}
let group;
let addLevel;
form.elements["group-level"].addEventListener("change", (event) => {
  if (Number(event.target.value) >= levelsNow().length && Number(event.target.value) > 0) addLevel();
  else {
    shownLevel = Number(event.target.value);
    drawLevel();
  }
});
for (const [button, named] of /** @type {[string, boolean][]} */ ([
  ["#group", true],
  ["#ungroup", false],
])) {
  document.querySelector(button).addEventListener("click", () => {
    const name = named ? text("group-name") : "";
    const ticked = [...document.querySelectorAll("#values [type=checkbox]:checked")].map((box) => box.value);
    const problems = document.querySelector("#column-problems");
    if ((named && !name) || !ticked.length) {
      show({ problems: [named ? "tick some values, and name their group" : "tick some values first"] }, problems);
      return;
    }
    clear(problems);
    form.elements["group-name"].value = "";
    group(ticked, name);
  });
}

// ---- cut points on the histogram

let seen = null;
const steps = () => (text("rule") === "intervals" ? rules.intervals(text) : null);

/** The ends of intervals of equal width in the picture: of every level, or of the finest alone. */
function ends({ intervals, origin = 0, bottom = -Infinity, top = Infinity }, width = intervals[0]) {
  const [low, high] = [Math.max(seen.bins[0].from, bottom), Math.min(seen.bins.at(-1).to, top)];
  if (!(width > 0) || (high - low) / width > 200) return [];
  const found = [bottom, top].filter(Number.isFinite);
  for (let i = Math.ceil((low - origin) / width); origin + i * width < high; i += 1)
    if (origin + i * width > low) found.push(Number((origin + i * width).toPrecision(12)));
  return [...new Set(found)].sort((a, b) => a - b);
}
function drawPicture() {
  const place = document.querySelector("#panel-picture");
  const known = seen?.column === chosen;
  const onPicture = known && seen.bins.length > 0 && !document.querySelector("#levels").hidden;
  for (const part of form.querySelectorAll(".on-picture"))
    part.hidden = part.dataset.rule !== text("rule") || !onPicture;
  if (!known) {
    place.replaceChildren();
    return;
  }
  const every = steps();
  if (onPicture && (text("rule") === "cuts" || every)) {
    const tell = (levels, done) => {
      form.elements.cuts.value = texts.cuts({ cuts: levels.filter((level) => level.length) });
      if (done) saveLevels();
    };
    drawCuts({
      place,
      bins: seen.bins,
      levels: every ? [] : rules.cuts(text).cuts,
      fixed: every ? ends(every) : [],
      tell: every ? () => undefined : tell,
    });
  } else place.replaceChildren(picture(seen, { width: 340, height: 96, labels: true }));
}
async function saveLevels() {
  if ((await save({ [chosen]: gather() })) && document.querySelector("#preview").childElementCount) preview();
}
document.querySelector("#add-cut").addEventListener("click", () => {
  form.elements.cuts.value = texts.cuts({ cuts: withCut(seen.bins, rules.cuts(text).cuts) });
  drawPicture();
  saveLevels();
});
document.querySelector("#to-cuts").addEventListener("click", () => {
  const every = steps();
  form.elements.cuts.value = texts.cuts({
    cuts: every.intervals.map((width) => ends(every, width)).filter((level) => level.length),
  });
  form.elements.rule.value = "cuts";
  arrange();
  saveLevels();
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
    const found = columns
      .map((column, n) => [plain(column.name), n])
      .filter(([name]) => name && stem.endsWith(name))
      .sort((a, b) => b[0].length - a[0].length)[0];
    try {
      if (!found) throw { problems: [`${file.name}: no column has that name`] };
      changes[found[1]] = changed(found[1], { hierarchy: await sendHierarchy(found[1], file) });
    } catch (error) {
      problems.push(...error.problems);
    }
  }
  if (Object.keys(changes).length) await save(changes);
  if (problems.length) show({ problems });
});
for (const [id, address] of Object.entries({ "#schema-file": "schema.toml", "#arx-file": "arx" })) {
  document.querySelector(id).addEventListener("change", async (event) => {
    clear();
    try {
      await queue;
      await call("PUT", `/api/tables/${table}/${address}`, event.target.files[0]);
      windows.postMessage("");
      unsaved.clear();
      location.reload();
    } catch (error) {
      show(error);
    }
  });
}
tell();

// ---- the purpose

watchPurpose({
  table,
  version: () => version,
  saved: async () => {
    await queue;
    if (unsaved.size) throw [...unsaved.values()][0];
  },
  reload: () => {
    windows.postMessage("");
    location.reload();
  },
  isPerson: (name) => {
    const n = columns.findIndex((column) => column.name === name);
    const answered = n < 0 ? save({}, { persons: "records" }) : save({ [n]: changed(n, { role: "person" }) });
    answered.then((done) => {
      if (done && n < 0) document.querySelector("#whose").remove();
    });
  },
});

// ---- undo and redo: earlier states of all columns are kept by the app

/** Show whether a change can be undone or done again. */
async function showHistory() {
  const found = await call("GET", `/api/tables/${table}/schema/history`).catch(() => ({ past: 0, future: 0 }));
  document.querySelector("#undo").disabled = !found.past;
  document.querySelector("#redo").disabled = !found.future;
}
for (const step of ["undo", "redo"]) {
  const button = document.querySelector(`#${step}`);
  button.addEventListener("click", () =>
    busy(button, async () => {
      await queue;
      await call("POST", `/api/tables/${table}/schema/${step}`);
      windows.postMessage("changed");
      location.reload();
    }),
  );
}
new MutationObserver(showHistory).observe(document.querySelector("#state"), { childList: true, characterData: true });
showHistory();
