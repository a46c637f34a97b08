// Risk above a threshold that can be moved, estimates for a population, and the identifiers of HIPAA.
import { busy, call, element, make, show } from "./app.js";

const count = (/** @type {number} */ value) => value.toLocaleString("en");
const percent = (/** @type {number} */ value) =>
  `${(value * 100).toLocaleString("en", { maximumSignificantDigits: 3 })}%`;

const threshold = /** @type {HTMLElement | null} */ (document.querySelector("#threshold"));
if (threshold) {
  const { table, run } = threshold.dataset;
  const slider = /** @type {HTMLInputElement} */ (threshold.querySelector("[name=size]"));
  const output = /** @type {HTMLOutputElement} */ (slider.nextElementSibling);
  const place = element("#above", HTMLElement);
  const load = async (/** @type {string} */ address) => {
    /** @type {{sizes: [number, number][]}} */
    const { sizes } = await call("GET", address);
    return { sizes, records: sizes.reduce((all, [size, number]) => all + size * number, 0) };
  };
  try {
    const found = [];
    if (table) found.push({ title: "", ...(await load(`/api/tables/${table}/class-sizes`)) });
    if (run) found.push({ title: "in the release", ...(await load(`/api/runs/${run}/class-sizes`)) });
    const tell = () => {
      const least = Number(slider.value);
      output.value = percent(1 / least);
      slider.setAttribute("aria-valuetext", percent(1 / least));
      place.replaceChildren(
        ...found.map(({ title, sizes, records }) => {
          const above = sizes.filter(([size]) => size < least).reduce((all, [size, number]) => all + size * number, 0);
          const share = percent(records ? above / records : 0);
          return make(
            "span",
            {},
            make("b", {}, count(above)),
            ` of ${count(records)} records (${share}) ${title} have a higher ` +
              `risk than 1 in ${least}: fewer than ${least} look alike. `,
          );
        }),
      );
    };
    slider.addEventListener("input", tell);
    tell();
  } catch (error) {
    place.textContent = error.problems?.[0] ?? "This cannot be counted.";
    slider.disabled = true;
  }
}

const population = /** @type {HTMLFormElement | null} */ (document.querySelector("#population"));
population?.addEventListener("submit", (event) => {
  event.preventDefault();
  busy(/** @type {HTMLButtonElement} */ (population.querySelector("[type=submit]")), async () => {
    const given = /** @type {HTMLInputElement} */ (population.elements.namedItem("fraction")).value;
    const fraction = String(Number(given || "1") / 100);
    const { table } = population.dataset;
    const found = await call("GET", `/api/tables/${table}/population?fraction=${encodeURIComponent(fraction)}`);
    const estimate = (/** @type {number | null} */ value) => (value === null ? "no solution" : percent(value));
    /** @type {[string, string][]} */
    const rows = [
      ["People in the population", count(Math.round(found.population))],
      [
        `Unique in the population, by Dankar’s rule (${found.chosen})`,
        `${percent(found.share)}, ${count(Math.round(found.people))} people`,
      ],
      ["by Pitman’s model", estimate(found.pitman)],
      ["by Zayatz’s model", estimate(found.zayatz)],
      ["by the slide negative binomial model", estimate(found.snb)],
      ["Records that someone who links all of them links correctly", count(Math.round(found.reidentifications))],
    ];
    element("#estimates", HTMLElement).replaceChildren(
      make(
        "table",
        { class: "figures" },
        make(
          "tbody",
          {},
          ...rows.map(([title, text]) =>
            make("tr", {}, make("th", { scope: "row" }, title), make("td", { class: "n" }, text)),
          ),
        ),
      ),
      make("p", { class: "quiet" }, "Estimates: they hold for a table that was drawn at random from the population."),
    );
  });
});

const harbor = /** @type {HTMLElement | null} */ (document.querySelector("#harbor"));
harbor?.querySelector("button")?.addEventListener("click", (event) => {
  busy(/** @type {HTMLButtonElement} */ (event.currentTarget), async () => {
    try {
      /** @type {{column: string, letters: string, verdict: string, words: string}[]} */
      const found = await call("GET", `/api/runs/${harbor.dataset.run}/safe-harbor`);
      const rows = found.map((each) =>
        make(
          "tr",
          {},
          make("th", { scope: "row" }, each.column),
          make("td", { class: each.verdict === "found" ? "bad" : "" }, each.verdict),
          make("td", {}, each.letters),
          make("td", {}, each.words),
        ),
      );
      const head = ["Column", "Verdict", "Identifier", "Why"].map((title) => make("th", { scope: "col" }, title));
      element("#findings", HTMLElement).replaceChildren(
        make("table", { class: "figures" }, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows)),
      );
    } catch (error) {
      show(error);
    }
  });
});
