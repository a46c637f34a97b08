// What to promise: presets, numbers, other models; checked while it is chosen, with the same in Python and shell.
import { busy, call, clear, clock, make, show, ticked } from "./app.js";

const form = document.querySelector("#promise");
const table = form.dataset.table;
const extra = document.querySelector("#extra");

/** A field of the promise itself; methods and models may have parameters of the same name. */
const own = (name) => form.querySelector(`[name="${name}"]:not([data-parameter])`);

/** The numbers that ask for a promise each; which one it is with the chosen method; the column that it is about. */
const shorts = [...form.querySelectorAll("[data-short]")];
const keeps = () => form.querySelector(`[data-method="${own("method").value}"]`).dataset;
const needs = (input) => JSON.parse(input.dataset.needs);
const secretOf = (input) => input.closest("[data-secret]")?.dataset.secret;
const priv = shorts.find((input) => "private" in input.dataset);

/** A parameter as the API takes it; an empty one is left out. */
function value(input) {
  if (input.type === "checkbox") return input.checked;
  if (input.multiple) return [...input.selectedOptions].map((option) => option.value);
  const text = input.value.trim();
  if (text === "") return undefined;
  return input.tagName === "SELECT" || Number.isNaN(Number(text)) ? text : Number(text);
}

const parameters = (place) =>
  Object.fromEntries(
    [...place.querySelectorAll("[data-parameter]")]
      .map((input) => [input.name, value(input)])
      .filter(([, v]) => v !== undefined),
  );

/** Give the fields of a model or a method what an earlier run had there, and else what they begin with; no limit of
 * effort was given where none is named. */
function fill(place, given) {
  for (const input of place.querySelectorAll("[data-parameter]")) {
    const known = input.name in given;
    if (input.type === "checkbox") input.checked = known ? Boolean(given[input.name]) : input.defaultChecked;
    else if (input.tagName === "SELECT")
      for (const option of input.options)
        option.selected = known
          ? [given[input.name] ?? ""].flat().map(String).includes(option.value)
          : option.defaultSelected;
    else input.value = known ? (given[input.name] ?? "") : input.name === "effort" ? "" : input.defaultValue;
  }
}

/** The parts of the page that the promises of the last choice come from, in their order. */
let places = [];

function gather() {
  const promises = [];
  const from = (place, promise) => {
    promises.push(promise);
    places.push(place);
  };
  places = [];
  const kept = JSON.parse(keeps().promises);
  for (const input of shorts) {
    const number = value(input);
    if (number === undefined) continue;
    const { short } = input.dataset,
      model = kept[short],
      attribute = secretOf(input);
    const more = Object.fromEntries(needs(input)[model].map((name) => [name, value(own(name)) ?? 0]));
    from(input.closest("[data-secret], .card"), {
      model,
      parameters: { ...(attribute && { attribute }), [short]: number, ...more },
    });
  }
  for (const part of extra.children) from(part, { model: part.dataset.model, parameters: parameters(part) });
  const name = own("method").value;
  const method = { name, parameters: parameters(form.querySelector(`[data-method="${name}"]`)) };
  const weights = Object.fromEntries(
    [...form.querySelectorAll("[data-weight]")].map((input) => [input.dataset.weight, Number(input.value)]),
  );
  const reason = own("reason")?.value ?? "";
  const payer = own("account").value ? { account: own("account").value } : { reason };
  const account = priv.value ? payer : {};
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
  for (const part of form.querySelectorAll("[data-reason]")) part.hidden = !priv.value || own("account").value !== "";
  for (const part of form.querySelectorAll("[data-method]")) part.hidden = part.dataset.method !== own("method").value;
  for (const input of form.querySelectorAll("[data-weight]")) input.nextElementSibling.textContent = input.value;
}

function preset(input) {
  const { given, limit } = input.dataset;
  if (!given) return;
  for (const each of shorts) if (each !== priv) each.value = JSON.parse(given)[each.dataset.short] ?? "";
  for (const each of form.querySelectorAll("[name=suppression_limit]")) each.value = limit;
}

