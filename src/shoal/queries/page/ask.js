// Ask a vault: what a question costs and how wrong the answer may be is shown before it is asked.
const $ = (selector) => document.querySelector(selector);
const form = $("#ask");
let token = "";
let columns = [];

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

async function call(method, path, body) {
  let answer;
  try {
    answer = await fetch(path, { method, headers: { authorization: `Bearer ${token}`, "content-type": "application/json" }, body: body && JSON.stringify(body) });
  } catch {
    throw ["the vault is not responding"];
  }
  const content = await answer.json().catch(() => null);
  if (!answer.ok) throw [...(content?.problems ?? [`the vault answered ${answer.status}`]), ...(content?.hint ? [content.hint] : [])];
  return content;
}

function show(problems) {
  $("#problems").replaceChildren(make("ul", {}, ...problems.map((text) => make("li", {}, text))));
  $("#problems").hidden = !problems.length;
}

const amount = ({ epsilon, delta }) => `epsilon ${epsilon}${delta === "0" ? "" : `, delta ${delta}`}`;
const figure = (value) => (typeof value === "number" ? value.toLocaleString("en", { maximumSignificantDigits: 8 }) : value);

async function standing() {
  const found = await call("GET", "/v1/budget");
  $("#budget").textContent = `Left: ${amount(found.left)}. Spent: ${amount(found.spent)} of ${amount(found.budget)}.`;
}

const described = (column) => (column.values ? column.values.join(", ") : "minimum" in column ? `${column.minimum} to ${column.maximum}` : "–");

$("#enter").addEventListener("submit", async (event) => {
  event.preventDefault();
  token = event.target.elements.token.value.trim();
  show([]);
  try {
    const found = await call("GET", "/v1/schema");
    columns = found.columns;
    form.elements.column.replaceChildren(...columns.map((column) => make("option", {}, column.name)));
    $("#columns tbody").replaceChildren(...columns.map((column) => make("tr", {}, make("th", { scope: "row" }, column.name), make("td", {}, column.kind), make("td", {}, described(column)))));
    await standing();
    $("#enter").hidden = true;
    $("#desk").hidden = false;
    arrange();
    estimate();
  } catch (problems) {
    show(problems);
  }
});

/** What is asked about a column needs its declared values or bounds: noise follows from them. */
const declared = (column) => Boolean(column.values) || "minimum" in column;
const ordered = { mean: ["numeric", "date"], quantile: ["numeric", "date"], sum: ["numeric"] };
function arrange() {
  const query = form.elements.query.value;
  for (const part of form.querySelectorAll("[data-for]")) part.hidden = !part.dataset.for.split(" ").includes(query);
  for (const [i, option] of [...form.elements.column.options].entries()) option.disabled = !declared(columns[i]) || Boolean(ordered[query] && !ordered[query].includes(columns[i].kind));
  if (form.elements.column.selectedOptions[0]?.disabled) form.elements.column.value = [...form.elements.column.options].find((option) => !option.disabled)?.value ?? "";
  const kind = columns.find((column) => column.name === form.elements.column.value)?.kind;
  if (query === "histogram") $("#edges").hidden = !["numeric", "date"].includes(kind);
}

function question() {
  const query = form.elements.query.value;
  const asked = { query, epsilon: form.elements.epsilon.value.trim() };
  if (form.elements.where.value.trim()) asked.where = form.elements.where.value.trim();
  if (query !== "count") asked.column = form.elements.column.value;
  if (query === "quantile") asked.share = form.elements.share.value.trim();
  if (query === "histogram" && !$("#edges").hidden) asked.edges = form.elements.edges.value.split(",").map((edge) => edge.trim()).filter(Boolean);
  return asked;
}

let latest = 0;
async function estimate() {
  const mine = ++latest;
  const button = form.querySelector("[type=submit]");
  button.disabled = true;
  try {
    const found = await call("POST", "/v1/estimate", question());
    if (mine !== latest) return;
    const enough = Number(found.cost.epsilon) <= Number(found.left.epsilon) && Number(found.cost.delta) <= Number(found.left.delta);
    $("#estimate").textContent = `${found.query}. Costs ${amount(found.cost)}; ${amount(found.left)} is left. The answer: ${found.accuracy ?? "how wrong it may be is known only once it is given"}.${enough ? "" : " Your budget may not be enough."}`;
    $("#estimate").className = enough ? "" : "bad";
    button.disabled = false;
  } catch (problems) {
    if (mine !== latest) return;
    $("#estimate").textContent = problems.join(" ");
    $("#estimate").className = "bad";
  }
}
let timer;
form.addEventListener("input", () => {
  show([]);
  arrange();
  form.querySelector("[type=submit]").disabled = true;
  clearTimeout(timer);
  timer = setTimeout(estimate, 350);
});

/** A count as a part of the largest; noise may make it less than nothing. */
const share = (count, most) => make("meter", { min: 0, max: Math.max(most, 1), value: Math.max(count, 0), "aria-hidden": "true" });

/** A number with its error bar, on a scale that fits it. */
function bar({ low, high }, value) {
  if (typeof low !== "number" || typeof high !== "number") return "";
  const SVG = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(SVG, "svg");
  const [from, to] = [Math.min(low, 0), Math.max(high, 0)];
  const x = (number) => (to === from ? 150 : 6 + (288 * (number - from)) / (to - from));
  for (const [name, part] of Object.entries({ viewBox: "0 0 300 40", class: "bar", role: "img", "aria-label": `between ${figure(low)} and ${figure(high)}` })) svg.setAttribute(name, part);
  for (const [tag, parts] of [["line", { x1: 6, x2: 294, y1: 20, y2: 20, class: "axis" }], ["line", { x1: x(low), x2: x(high), y1: 10, y2: 10 }], ["circle", { cx: x(value), cy: 10, r: 5 }]]) {
    const shape = document.createElementNS(SVG, tag);
    for (const [name, part] of Object.entries(parts)) shape.setAttribute(name, part);
    svg.append(shape);
  }
  for (const [number, anchor] of [[from, "start"], [to, "end"]]) {
    const words = document.createElementNS(SVG, "text");
    for (const [name, part] of Object.entries({ x: x(number), y: 36, "text-anchor": anchor })) words.setAttribute(name, part);
    words.textContent = figure(number);
    svg.append(words);
  }
  return svg;
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = form.querySelector("[type=submit]");
  button.disabled = true;
  show([]);
  try {
    const found = await call("POST", "/v1/ask", question());
    const value = typeof found.value === "object"
      ? make("table", {}, make("tbody", {}, ...Object.entries(found.value).map(([label, count]) => make("tr", {}, make("th", { scope: "row" }, label), make("td", {}, figure(count)), make("td", {}, share(count, Math.max(...Object.values(found.value))))))))
      : make("p", { class: "value" }, String(figure(found.value)));
    $("#none").hidden = true;
    $("#answers").prepend(make("article", { class: "card" }, make("h3", {}, found.query), value, bar(found.accuracy, found.value), make("p", { class: "quiet" }, `${found.accuracy.statement}. Cost ${amount(found.cost)}.`)));
    await standing();
  } catch (problems) {
    show(problems);
  }
  estimate();
});
