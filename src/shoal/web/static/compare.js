// Compare methods: start one run that does all combinations.
import { busy, call, numbers } from "./app.js";

const form = document.querySelector("#compare");
form.addEventListener("submit", (event) => {
  event.preventDefault();
  busy(form.querySelector("[type=submit]"), async () => {
    const limit = Number(form.elements.suppression_limit.value);
    const methods = [...form.querySelectorAll("[name=methods]:checked")].map((box) => ({
      name: box.value,
      parameters: box.dataset.limited ? { suppression_limit: limit } : {},
    }));
    const attribute = form.elements.attribute?.value;
    const promises = attribute ? [{ model: "t-closeness", parameters: { attribute, t: Number(form.elements.t.value) } }] : [];
    const run = await call("POST", `/api/tables/${form.dataset.table}/comparisons`, {
      k: numbers(form.elements.k.value), epsilon: numbers(form.elements.epsilon.value), delta: Number(form.elements.delta.value), methods, promises,
    });
    location.assign(`/runs/${run.id}`);
  });
});
