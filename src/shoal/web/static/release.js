// A result: check it, hand it over in any format, sign it.
import { busy, call, clear, element, make, show, showVerification } from "./app.js";

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
// ---- distributions: bars that are picked lead to their records

const linked = document.querySelector("#distributions[data-linked]");
/** The labels of the bars of a figure, in their order; its table has them in full.
 * @param {HTMLElement} figure
 */
const labels = (figure) => [...figure.querySelector("table").tBodies[0].rows].map((row) => row.cells[0].textContent);
for (const figure of linked?.querySelectorAll("figure") ?? []) {
  const names = JSON.parse(linked.dataset.linked);
  const column = names.indexOf(figure.querySelector("h3").textContent);
  const marks = [...figure.querySelector("svg").querySelectorAll("g.mark")];
  // bins of numbers, and what stands for many values, are no values that records have
  if (column < 0 || !marks.every((mark) => mark.querySelector("text.label"))) continue;
  const link = make("a", { class: "button", hidden: "" });
  figure.append(link);
  figure.querySelector("svg").setAttribute("role", "group");
  const tell = () => {
    const values = labels(figure).filter((_, i) => marks[i]?.classList.contains("picked"));
    const query = new URLSearchParams([
      ["column", String(column)],
      ["side", "after"],
    ]);
    for (const value of values) query.append("equal", value);
    link.setAttribute("href", `/runs/${run}/table?${query}`);
    link.textContent = `Show the records with ${values.join(", ")}`;
    link.hidden = !values.length;
  };
  for (const [i, mark] of marks.entries()) {
    if (mark.querySelector("text.label").classList.contains("aside")) continue;
    mark.setAttribute("tabindex", "0");
    mark.setAttribute("role", "button");
    mark.setAttribute("aria-label", `Pick ${labels(figure)[i]}`);
    const pick = () => {
      mark.setAttribute("aria-pressed", String(mark.classList.toggle("picked")));
      tell();
    };
    mark.addEventListener("click", pick);
    mark.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      pick();
    });
  }
}
