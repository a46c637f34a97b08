// Several tables: confirm their roles, and release them together.
import { busy, call, clock, element } from "./app.js";

const form = element("#roles", HTMLFormElement);
const address = `/api/datasets/${form.dataset.dataset}`;

form.addEventListener("submit", (event) => {
  event.preventDefault();
  busy(element("#roles [type=submit]", HTMLButtonElement), async () => {
    /** @type {Record<string, Record<string, string>>} */
    const roles = {};
    for (const select of /** @type {NodeListOf<HTMLSelectElement>} */ (form.querySelectorAll("[data-column]"))) {
      const { table = "", column = "" } = select.dataset;
      (roles[table] ??= {})[column] = select.value;
    }
    const phase = element("#phase", HTMLElement);
    const stop = clock((seconds) => {
      phase.textContent = `Searching, writing and verifying: ${seconds} s`;
    });
    try {
      await call("PUT", `${address}/roles`, { roles });
      const given = new FormData(form);
      const [k, known_items] = [Number(given.get("k")), Number(given.get("known_items"))];
      await call("POST", `${address}/release`, { k, known_items });
      location.reload();
    } finally {
      stop();
      phase.textContent = "";
    }
  });
});
