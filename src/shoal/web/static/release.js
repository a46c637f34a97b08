// A result: check it, hand it over in any format, sign it; open the part that the address names.
import { busy, call, clear, element, show, showVerification } from "./app.js";

function reveal() {
  const target = location.hash && document.querySelector(location.hash);
  for (let part = target || null; part; part = part.parentElement) {
    if (part instanceof HTMLDetailsElement) part.open = true;
  }
}

const verified = element("[data-verify-now]", HTMLElement);
call("GET", verified.dataset.verifyNow ?? "")
  .then((found) => {
    verified.className = found.passed ? "good" : "bad";
    verified.textContent = found.passed ? `${found.verdict} (checked just now)` : "NOT verified: see below.";
    if (!found.passed) showVerification(found);
  })
  .catch((error) => show(error));

const { run } = element("#download", HTMLElement).dataset;

/** @type {HTMLFormElement} */
const exporting = element("#export", HTMLFormElement);
exporting.addEventListener("submit", (event) => {
  event.preventDefault();
  const given = new FormData(exporting);
  const query = new URLSearchParams();
  for (const name of ["bounds", "spreadsheet_safe"]) if (given.has(name)) query.set(name, "true");
  if (given.get("part")) query.set("part", String(given.get("part")));
  const address = `/api/runs/${run}/export/${given.get("ending")}?${query}`;
  busy(element("#export button", HTMLButtonElement), async () => {
    // a refusal is shown here, and not as a page in the place of this one
    const answer = await fetch(address);
    if (!answer.ok) throw await answer.json();
    const link = document.createElement("a");
    link.href = URL.createObjectURL(await answer.blob());
    link.download = `released.${given.get("ending")}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  });
});

// ---- signing

const signing = element("#signing", HTMLFormElement);
const field = (/** @type {HTMLFormElement} */ form, /** @type {string} */ name) =>
  /** @type {HTMLInputElement} */ (form.elements.namedItem(name));
signing.addEventListener("change", () => {
  const key = field(signing, "key").value;
  /** @type {HTMLElement} */ (field(signing, "pem").parentElement).hidden = key !== "";
  for (const link of signing.querySelectorAll("[data-public]")) {
    /** @type {HTMLElement} */ (link).hidden = link.getAttribute("data-public") !== key;
  }
});
signing.addEventListener("submit", (event) => {
  event.preventDefault();
  busy(element("#signing [type=submit]", HTMLButtonElement), async () => {
    const [key, passphrase] = ["key", "passphrase"].map((name) => field(signing, name).value);
    const file = field(signing, "pem").files?.[0];
    if (!key && !file) throw { problems: ["choose the file of a private key first"], hint: null };
    const secret = key ? { key } : { pem: await file?.text() };
    const { fingerprint } = await call("POST", `/api/runs/${run}/signature`, { ...secret, passphrase });
    field(signing, "passphrase").value = "";
    element("#signed", HTMLElement).textContent = `Signed with the key ${fingerprint}. The zip holds the signature.`;
    clear();
  });
});
const making = element("#new-key", HTMLFormElement);
making.addEventListener("submit", (event) => {
  event.preventDefault();
  busy(element("#new-key [type=submit]", HTMLButtonElement), async () => {
    const [name, passphrase] = ["name", "passphrase"].map((part) => field(making, part).value);
    await call("POST", "/api/keys", { name, passphrase });
    location.hash = "#sign";
    location.reload();
  });
});
window.addEventListener("hashchange", reveal);
reveal();
