// What to promise: presets, numbers, other models; checked while it is chosen, with the same in Python and shell.
import { busy, call, clear, clock, make, show, ticked } from "./app.js";

const form = document.querySelector("#promise");
const table = form.dataset.table;
const secrets = [...form.querySelectorAll("[data-secret]")];
const extra = document.querySelector("#extra");

/** A field of the promise itself; methods and models may have parameters of the same name. */
const own = (name) => form.querySelector(`[name="${name}"]:not([data-parameter])`);

/** What the chosen method takes k and epsilon for. */
const keeps = () => form.querySelector(`[data-method="${own("method").value}"]`).dataset;

/** A parameter as the API takes it; an empty one is left out. */
function value(input) {
  if (input.type === "checkbox") return input.checked;
  if (input.multiple) return [...input.selectedOptions].map((option) => option.value);
  const text = input.value.trim();
  if (text === "") return undefined;
  return input.tagName === "SELECT" || Number.isNaN(Number(text)) ? text : Number(text);
}

const parameters = (place) =>
  Object.fromEntries([...place.querySelectorAll("[data-parameter]")].map((input) => [input.name, value(input)]).filter(([, v]) => v !== undefined));

/** Give the fields of a model or a method what an earlier run had there, and else what they begin with; no time limit was given where none is named. */
function fill(place, given) {
  for (const input of place.querySelectorAll("[data-parameter]")) {
    const known = input.name in given;
    if (input.type === "checkbox") input.checked = known ? Boolean(given[input.name]) : input.defaultChecked;
    else if (input.tagName === "SELECT") for (const option of input.options) option.selected = known ? [given[input.name] ?? ""].flat().map(String).includes(option.value) : option.defaultSelected;
    else input.value = known ? given[input.name] ?? "" : input.name === "time_limit" ? "" : input.defaultValue;
  }
}

/** The parts of the page that the promises of the last choice come from, in their order. */
let places = [];

function gather() {
  const promises = [];
  const from = (place, promise) => { promises.push(promise); places.push(place); };
  places = [];
  const k = value(own("k"));
  if (k !== undefined) from(own("k").closest(".card"), { model: keeps().crowd, parameters: { k } });
  for (const row of secrets) {
    const attribute = row.dataset.secret;
    const [l, t] = ["l", "t"].map((name) => value(row.querySelector(`[name=${name}]`)));
    if (l !== undefined) from(row, { model: "distinct-l-diversity", parameters: { attribute, l } });
    if (t !== undefined) from(row, { model: "t-closeness", parameters: { attribute, t } });
  }
  const epsilon = value(own("epsilon"));
  const delta = keeps().epsilon === "differential-privacy" ? { delta: value(own("delta")) ?? 0 } : {};
  if (epsilon !== undefined) from(own("epsilon").closest(".card"), { model: keeps().epsilon, parameters: { epsilon, ...delta } });
  for (const part of extra.children) from(part, { model: part.dataset.model, parameters: parameters(part) });
  const name = own("method").value;
  const method = { name, parameters: parameters(form.querySelector(`[data-method="${name}"]`)) };
  const weights = Object.fromEntries([...form.querySelectorAll("[data-weight]")].map((input) => [input.dataset.weight, Number(input.value)]));
  const account = epsilon !== undefined && own("account").value ? { account: own("account").value } : {};
  return { promises, method, weights, columns: form.dataset.columns, ...account };
}

function add(model, given = {}) {
  const part = form.querySelector(`template[data-model="${model}"]`).content.firstElementChild.cloneNode(true);
  part.dataset.model = model;
  fill(part, given);
  extra.append(part);
  document.querySelector("#others").open = true;
}

function arrange() {
  for (const part of form.querySelectorAll("[data-method]")) part.hidden = part.dataset.method !== own("method").value;
  for (const input of form.querySelectorAll("[data-weight]")) input.nextElementSibling.textContent = input.value;
}

function preset(input) {
  const { k, l, t, limit } = input.dataset;
  if (!k) return;
  own("k").value = k;
  secrets.forEach((row) => {
    row.querySelector("[name=l]").value = l;
    row.querySelector("[name=t]").value = t;
  });
  for (const each of form.querySelectorAll("[name=suppression_limit]")) each.value = limit;
}

/** Fill the form with what an earlier run was asked for. */
function restore(choice) {
  if (!choice) return;
  for (const name of ["k", "epsilon"]) own(name).value = "";
  extra.replaceChildren();
  for (const row of secrets) for (const name of ["l", "t"]) row.querySelector(`[name=${name}]`).value = "";
  form.querySelector("[name=preset][value=own]").checked = true;
  for (const { model, parameters: given } of choice.promises) {
    const row = secrets.find((each) => each.dataset.secret === given.attribute);
    if (["k-anonymity", "probabilistic-k-anonymity"].includes(model) && !own("k").value) own("k").value = given.k;
    else if (["differential-privacy", "epsilon-budget"].includes(model)) {
      own("epsilon").value = given.epsilon;
      own("delta").value = given.delta ?? own("delta").value;
    } else if (model === "distinct-l-diversity" && row) row.querySelector("[name=l]").value = given.l;
    else if (model === "t-closeness" && row && Object.keys(given).length === 2) row.querySelector("[name=t]").value = given.t;
    else add(model, given);
  }
  own("method").value = choice.method.name;
  const place = form.querySelector(`[data-method="${choice.method.name}"]`);
  if (place) fill(place, choice.method.parameters);
  for (const input of form.querySelectorAll("[data-weight]")) input.value = choice.weights?.[input.dataset.weight] ?? input.value;
}

