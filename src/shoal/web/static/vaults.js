// Vaults: make one, set budgets, start and stop it, give tokens and take them away.
import { busy, call, make } from "./app.js";

/** @param {HTMLFormElement} form @param {string} name @returns {HTMLInputElement & HTMLSelectElement} */
const field = (form, name) => /** @type {any} */ (form.elements.namedItem(name));
/** @param {HTMLFormElement} form @param {string} name */
const text = (form, name) => field(form, name).value.trim();
const budget = (/** @type {HTMLFormElement} */ form) => ({
  epsilon: text(form, "epsilon"),
  delta: text(form, "delta") || "0",
});

/** Do something when a form that the page may have is sent.
 * @param {string} selector
 * @param {(form: HTMLFormElement) => Promise<unknown>} action
 */
function when(selector, action) {
  const form = /** @type {HTMLFormElement | null} */ (document.querySelector(selector));
  form?.addEventListener("submit", (event) => {
    event.preventDefault();
    busy(/** @type {HTMLButtonElement} */ (form.querySelector("[type=submit]")), () => action(form));
  });
}

/** @type {HTMLElement | null} */
const place = document.querySelector("#vault");
const vault = place?.dataset.vault;
when("#new-vault", async (form) => {
  const [records, account, reason] = ["records_per_person", "account", "reason"].map((name) => text(form, name));
  const made = await call("POST", `/api/tables/${text(form, "table")}/vaults`, {
    ...(account ? { account } : { ...budget(form), reason }),
    ...(records && { records_per_person: Number(records) }),
  });
  location.assign(`/vaults/${made.id}`);
});

/** @type {HTMLFormElement | null} */
const making = document.querySelector("#new-vault");
if (making) {
  const account = field(making, "account");
  const own = () =>
    [...account.options].find((option) =>
      JSON.parse(option.dataset.tables ?? "[]").includes(field(making, "table").value),
    );
  const arrange = () => {
    const separate = account.value === "";
    const reason = /** @type {HTMLElement} */ (making.querySelector("[data-reason]"));
    reason.hidden = !(separate && own());
    for (const name of ["epsilon", "delta"]) {
      /** @type {HTMLElement} */ (field(making, name).parentElement).hidden = !separate;
    }
  };
  // the account of the table pays, unless somebody chooses otherwise
  const choose = () => {
    account.value = own()?.value ?? "";
    arrange();
  };
  field(making, "table").addEventListener("change", choose);
  account.addEventListener("change", arrange);
  choose();
}

when("#budget", async (form) => {
  await call("PUT", `/api/vaults/${vault}/budget`, budget(form));
  location.reload();
});
when("#start-server", async (form) => {
  const pem = async (/** @type {string} */ name) => (await field(form, name).files?.[0]?.text()) ?? "";
  const [certificate, private_key] = [await pem("certificate"), await pem("private_key")];
  await call("POST", `/api/vaults/${vault}/server`, { port: Number(text(form, "port")), certificate, private_key });
  location.reload();
});
document.querySelector("#stop-server")?.addEventListener("click", (event) => {
  busy(/** @type {HTMLButtonElement} */ (event.currentTarget), async () => {
    await call("DELETE", `/api/vaults/${vault}/server`);
    location.reload();
  });
});
when("#admit", async (form) => {
  const asked = { name: text(form, "name"), ...budget(form) };
  const { name, token } = await call("POST", `/api/vaults/${vault}/analysts`, asked);
  const shown = /** @type {HTMLElement} */ (document.querySelector("#token"));
  const done = make("button", { type: "button" }, "I have passed it on");
  done.addEventListener("click", () => location.reload());
  const copy = make("button", { type: "button", "data-copy": "" }, "Copy");
  shown.replaceChildren(
    make("p", {}, `The token of ${name}, shown once and stored nowhere:`),
    make("div", { class: "copy" }, make("pre", { tabindex: "0" }, token), copy),
    make("p", {}, done),
  );
  shown.hidden = false;
  form.hidden = true; // the next token would take the place of this one
});
for (const button of /** @type {NodeListOf<HTMLButtonElement>} */ (document.querySelectorAll("[data-dismiss]"))) {
  button.addEventListener("click", () =>
    busy(button, async () => {
      await call("POST", `/api/vaults/${vault}/dismissals`, { name: button.dataset.dismiss });
      location.reload();
    }),
  );
}
