// Ask a vault: what a question costs and how wrong the answer may be is shown before it is asked.

/** @typedef {{epsilon: string, delta: string}} Amount */
/** @typedef {{name: string, kind: string, values?: string[], minimum?: unknown, maximum?: unknown}} Column */
/** @typedef {{low: unknown, high: unknown, statement: string}} Accuracy */
/** @typedef {{query: string, value: any, accuracy: Accuracy, cost: Amount, time?: string}} Answer */

/** The element that a selector names.
 * @template {Element} T
 * @param {string} selector
 * @param {new () => T} type
 * @returns {T}
 */
function the(selector, type) {
  const found = document.querySelector(selector);
  if (!(found instanceof type)) throw new Error(`the page has no ${selector}`);
  return found;
}
const form = the("#ask", HTMLFormElement);
const submit = the("#ask [type=submit]", HTMLButtonElement);
let token = "";
/** @type {Column[]} */
let columns = [];
/** @type {Answer[]} */
const answers = [];

/** The field of the form with a name; the same for a row of the filter.
 * @param {string} name
 * @returns {HTMLInputElement & HTMLSelectElement}
 */
const field = (name) => /** @type {any} */ (form.elements.namedItem(name));

/** Make an element; texts are never read as HTML.
 * @param {string} tag
 * @param {Record<string, string | number>} attributes
 * @param {(Node | string)[]} children
 * @returns {HTMLElement}
 */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

/** Call the vault and return its answer; problems are thrown as a list of sentences.
 * @param {string} method
 * @param {string} path
 * @param {unknown} [body]
 */
async function call(method, path, body) {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  let answer;
  try {
    answer = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  } catch {
    throw ["the vault is not responding"];
  }
  const content = await answer.json().catch(() => null);
  if (answer.ok) return content;
  const problems = content?.problems ?? [`the vault answered ${answer.status}`];
  throw content?.hint ? [...problems, content.hint] : problems;
}

/** @param {string[]} problems */
function show(problems) {
  const place = the("#problems", HTMLElement);
  place.replaceChildren(make("ul", {}, ...problems.map((text) => make("li", {}, text))));
  place.hidden = !problems.length;
}

const amount = (/** @type {Amount} */ { epsilon, delta }) =>
  `epsilon ${epsilon}${delta === "0" ? "" : `, delta ${delta}`}`;
const figure = (/** @type {unknown} */ value) =>
  typeof value === "number" ? value.toLocaleString("en", { maximumSignificantDigits: 8 }) : String(value);

async function standing() {
  const found = await call("GET", "/v1/budget");
  the("#budget", HTMLElement).textContent =
    `Left: ${amount(found.left)}. Spent: ${amount(found.spent)} of ${amount(found.budget)}.`;
}

const described = (/** @type {Column} */ column) =>
  column.values ? column.values.join(", ") : "minimum" in column ? `${column.minimum} to ${column.maximum}` : "–";

the("#enter", HTMLFormElement).addEventListener("submit", async (event) => {
  event.preventDefault();
  token = the("#enter [name=token]", HTMLInputElement).value.trim();
  show([]);
  try {
    const found = await call("GET", "/v1/schema");
    columns = found.columns;
    field("column").replaceChildren(...columns.map((column) => make("option", {}, column.name)));
    the("#columns tbody", HTMLElement).replaceChildren(
      ...columns.map((column) =>
        make(
          "tr",
          {},
          make("th", { scope: "row" }, column.name),
          make("td", {}, column.kind),
          make("td", {}, described(column)),
        ),
      ),
    );
    await standing();
    the("#enter", HTMLElement).hidden = true;
    the("#desk", HTMLElement).hidden = false;
    arrange();
    estimate();
  } catch (problems) {
    show(/** @type {string[]} */ (problems));
  }
});

/** What is asked about a column needs its declared values or bounds: noise follows from them. */
const declared = (/** @type {Column} */ column) => Boolean(column.values) || "minimum" in column;
/** @type {Record<string, string[]>} */
const ordered = { mean: ["numeric", "date"], quantile: ["numeric", "date"], sum: ["numeric"] };

/** Show the fields that a question has, and the columns that it can be about. */
function arrange() {
  const query = field("query").value;
  for (const part of form.querySelectorAll("[data-for]")) {
    const element = /** @type {HTMLElement} */ (part);
    element.hidden = !(element.dataset.for ?? "").split(" ").includes(query);
  }
  const options = [...field("column").options];
  for (const [i, option] of options.entries()) {
    option.disabled = !declared(columns[i]) || Boolean(ordered[query] && !ordered[query].includes(columns[i].kind));
  }
  if (field("column").selectedOptions[0]?.disabled) {
    field("column").value = options.find((option) => !option.disabled)?.value ?? "";
  }
  const kind = columns.find((column) => column.name === field("column").value)?.kind ?? "";
  if (query === "histogram") the("#edges", HTMLElement).hidden = !["numeric", "date"].includes(kind);
}

