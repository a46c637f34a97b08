// Roles, kinds and levels of the columns: gather them, preview levels, save.
import { busy, call, clear, make, numbers, show } from "./app.js";

const form = document.querySelector("#columns");
const table = form.dataset.table;
const field = (column, name) => column.querySelector(`[name="${name}"]`);
const text = (column, name) => field(column, name).value.trim();
const lines = (value) => value.split("\n").map((line) => line.trim());

/** A line such as "north = Oslo | Bergen" as a pair. */
const pair = (line) => {
  const at = line.indexOf("=");
  return at < 0 ? [line, ""] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
};

const rules = {
  flat: () => undefined,
  intervals: (c) => ({ intervals: numbers(text(c, "intervals")), ...(text(c, "origin") && { origin: Number(text(c, "origin")) }) }),
  cuts: (c) => ({ cuts: lines(text(c, "cuts")).filter(Boolean).map(numbers) }),
  quantiles: (c) => ({ quantiles: numbers(text(c, "quantiles")) }),
  mask: (c) => ({ mask: numbers(text(c, "mask")), length: numbers(text(c, "length"))[0], side: text(c, "side") }),
  dates: (c) => ({ dates: [...c.querySelectorAll("[name=dates]:checked")].map((box) => box.value) }),
  regions: () => ({ regions: ["sub-region", "region"] }),
  groups: (c) => ({
    groups: text(c, "groups").split(/\n\s*\n/).map((level) =>
      Object.fromEntries(lines(level).filter(Boolean).map(pair).map(([name, of]) => [name, of.split("|").map((v) => v.trim()).filter(Boolean)]))),
  }),
  taxonomy: (c) => ({ taxonomy: Object.fromEntries(lines(text(c, "taxonomy")).filter(Boolean).map(pair)) }),
  file: (c) => ({ file: text(c, "file"), ...(text(c, "delimiter") && { delimiter: text(c, "delimiter") }) }),
};

/** The roles of columns that name someone: removed, or replaced by pseudonyms. */
const naming = ["identifier", "person", "household"];

/** A number where it is one, a day or a mistake as it is. */
const bound = (value) => (value === "" ? undefined : Number.isNaN(Number(value)) ? value : Number(value));

function gather(column) {
  const kind = text(column, "kind");
  const ordered = kind === "numeric" || kind === "date";
  const values = lines(field(column, "values").value).filter(Boolean);
  return {
    role: text(column, "role"),
    kind,
    missing: text(column, "missing"),
    weight: Number(text(column, "weight") || 1),
    pseudonym: field(column, "pseudonym").checked && naming.includes(text(column, "role")),
    minimum: ordered ? bound(text(column, "minimum")) : undefined,
    maximum: ordered ? bound(text(column, "maximum")) : undefined,
    values: !ordered && values.length ? values : undefined,
    hierarchy: rules[text(column, "rule")](column),
  };
}

function arrange(column) {
  const choice = field(column, "rule");
  for (const option of choice.options) option.hidden = option.disabled = !option.dataset.kinds.split(" ").includes(text(column, "kind"));
  if (choice.selectedOptions[0].disabled) choice.value = "flat";
  const [rule, kind, role] = ["rule", "kind", "role"].map((name) => text(column, name));
  for (const part of column.querySelectorAll("[data-rule]")) part.hidden = part.dataset.rule !== rule;
  for (const part of column.querySelectorAll("[data-kind]")) part.hidden = !part.dataset.kind.split(" ").includes(kind);
  column.dataset.role = role;
  field(column, "pseudonym").closest("label").hidden = !naming.includes(role);
  column.querySelector(".levels").hidden = role === "insensitive";
}

async function preview(column) {
  const place = column.querySelector(".preview");
  try {
    const found = await call("POST", `/api/tables/${table}/columns/${column.dataset.number}/preview`, gather(column));
    const head = found.levels.map((size, level) =>
      make("th", { scope: "col" }, level ? `Level ${level}` : "Value", make("br"), make("span", { class: "quiet" }, size === 1 ? "1 value" : `${size.toLocaleString("en")} values`)));
    let last = [];
    const body = found.rows.map((row) => {
      const cells = row.map((cell, level) => make("td", cell === last[level] && level ? { class: "same" } : {}, cell ?? "(missing)"));
      last = row;
      return make("tr", {}, ...cells);
    });
    place.replaceChildren(make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Levels" },
      make("table", { class: "figures" }, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...body))));
    if (found.outside) place.append(make("p", { class: "problems" }, found.outside));
    if (found.rows.length < found.values) place.append(make("p", { class: "quiet" }, `${found.rows.length} of ${found.values.toLocaleString("en")} values are shown.`));
  } catch (error) {
    const box = make("div", { class: "problems" });
    show(error, box);
    place.replaceChildren(box);
  }
}

async function upload(column, file) {
  const start = await file.slice(0, 4096).text();
  const first = start.split("\n")[0];
  const delimiter = [";", ",", "\t", "|"].sort((a, b) => first.split(b).length - first.split(a).length)[0];
  const rule = await call("PUT", `/api/tables/${table}/columns/${column.dataset.number}/hierarchy?delimiter=${encodeURIComponent(delimiter)}`, file);
  field(column, "file").value = rule.file;
  field(column, "delimiter").value = rule.delimiter ?? "";
  column.querySelector(".summary").textContent = file.name;
  await preview(column);
}

for (const column of form.querySelectorAll(".column")) {
  arrange(column);
  let timer;
  column.addEventListener("change", (event) => {
    arrange(column);
    if (event.target.name === "upload" && event.target.files.length) {
      clear();
      upload(column, event.target.files[0]).catch((error) => show(error));
      return;
    }
    clearTimeout(timer);
    if (column.querySelector(".preview").childElementCount) timer = setTimeout(() => preview(column), 200);
  });
  column.querySelector(".preview-levels").addEventListener("click", () => preview(column));
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  busy(form.querySelector("[type=submit]"), async () => {
    const columns = [...form.querySelectorAll(".column")].map(gather);
    await call("PUT", `/api/tables/${table}/schema`, { columns });
    location.assign(`/tables/${table}/risk`);
  });
});
