// The records: one page at a time, sorted and filtered where the data lives.
import { call, make, show } from "./app.js";

const form = document.querySelector("#filter");
const body = document.querySelector("#records tbody");
const PAGE = 100;
let [start, total, sort, descending, asked] = [0, 0, null, false, 0];

async function load() {
  const mine = ++asked;
  const query = new URLSearchParams({ start, limit: PAGE, descending });
  if (sort !== null) query.set("sort", sort);
  const contains = form.elements.contains.value;
  if (contains) { query.set("column", form.elements.column.value); query.set("contains", contains); }
  body.setAttribute("aria-busy", "true");
  try {
    const found = await call("GET", `/api/tables/${form.dataset.table}/records?${query}`);
    if (mine !== asked) return;
    total = found.total;
    body.replaceChildren(...found.rows.map((row) => make("tr", {}, ...row.map((cell) => make("td", cell === null ? { class: "missing" } : {}, cell ?? "missing")))));
  } catch (error) {
    show(error);
  }
  body.removeAttribute("aria-busy");
  const last = Math.min(start + PAGE, total);
  document.querySelector("#count").textContent = total ? `${(start + 1).toLocaleString("en")} to ${last.toLocaleString("en")} of ${total.toLocaleString("en")} records` : "0 records";
  document.querySelector("#none").hidden = total > 0;
  document.querySelector("#previous").disabled = start === 0;
  document.querySelector("#next").disabled = last >= total;
  form.elements.start.value = start + 1;
}
const go = (to) => { start = Math.max(0, Math.min(to, Math.max(total - 1, 0))); load(); };
document.querySelector("#previous").addEventListener("click", () => go(start - PAGE));
document.querySelector("#next").addEventListener("click", () => go(start + PAGE));
form.elements.start.addEventListener("change", (event) => go(Number(event.target.value) - 1));
let timer;
for (const name of ["contains", "column"]) form.elements[name].addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(() => { start = 0; load(); }, 250);
});
form.addEventListener("submit", (event) => event.preventDefault());
document.querySelector("#records thead").addEventListener("click", (event) => {
  const button = event.target.closest("[data-sort]");
  if (!button) return;
  const number = Number(button.dataset.sort);
  [sort, descending] = sort === number ? (descending ? [null, false] : [number, true]) : [number, false];
  for (const head of document.querySelectorAll("#records th")) {
    const mine = Number(head.firstElementChild.dataset.sort) === sort;
    head.setAttribute("aria-sort", mine ? (descending ? "descending" : "ascending") : "none");
  }
  start = 0;
  load();
});
load();
