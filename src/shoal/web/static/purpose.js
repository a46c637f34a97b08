// What the data are for: drafts the columns again for a purpose, and says what the draft leaves out and asks.
import { busy, call, ticked } from "./app.js";

const form = document.querySelector("#purpose-form");
const picks = [...form.querySelectorAll("[name=keep]")];
const replaces = document.querySelector("#replaces");
/** Columns that a sentence names. */
const most = 8;

/** Some names in ticks, and how many more there are. */
function some(names) {
  const more = names.length > most ? ` and ${(names.length - most).toLocaleString("en")} more` : "";
  return names.slice(0, most).map((name) => `\`${name}\``).join(", ") + more;
}
const having = (columns, role) => columns.filter((column) => column.role === role).map((column) => column.name);

function fillIn(place, text) {
  place.hidden = !text;
  place.querySelector("span").replaceChildren(...ticked(text));
}

/** Say which columns are left out, and what nobody but a person can decide. */
export function tellDraft(columns) {
  const [dropped, open] = ["drop", "decide"].map((role) => having(columns, role));
  fillIn(
    document.querySelector("#left-out"),
    dropped.length ? `Left out: ${some(dropped)}. To take one back, choose its role in the list.` : "",
  );
  fillIn(
    document.querySelector("#to-decide"),
    open.length ? `To decide before anything is released: ${some(open)}.` : "",
  );
  const whose = document.querySelector("#whose");
  if (whose) whose.hidden = columns.some((column) => column.role === "person");
}

/** Let the form draft again; `page` has the table, its version, what waits to be saved, and how a person is named. */
export function watchPurpose(page) {
  const count = () => {
    const chosen = picks.filter((box) => box.checked).length;
    const words = chosen ? `${chosen} of ${picks.length} ticked` : "none ticked: all that are recognised stay";
    document.querySelector("#picked").textContent = words;
    replaces.hidden = true;
  };
  const draft = async (replace) => {
    const keep = picks.filter((box) => box.checked).map((box) => box.value);
    const audience = form.elements.audience.value || null;
    const body = { version: page.version(), keep, audience, replace };
    await call("POST", `/api/tables/${page.table}/purpose`, body);
    page.reload();
  };
  form.addEventListener("input", (event) => {
    if (event.target.id !== "pick-filter") count();
    else
      for (const box of picks)
        box.closest("label").hidden = !box.value.toLowerCase().includes(event.target.value.toLowerCase());
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    busy(form.querySelector("[type=submit]"), async () => {
      await page.saved();
      const found = await call("GET", `/api/tables/${page.table}/purpose`);
      if (!found.decided.length) return draft(false);
      const text = `This replaces what a person has decided for ${found.decided_in_words}.`;
      replaces.querySelector("p").replaceChildren(...ticked(`${text} Undo brings it back.`));
      replaces.hidden = false;
    });
  });
  document.querySelector("#replace").addEventListener("click", (event) => busy(event.currentTarget, () => draft(true)));
  document.querySelector("#keep-mine").addEventListener("click", () => {
    replaces.hidden = true;
  });
  for (const button of document.querySelectorAll("[data-show-role]"))
    button.addEventListener("click", () => {
      const only = document.querySelector("#only");
      only.value = button.dataset.showRole;
      only.dispatchEvent(new Event("change"));
      document.querySelector("#columns").scrollIntoView({ block: "center" });
    });
  for (const id of ["#is-person", "#no-person"])
    document.querySelector(id)?.addEventListener("click", (event) => page.isPerson(event.target.dataset.column));
  count();
}