// ---- which records: one row for each condition, all of which must hold

const conditions = the("#conditions", HTMLElement);

/** A comparison of a column, as the vault reads it. */
const named = (/** @type {string} */ name) => `\`${name}\``;
const quoted = (/** @type {string} */ value) => `"${value.replaceAll('"', '""')}"`;
const literal = (/** @type {Column} */ column, /** @type {string} */ text) =>
  column.kind === "numeric" && /^-?\d+(\.\d+)?$/.test(text) ? text : quoted(text);

/** The fields of a condition on a column: values to tick, or bounds.
 * @param {Column} column
 */
function bounds(column) {
  if (column.values) {
    return [
      make(
        "fieldset",
        { class: "values" },
        make("legend", {}, "is one of"),
        ...column.values.map((value) => make("label", {}, make("input", { type: "checkbox", value }), value)),
      ),
    ];
  }
  const type = { numeric: "number", date: "date" }[column.kind] ?? "text";
  if (type === "text") return [make("label", {}, "is", make("input", { name: "equal", type }))];
  return [
    make("label", {}, "at least", make("input", { name: "least", type, step: "any" })),
    make("label", {}, "at most", make("input", { name: "most", type, step: "any" })),
  ];
}

function addCondition() {
  const choice = make(
    "select",
    { "aria-label": "Column of the condition" },
    ...columns.map((column, i) => make("option", { value: i }, column.name)),
  );
  const place = make("div", { class: "bounds" });
  const remove = make("button", { type: "button" }, "Remove");
  const row = make("div", { class: "condition" }, choice, place, remove);
  const fill = () => place.replaceChildren(...bounds(columns[Number(/** @type {any} */ (choice).value)]));
  choice.addEventListener("change", fill);
  remove.addEventListener("click", () => {
    row.remove();
    changed();
  });
  fill();
  conditions.append(row);
  changed();
}
the("#add-condition", HTMLButtonElement).addEventListener("click", addCondition);

/** The text of a condition; empty where nothing was chosen.
 * @param {Element} row
 */
function conditionText(row) {
  const column = columns[Number(/** @type {any} */ (row.querySelector("select")).value)];
  const ticked = [...row.querySelectorAll("input:checked")].map((box) => /** @type {any} */ (box).value);
  if (ticked.length) return `${named(column.name)} in (${ticked.map((value) => literal(column, value)).join(", ")})`;
  const parts = [
    ["equal", "="],
    ["least", ">="],
    ["most", "<="],
  ].map(([name, sign]) => {
    const value = /** @type {HTMLInputElement | null} */ (row.querySelector(`[name=${name}]`))?.value.trim();
    return value ? `${named(column.name)} ${sign} ${literal(column, value)}` : "";
  });
  return parts.filter(Boolean).join(" and ");
}

function filterText() {
  const typed = field("where").value.trim();
  const chosen = [...conditions.children].map(conditionText).filter(Boolean);
  return [...chosen, ...(typed ? [chosen.length ? `(${typed})` : typed] : [])].join(" and ");
}

function question() {
  const query = field("query").value;
  /** @type {Record<string, unknown>} */
  const asked = { query, epsilon: field("epsilon").value.trim() };
  const where = filterText();
  if (where) asked.where = where;
  if (query !== "count") asked.column = field("column").value;
  if (query === "quantile") asked.share = field("share").value.trim();
  if (query === "histogram" && !the("#edges", HTMLElement).hidden) {
    asked.edges = field("edges")
      .value.split(",")
      .map((edge) => edge.trim())
      .filter(Boolean);
  }
  return asked;
}

let latest = 0;
/** Say what the question would cost and how wrong its answer may be; nothing is paid. */
async function estimate() {
  const mine = ++latest;
  const place = the("#estimate", HTMLElement);
  submit.disabled = true;
  try {
    const found = await call("POST", "/v1/estimate", question());
    if (mine !== latest) return;
    const { cost, left } = found;
    const enough = Number(cost.epsilon) <= Number(left.epsilon) && Number(cost.delta) <= Number(left.delta);
    const accuracy = found.accuracy ?? "how wrong it may be is known only once it is given";
    place.textContent =
      `${found.query}. Costs ${amount(cost)}; ${amount(left)} is left. The answer: ${accuracy}.` +
      (enough ? "" : " Your budget may not be enough.");
    place.className = enough ? "" : "bad";
    submit.disabled = false;
  } catch (problems) {
    if (mine !== latest) return;
    place.textContent = /** @type {string[]} */ (problems).join(" ");
    place.className = "bad";
  }
}
/** @type {number | undefined} */
let timer;
function changed() {
  show([]);
  arrange();
  submit.disabled = true;
  clearTimeout(timer);
  timer = window.setTimeout(estimate, 350);
}
form.addEventListener("input", changed);

