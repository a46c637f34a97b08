// The table before and after: sorted and filtered by the app, one page at a time; a group and who is in it.
import { call, clear, element, make, show } from "./app.js";

/** @typedef {{record: number, class: number, size: number, before: (string | null)[],
 *   after: (string | null)[] | null}} Row */
/** @typedef {{columns: string[], recoded: number[], total: number, rows: Row[]}} Answer */

const PAGE = 50;
const form = element("#filter", HTMLFormElement);
const { run } = form.dataset;
const body = element("#linked tbody", HTMLElement);
const panel = element("#group", HTMLElement);
const count = (/** @type {number} */ value) => value.toLocaleString("en");
const percent = (/** @type {number} */ value) =>
  `${(value * 100).toLocaleString("en", { maximumSignificantDigits: 3 })}%`;

/** What is asked for: filled by the form, by headings, by groups and by the address, which charts link to. */
const asked = { start: 0, sort: "", descending: false, group: "", equal: /** @type {string[]} */ ([]) };
const given = new URLSearchParams(location.search);
// a field of the name `contains` would take the place of a function that every element has
const field = (/** @type {string} */ name) =>
  /** @type {HTMLInputElement & HTMLSelectElement} */ (form.elements.namedItem(name === "contains" ? "search" : name));
for (const name of ["column", "side", "contains", "largest", "kind"]) {
  if (given.has(name)) field(name).value = given.get(name) ?? "";
}
asked.equal = given.getAll("equal");
asked.group = given.get("group") ?? "";

function query() {
  const found = new URLSearchParams({ start: String(asked.start), limit: String(PAGE) });
  for (const name of ["column", "side", "contains", "largest", "kind"]) {
    if (field(name).value) found.set(name, field(name).value);
  }
  for (const value of asked.equal) found.append("equal", value);
  if (asked.group) found.set("group", asked.group);
  if (asked.sort) found.set("sort", asked.sort);
  if (asked.descending) found.set("descending", "true");
  return found;
}

/** How a group is coloured: by how few look alike. */
const kind = (/** @type {number} */ size) => `size s${[0, 1, 4, 19, Infinity].findIndex((most) => size <= most)}`;

/** @param {Row} row @param {number[]} recoded */
function line(row, recoded) {
  const open = make(
    "button",
    { type: "button", class: kind(row.size), "data-group": String(row.class) },
    row.size ? count(row.size) : "left out",
  );
  if (row.class < 0) open.setAttribute("disabled", "");
  const changed = (/** @type {number} */ i) => row.after !== null && row.after[i] !== row.before[i];
  const cell = (/** @type {string | null} */ value, /** @type {string} */ style) =>
    make("td", style ? { class: style } : {}, value ?? "");
  return make(
    "tr",
    row.class < 0 ? { class: "rest" } : {},
    make("th", { scope: "row", class: "n" }, count(row.record)),
    make("td", {}, open),
    ...row.before.map((value) => cell(value, "")),
    ...recoded.map((i, place) =>
      cell(
        row.after ? row.after[i] : "–",
        [place === 0 ? "first-after" : "", changed(i) ? "changed" : ""].join(" ").trim(),
      ),
    ),
  );
}

let latest = 0;
async function load() {
  const mine = ++latest;
  const state = element("#count", HTMLElement);
  state.textContent = "Looking …";
  try {
    /** @type {Answer} */
    const found = await call("GET", `/api/runs/${run}/linked?${query()}`);
    if (mine !== latest) return;
    clear();
    body.replaceChildren(...found.rows.map((row) => line(row, found.recoded)));
    const chosen = asked.equal.length
      ? ` with ${found.columns[Number(field("column").value)]} ${asked.equal.join(", ")}`
      : "";
    state.textContent =
      `${count(found.total)} ${found.total === 1 ? "record" : "records"}${chosen}` +
      (asked.group ? " of one group" : "");
    const last = Math.min(asked.start + PAGE, found.total);
    element("#place", HTMLElement).textContent = found.total ? `${count(asked.start + 1)} to ${count(last)}` : "";
    element("#earlier", HTMLButtonElement).disabled = asked.start === 0;
    element("#later", HTMLButtonElement).disabled = last >= found.total;
  } catch (error) {
    if (mine === latest) {
      state.textContent = "";
      show(error);
    }
  }
}

/** @type {number | undefined} */
let timer;
form.addEventListener("input", () => {
  clearTimeout(timer);
  asked.equal = [];
  asked.start = 0;
  timer = window.setTimeout(load, 200);
});
element("#everything", HTMLButtonElement).addEventListener("click", () => {
  form.reset();
  Object.assign(asked, { start: 0, group: "", equal: [] });
  panel.hidden = true;
  load();
});
for (const [id, step] of /** @type {[string, number][]} */ ([
  ["#earlier", -PAGE],
  ["#later", PAGE],
])) {
  element(id, HTMLButtonElement).addEventListener("click", () => {
    asked.start = Math.max(0, asked.start + step);
    load();
  });
}
const headings = /** @type {NodeListOf<HTMLButtonElement>} */ (document.querySelectorAll("[data-sort]"));
for (const heading of headings) {
  heading.addEventListener("click", () => {
    const sort = heading.dataset.sort ?? "";
    asked.descending = asked.sort === sort && !asked.descending;
    asked.sort = sort;
    asked.start = 0;
    for (const each of headings) each.closest("th")?.setAttribute("aria-sort", "none");
    heading.closest("th")?.setAttribute("aria-sort", asked.descending ? "descending" : "ascending");
    load();
  });
}

// ---- a group

/** @param {string} group */
async function openGroup(group) {
  try {
    const found = await call("GET", `/api/runs/${run}/linked/${group}`);
    const secrets = found.secrets.map((/** @type {any} */ each) =>
      make(
        "div",
        {},
        make("h4", {}, each.column),
        make(
          "p",
          {},
          `${count(each.different)} different ${each.different === 1 ? "value" : "values"}; the commonest is held by ` +
            `${percent(each.commonest[0].records / found.size)} of the group`,
        ),
        make(
          "ul",
          {},
          ...each.commonest.map((/** @type {any} */ one) =>
            make("li", {}, `${one.value ?? "missing"}: ${count(one.records)}`),
          ),
        ),
      ),
    );
    const released = Object.entries(found.released).map(([name, value]) =>
      make("li", {}, make("b", {}, name), `: ${value ?? "missing"}`),
    );
    const only = make("button", { type: "button" }, "Show only this group");
    only.addEventListener("click", () => {
      Object.assign(asked, { group, start: 0 });
      load();
    });
    panel.replaceChildren(
      make("h3", {}, `${count(found.size)} records look alike`),
      make("p", {}, `Whoever looks for one of them is right with ${percent(found.risk)}.`),
      make("ul", {}, ...released),
      ...secrets,
      make("div", { class: "row" }, only),
    );
    panel.hidden = false;
  } catch (error) {
    show(error);
  }
}
body.addEventListener("click", (event) => {
  const button = /** @type {HTMLElement} */ (event.target).closest("[data-group]");
  if (button && !button.hasAttribute("disabled")) openGroup(button.getAttribute("data-group") ?? "");
});
load();
