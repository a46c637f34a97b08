// The records: only those in view are there, fetched as one scrolls; sorted and filtered where the data lives.
import { call, make, show } from "./app.js";

const form = document.querySelector("#filter");
const grid = document.querySelector("#grid");
const table = document.querySelector("#records");
const body = table.tBodies[0];
const heads = [...table.tHead.rows[0].cells];
const PAGE = 100;
/** Browsers draw no element that is much taller; beyond, a step of the scroll bar is several records. */
const TALLEST = 8_000_000;
const HIGH = 34;
const ROUND = 20;
let pages = new Map();
let [total, sort, descending, asked, timer] = [null, null, false, 0, null];

function address(page) {
  const query = new URLSearchParams();
  const asked = { start: page * PAGE, limit: PAGE, descending };
  for (const [name, value] of Object.entries(asked)) query.set(name, String(value));
  if (sort !== null) query.set("sort", sort);
  const contains = form.elements.contains.value;
  if (contains) {
    query.set("column", form.elements.column.value);
    query.set("contains", contains);
  }
  return `/api/tables/${form.dataset.table}/records?${query}`;
}

async function load(page) {
  const mine = asked;
  pages.set(page, null);
  try {
    const found = await call("GET", address(page));
    if (mine !== asked) return;
    total = found.total;
    pages.set(page, found.rows);
    if (pages.size > 40) pages.delete(pages.keys().next().value);
    draw();
  } catch (error) {
    if (mine === asked) {
      pages.delete(page);
      body.setAttribute("aria-busy", "false");
      show(error);
    }
  }
}

/** Which records are in view, how many fit, and how tall all of them are. */
function view() {
  const room = Math.max(HIGH, grid.clientHeight - table.tHead.offsetHeight);
  const fit = Math.ceil(room / HIGH);
  const tall = Math.min(total * HIGH, TALLEST);
  const whole = total * HIGH <= TALLEST;
  const first = whole
    ? Math.floor(grid.scrollTop / HIGH)
    : Math.round(Math.min(1, grid.scrollTop / (tall - room)) * (total - fit + 1));
  return { first: Math.max(0, Math.min(first, total - 1)), fit, tall, whole };
}

function gap(height) {
  const cell = make("td", { colspan: heads.length, class: "gap" });
  cell.style.height = `${height}px`;
  return make("tr", { "aria-hidden": "true" }, cell);
}

function row(number) {
  const cells = pages.get(Math.floor(number / PAGE))?.[number % PAGE];
  const parts = cells
    ? cells.map((cell) => make("td", cell === null ? { class: "missing" } : {}, cell ?? "missing"))
    : [make("td", { colspan: heads.length, class: "missing" }, "…")];
  return make("tr", { "aria-rowindex": number + 2 }, ...parts);
}

function draw() {
  if (total === null) return;
  const { first, fit, tall, whole } = view();
  const from = whole ? Math.max(0, first - ROUND) : first;
  const to = Math.min(total, first + fit + (whole ? ROUND : 0));
  const above = Math.max(0, Math.min(whole ? from * HIGH : grid.scrollTop, tall - (to - from) * HIGH));
  const rows = Array.from({ length: to - from }, (_, i) => row(from + i));
  body.replaceChildren(...(above ? [gap(above)] : []), ...rows, gap(Math.max(0, tall - above - rows.length * HIGH)));
  table.setAttribute("aria-rowcount", total + 1);
  // columns grow with what was seen in them, and never shrink under the pointer
  const widths = heads.map((head) => head.offsetWidth);
  heads.forEach((head, i) => {
    head.style.minWidth = `${widths[i]}px`;
  });
  const figures = [first + 1, Math.min(total, first + fit), total].map((each) => each.toLocaleString("en"));
  document.querySelector("#count").textContent = total
    ? `${figures[0]} to ${figures[1]} of ${figures[2]} records`
    : "0 records";
  document.querySelector("#none").hidden = total > 0;
  const missing = [...new Set([from, to - 1].map((each) => Math.floor(Math.max(0, each) / PAGE)))].filter(
    (page) => !pages.has(page),
  );
  body.setAttribute(
    "aria-busy",
    rows.some((each) => each.cells.length < heads.length),
  );
  clearTimeout(timer);
  if (total && missing.length) timer = setTimeout(() => missing.forEach(load), 60);
}

function begin() {
  asked += 1;
  pages = new Map();
  grid.scrollTop = 0;
  body.setAttribute("aria-busy", "true");
  load(0);
}

let drawing = false;
grid.addEventListener("scroll", () => {
  if (drawing) return;
  drawing = true;
  requestAnimationFrame(() => {
    drawing = false;
    draw();
  });
});
new ResizeObserver(draw).observe(grid);
form.elements.start.addEventListener("change", (event) => {
  const number = Math.max(0, Math.min(Number(event.target.value) - 1, total - 1));
  const { tall, whole, fit } = view();
  grid.scrollTop = whole
    ? number * HIGH
    : (number / Math.max(1, total - fit + 1)) * (tall - (grid.clientHeight - table.tHead.offsetHeight));
});
let typing;
for (const name of ["contains", "column"])
  form.elements[name].addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(begin, 250);
  });
form.addEventListener("submit", (event) => event.preventDefault());
table.tHead.addEventListener("click", (event) => {
  const button = event.target.closest("[data-sort]");
  if (!button) return;
  const number = Number(button.dataset.sort);
  [sort, descending] = sort === number ? (descending ? [null, false] : [number, true]) : [number, false];
  for (const head of heads) {
    const mine = Number(head.firstElementChild.dataset.sort) === sort;
    head.setAttribute("aria-sort", mine ? (descending ? "descending" : "ascending") : "none");
  }
  begin();
});
begin();