// ---- answers

/** A count as a part of the largest; noise may make it less than nothing. */
const share = (/** @type {number} */ count, /** @type {number} */ most) =>
  make("meter", { min: 0, max: Math.max(most, 1), value: Math.max(count, 0), "aria-hidden": "true" });

/** A part of a picture.
 * @param {string} tag
 * @param {Record<string, string | number>} attributes
 * @param {(Node | string)[]} children
 */
function draw(tag, attributes, ...children) {
  const shape = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, part] of Object.entries(attributes)) shape.setAttribute(name, String(part));
  shape.append(...children);
  return shape;
}

/** Round numbers between two others, about four.
 * @param {number} from
 * @param {number} to
 */
export function ticks(from, to) {
  const rough = (to - from) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5, 10].find((times) => times * power >= rough) ?? 10) * power;
  const first = Math.ceil(from / step);
  const number = Math.floor(to / step) - first + 1;
  return Array.from({ length: number }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

/** A number with its interval, on an axis of round numbers that the interval fills.
 * @param {Accuracy} accuracy
 * @param {unknown} value
 */
function bar({ low, high }, value) {
  if (typeof low !== "number" || typeof high !== "number" || typeof value !== "number") return "";
  const room = (high - low || Math.abs(high) || 1) * 0.3;
  const [from, to] = [low - room, high + room];
  const x = (/** @type {number} */ number) => 10 + (380 * (number - from)) / (to - from);
  const label = `between ${figure(low)} and ${figure(high)}`;
  return draw(
    "svg",
    { viewBox: "0 0 400 46", class: "bar", role: "img", "aria-label": label },
    draw("title", {}, label),
    draw("line", { x1: 10, x2: 390, y1: 24, y2: 24, class: "axis" }),
    draw("line", { x1: x(low), x2: x(high), y1: 12, y2: 12 }),
    ...[low, high].map((end) => draw("line", { x1: x(end), x2: x(end), y1: 7, y2: 17 })),
    draw("circle", { cx: x(value), cy: 12, r: 5 }),
    ...ticks(from, to).flatMap((tick) => [
      draw("line", { x1: x(tick), x2: x(tick), y1: 24, y2: 28, class: "axis" }),
      draw("text", { x: x(tick), y: 41, "text-anchor": "middle" }, figure(tick)),
    ]),
  );
}

/** @param {Answer} found */
function article(found) {
  const { value } = found;
  const counts = typeof value === "object" ? /** @type {[string, number][]} */ (Object.entries(value)) : [];
  const most = Math.max(...counts.map(([, count]) => count));
  const shown =
    typeof value === "object"
      ? make(
          "table",
          {},
          make(
            "tbody",
            {},
            ...counts.map(([label, count]) =>
              make(
                "tr",
                {},
                make("th", { scope: "row" }, label),
                make("td", {}, figure(count)),
                make("td", {}, share(count, most)),
              ),
            ),
          ),
        )
      : make("p", { class: "value" }, figure(value));
  return make(
    "article",
    { class: "card" },
    make("h3", {}, found.query),
    shown,
    bar(found.accuracy, value),
    make("p", { class: "quiet" }, `${found.accuracy.statement}. Cost ${amount(found.cost)}.`),
  );
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  submit.disabled = true;
  show([]);
  try {
    const found = { ...(await call("POST", "/v1/ask", question())), time: new Date().toISOString() };
    answers.push(found);
    the("#none", HTMLElement).hidden = true;
    the("#keep", HTMLElement).hidden = false;
    the("#answers", HTMLElement).prepend(article(found));
    await standing();
  } catch (problems) {
    show(/** @type {string[]} */ (problems));
  }
  estimate();
});

/** One cell of a CSV file; a text that spreadsheets would run as a formula is kept from it. */
const cell = (/** @type {unknown} */ value) => {
  const text = String(value ?? "");
  const plain = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return `"${plain.replaceAll('"', '""')}"`;
};
the("#save", HTMLButtonElement).addEventListener("click", () => {
  const rows = answers.flatMap(({ time, query, value, accuracy, cost }) =>
    (typeof value === "object" ? Object.entries(value) : [["", value]]).map(([label, number]) => [
      time,
      query,
      label,
      number,
      accuracy.low,
      accuracy.high,
      accuracy.statement,
      cost.epsilon,
      cost.delta,
    ]),
  );
  const title = ["time", "question", "value of", "answer", "low", "high", "accuracy", "epsilon", "delta"];
  const text = [title, ...rows].map((row) => row.map(cell).join(",")).join("\r\n");
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([`\ufeff${text}\r\n`], { type: "text/csv" }));
  link.download = "answers.csv";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
});
window.addEventListener("beforeunload", (event) => {
  // answers cost budget: they are not lost by a slip
  if (answers.length) event.preventDefault();
});