/** Show what is wrong under the field that it is about. */
function mark(fields) {
  for (const input of form.querySelectorAll("[aria-invalid]")) input.removeAttribute("aria-invalid");
  for (const part of form.querySelectorAll(".field-problem")) part.remove();
  for (const [name, problems] of Object.entries(fields ?? {})) {
    const [kind, number] = name.split(".");
    const place = kind === "method" ? form.querySelector(`[data-method="${own("method").value}"]`) : places[Number(number)];
    for (const problem of problems) {
      const parameter = problem.match(/^`(\w+)`/)?.[1];
      const input = parameter && place?.querySelector(`[name="${parameter}"]`);
      const words = make("p", { class: "field-problem" }, ...ticked(input ? problem.replace(/^`\w+` /, "") : problem));
      if (input) {
        input.setAttribute("aria-invalid", "true");
        (input.closest("label") ?? input).after(words);
      } else place?.append(words);
    }
  }
}

let asked = 0;
async function check() {
  const mine = ++asked;
  const place = document.querySelector("#live");
  try {
    const found = await call("POST", `/api/tables/${table}/plan`, gather());
    if (mine !== asked) return;
    clear(place);
    mark();
    for (const name of ["shell", "python", "plan"]) document.querySelector(`#${name}`).textContent = found[name];
  } catch (error) {
    if (mine !== asked) return;
    for (const name of ["shell", "python", "plan"]) document.querySelector(`#${name}`).textContent = "";
    mark(error.fields);
    if (keeps().private === "yes" && !own("epsilon").value) show({ problems: [`fill in epsilon: ${own("method").value} is for differential privacy`] }, place);
    else if (error.fields) show({ problems: ["something above is not right yet"] }, place);
    else show(error, place);
  }
}

let timer;
form.addEventListener("input", (event) => {
  const all = event.target.dataset.all;
  if (all) for (const row of secrets) row.querySelector(`[name=${all}]`).value = event.target.value;
  if (event.target.name === "preset") preset(event.target);
  else if (["k", "l", "t", "suppression_limit"].includes(event.target.name)) form.querySelector("[name=preset][value=own]").checked = true;
  if (event.target === own("epsilon") && (keeps().private === "yes") !== Boolean(event.target.value)) own("method").value = event.target.value ? "truthful" : own("method").dataset.default;
  arrange();
  document.querySelector("#cost").textContent = "";
  clearTimeout(timer);
  timer = setTimeout(check, 250);
});
document.querySelector("#add").addEventListener("click", () => { add(own("model").value); check(); });
extra.addEventListener("click", (event) => {
  if (event.target.classList.contains("remove")) { event.target.closest("[data-model]").remove(); check(); }
});
document.querySelector("#plan-file").addEventListener("change", async (event) => {
  clear();
  try {
    restore(await call("POST", `/api/tables/${table}/plan/file`, event.target.files[0]));
    arrange();
    check();
  } catch (error) {
    show(error);
  }
  event.target.value = "";
});
document.querySelector("#estimate").addEventListener("click", (event) => {
  const cost = document.querySelector("#cost");
  const stop = clock((seconds) => { cost.textContent = `Trying it out: ${seconds} s`; });
  cost.textContent = "Trying it out";
  busy(event.currentTarget, async () => {
    try {
      const asked = gather();
      const { words } = await call("POST", `/api/tables/${table}/estimate`, asked);
      cost.textContent = JSON.stringify(asked) === JSON.stringify(gather()) ? words : "";
    } catch (error) {
      cost.textContent = "";
      throw error;
    } finally {
      stop();
    }
  });
});
document.querySelector("#open-account").addEventListener("click", (event) => {
  busy(event.currentTarget, async () => {
    const [epsilon, delta] = ["epsilon", "delta"].map((name) => document.querySelector(`#budget-${name}`).value.trim());
    const made = await call("POST", `/api/tables/${table}/accounts`, { epsilon, ...(delta && { delta }) });
    own("account").append(make("option", { value: made.id, selected: "" }, `account of ${made.name}: ${made.left} left of ${made.budget}`));
    own("account").value = made.id;
    check();
  });
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  busy(form.querySelector("[type=submit]"), async () => {
    const run = await call("POST", `/api/tables/${table}/runs`, gather());
    location.assign(`/runs/${run.id}`);
  });
});
restore(JSON.parse(document.querySelector("#chosen").textContent));
arrange();
check();
