// Vaults: make one, set budgets, give tokens and take them away.
import { busy, call, make } from "./app.js";

const text = (form, name) => form.elements[name].value.trim();
const budget = (form) => ({ epsilon: text(form, "epsilon"), delta: text(form, "delta") || "0" });

function when(selector, action) {
  const form = document.querySelector(selector);
  form?.addEventListener("submit", (event) => {
    event.preventDefault();
    busy(form.querySelector("[type=submit]"), () => action(form));
  });
}

const vault = document.querySelector("#vault")?.dataset.vault;
when("#new-vault", async (form) => {
  const [records, account] = ["records_per_person", "account"].map((name) => text(form, name));
  const made = await call("POST", `/api/tables/${text(form, "table")}/vaults`, { ...(account ? { account } : budget(form)), ...(records && { records_per_person: Number(records) }) });
  location.assign(`/vaults/${made.id}`);
});
when("#budget", async (form) => {
  await call("PUT", `/api/vaults/${vault}/budget`, budget(form));
  location.reload();
});
when("#admit", async (form) => {
  const { name, token } = await call("POST", `/api/vaults/${vault}/analysts`, { name: text(form, "name"), ...budget(form) });
  const place = document.querySelector("#token");
  const done = make("button", { type: "button" }, "I have passed it on");
  done.addEventListener("click", () => location.reload());
  const copied = make("div", { class: "copy" }, make("pre", { tabindex: "0" }, token), make("button", { type: "button", "data-copy": "" }, "Copy"));
  place.replaceChildren(make("p", {}, `The token of ${name}, shown once and stored nowhere:`), copied, make("p", {}, done));
  place.hidden = false;
  form.hidden = true; // the next token would take the place of this one
});
for (const button of document.querySelectorAll("[data-dismiss]")) {
  button.addEventListener("click", () => busy(button, async () => {
    await call("POST", `/api/vaults/${vault}/dismissals`, { name: button.dataset.dismiss });
    location.reload();
  }));
}