/** Fill the form with what an earlier run was asked for. */
function restore(choice) {
  if (!choice) return;
  for (const input of shorts) input.value = "";
  extra.replaceChildren();
  form.querySelector("[name=preset][value=own]").checked = true;
  for (const { model, parameters: given } of choice.promises) {
    const input = shorts.find((each) => !each.value && model in needs(each) && secretOf(each) === given.attribute);
    const told = input && [input.dataset.short, "attribute", ...needs(input)[model]];
    if (input === undefined || (input !== priv && !Object.keys(given).every((name) => told.includes(name))))
      add(model, given);
    else
      for (const name of told)
        if (name in given && name !== "attribute")
          (name === input.dataset.short ? input : own(name)).value = given[name];
  }
  own("method").value = choice.method.name;
  const place = form.querySelector(`[data-method="${choice.method.name}"]`);
  if (place) fill(place, choice.method.parameters);
  for (const input of form.querySelectorAll("[data-weight]"))
    input.value = choice.weights?.[input.dataset.weight] ?? input.value;
}

/** Show what is wrong under the field that it is about. */
function mark(fields) {
  for (const input of form.querySelectorAll("[aria-invalid]")) input.removeAttribute("aria-invalid");
  for (const part of form.querySelectorAll(".field-problem")) part.remove();
  for (const [name, problems] of Object.entries(fields ?? {})) {
    const [kind, number] = name.split(".");
    const place =
      kind === "method" ? form.querySelector(`[data-method="${own("method").value}"]`) : places[Number(number)];
    for (const { parameter, problem } of problems) {
      const input = parameter && place?.querySelector(`[name="${parameter}"]`);
      const words = make(
        "p",
        { class: "field-problem" },
        ...ticked(input || !parameter ? problem : `\`${parameter}\` ${problem}`),
      );
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
    if (keeps().private === "yes" && !priv.value)
      show({ problems: [`fill in ${priv.name}: ${own("method").value} is for differential privacy`] }, place);
    else if (error.fields) show({ problems: ["something above is not right yet"] }, place);
    else show(error, place);
  }
}

let timer;
form.addEventListener("input", (event) => {
  const all = event.target.dataset.all;
  if (all) for (const input of shorts) if (input.dataset.short === all) input.value = event.target.value;
  if (event.target.name === "preset") preset(event.target);
  else if ("short" in event.target.dataset || event.target.name === "suppression_limit")
    form.querySelector("[name=preset][value=own]").checked = true;
  const { default: usual, defaultPrivate } = own("method").dataset;
  if (event.target === priv && (keeps().private === "yes") !== Boolean(priv.value))
    own("method").value = priv.value ? defaultPrivate : usual;
  arrange();
  document.querySelector("#cost").textContent = "";
  clearTimeout(timer);
  timer = setTimeout(check, 250);
});
document.querySelector("#add").addEventListener("click", () => {
  add(own("model").value);
  check();
});
extra.addEventListener("click", (event) => {
  if (event.target.classList.contains("remove")) {
    event.target.closest("[data-model]").remove();
    check();
  }
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
  const stop = clock((seconds) => {
    cost.textContent = `Trying it out: ${seconds} s`;
  });
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
    own("account").append(
      make("option", { value: made.id, selected: "" }, `account of ${made.name}: ${made.left} left of ${made.budget}`),
    );
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
/** The preset for those who get the data, where the columns were drafted for them. */
const usual = form.querySelector("[data-usual]");
if (usual) {
  usual.checked = true;
  preset(usual);
}
arrange();
check();

// ---- undo and redo: what was asked for before each change

const states = [JSON.stringify(gather())];
let state = 0;
function showState() {
  document.querySelector("#undo").disabled = state === 0;
  document.querySelector("#redo").disabled = state === states.length - 1;
}
function noteState() {
  const now = JSON.stringify(gather());
  if (now === states[state]) return;
  states.splice(state + 1, states.length, now);
  state += 1;
  showState();
}
form.addEventListener("change", noteState);
for (const [id, step] of /** @type {[string, number][]} */ ([
  ["#undo", -1],
  ["#redo", 1],
])) {
  document.querySelector(id).addEventListener("click", () => {
    noteState();
    state = Math.min(Math.max(state + step, 0), states.length - 1);
    restore(JSON.parse(states[state]));
    arrange();
    check();
    showState();
  });
}
