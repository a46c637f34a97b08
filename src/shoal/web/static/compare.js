// Compare methods: start one run that makes and measures all combinations.
import { busy, call, numbers } from "./app.js";

const form = document.querySelector("#compare");

/** A number, or null where nothing was given. */
const optional = (name) => (form.elements[name].value.trim() === "" ? null : Number(form.elements[name].value));

/** Lists of numbers by sensitive column. */
const bySecret = (name) =>
  Object.fromEntries(
    [...form.querySelectorAll("[data-secret]")]
      .map((row) => [row.dataset.secret, numbers(row.querySelector(`[name=${name}]`).value)])
      .filter(([, values]) => values.length),
  );

form.addEventListener("submit", (event) => {
  event.preventDefault();
  busy(form.querySelector("[type=submit]"), async () => {
    const run = await call("POST", `/api/tables/${form.dataset.table}/comparisons`, {
      k: numbers(form.elements.k.value),
      l: bySecret("l"),
      t: bySecret("t"),
      epsilon: numbers(form.elements.epsilon.value),
      delta: Number(form.elements.delta.value),
      methods: [...form.querySelectorAll("[name=methods]:checked")].map((box) => box.value),
      suppression_limit: optional("suppression_limit"),
      risk: form.elements.risk.value,
      utility: form.elements.utility.value,
      highest_risk: optional("highest_risk"),
      reason: form.elements.reason?.value ?? "",
    });
    location.assign(`/runs/${run.id}`);
  });
});
