// Explore a release: pick and apply another node, look at pairs of columns, risks and usefulness.
import { busy, call, clear, clock, make } from "./app.js";

const percent = (value) =>
  value === null || value === undefined
    ? "–"
    : `${(value * 100).toLocaleString("en", { maximumSignificantDigits: 3 })}%`;
const count = (value) => value.toLocaleString("en");
const cells = (...values) => values.map((value) => make("td", { class: "n" }, value));

// ---- nodes

const solutions = document.querySelector("#solutions");
const given = document.querySelector("#nodes");
if (given) {
  const { attributes, examples, levels: released, nodes: visits, measure } = JSON.parse(given.textContent);
  const form = document.querySelector("#node-filter");
  const selects = [...form.querySelectorAll("[data-column]")];
  const body = document.querySelector("#node-list tbody");
  const key = (levels) => levels.join(", ");
  // a search may come by the same node twice
  const known = new Map(visits.toReversed().map((node) => [key(node.levels), node]));
  const nodes = [...known.values()].reverse();
  let chosen = released;

  const example = (column, level) => (level === 0 ? "as it is" : (examples[column][level] ?? "missing"));
  function pick(levels) {
    chosen = levels;
    const node = known.get(key(levels));
    const words = levels.map((level, column) =>
      make("li", {}, make("b", {}, attributes[column]), `: level ${level}, ${example(column, level)}`),
    );
    let figures =
      "The search did not look at this combination: a better one was found first, or it cannot keep the promise. " +
      "Apply it to see.";
    if (node)
      figures =
        node.value === null
          ? "The search set it aside: it does not keep the promise within the share of records that may be left out, " +
            "or cannot be better than the chosen one. Apply it to see."
          : `${measure}: ${node.value.toLocaleString("en", { maximumSignificantDigits: 4 })}; ` +
            `${count(node.suppressed)} records left out.`;
    document.querySelector("#node-about").replaceChildren(make("ul", {}, ...words), make("p", {}, figures));
    for (const row of body.rows) row.classList.toggle("chosen", row.dataset.levels === key(levels));
    for (const dot of document.querySelectorAll("#lattice [data-levels]"))
      dot.classList.toggle("picked", dot.dataset.levels === key(levels));
    const apply = document.querySelector("#apply");
    if (apply) apply.disabled = key(levels) === key(released);
  }
  function list() {
    const wanted = selects.map((select) => select.value);
    const most = form.elements.most.value;
    const fits = nodes.filter(
      (node) =>
        node.levels.every((level, column) => wanted[column] === "" || Number(wanted[column]) === level) &&
        (!form.elements.kept.checked || node.value !== null) &&
        (most === "" || (node.value !== null && node.suppressed <= Number(most))),
    );
    body.replaceChildren(
      ...fits.map((node) => {
        const button = make("button", { type: "button", class: "name" }, key(node.levels));
        const row = make(
          "tr",
          { "data-levels": key(node.levels) },
          make("th", { scope: "row" }, button),
          ...node.levels.map((level, column) => make("td", {}, example(column, level))),
          ...cells(
            node.value === null ? "–" : node.value.toLocaleString("en", { maximumSignificantDigits: 4 }),
            node.value === null ? "–" : count(node.suppressed),
          ),
        );
        button.addEventListener("click", () => pick(node.levels));
        return row;
      }),
    );
    document.querySelector("#node-count").textContent =
      `${count(fits.length)} of ${count(nodes.length)} combinations that the search looked at`;
    document.querySelector("#no-nodes").hidden = fits.length > 0;
    const whole = wanted.every((level) => level !== "");
    pick(whole ? wanted.map(Number) : chosen);
  }
  form.addEventListener("input", list);
  for (const dot of document.querySelectorAll("#lattice [data-levels]")) {
    const levels = dot.dataset.levels.split(", ").map(Number);
    dot.setAttribute("tabindex", "0");
    dot.setAttribute("role", "button");
    dot.setAttribute("aria-label", `Levels ${dot.dataset.levels}`);
    dot.addEventListener("click", () => pick(levels));
    dot.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        pick(levels);
      }
    });
  }
  document.querySelector("#lattice svg")?.setAttribute("role", "group");
  document.querySelector("#apply")?.addEventListener("click", (event) =>
    busy(event.currentTarget, async () => {
      const levels = Object.fromEntries(attributes.map((name, column) => [name, chosen[column]]));
      const run = await call("POST", `/api/runs/${solutions.dataset.run}/node`, { levels });
      location.assign(`/runs/${run.id}`);
    }),
  );
  list();
}

// ---- pairs of columns

const pairs = document.querySelector("#pairs");
const choice = document.querySelector("#pair-choice");
let asked = 0;
async function drawPair() {
  const mine = ++asked;
  const state = document.querySelector("#pair-state");
  const place = document.querySelector("#pair");
  const [first, second] = [choice.elements.first.value, choice.elements.second.value];
  if (first === second) {
    state.textContent = "Choose two different columns.";
    place.replaceChildren();
    return;
  }
  state.textContent = "Counting …";
  const answer = await fetch(`/api/runs/${pairs.dataset.run}/pairs/${first}/${second}`).catch(() => null);
  if (mine !== asked) return;
  if (!answer?.ok) {
    state.textContent = (await answer?.json().catch(() => null))?.problems?.[0] ?? "The app does not answer.";
    return;
  }
  // the picture is made by the app from escaped texts; its policy lets no script in it run
  place.replaceChildren(
    document.importNode(new DOMParser().parseFromString(await answer.text(), "text/html").body.firstElementChild, true),
  );
  state.textContent = "";
}
if (choice) {
  choice.addEventListener("change", drawPair);
  drawPair();
}

// ---- risk by columns, usefulness

async function fill(place, address, draw) {
  try {
    draw(await call("GET", address));
  } catch (error) {
    place.textContent = error.problems?.[0] ?? "This cannot be measured.";
  }
}
if (pairs) {
  const run = pairs.dataset.run;
  const total = document.querySelector("#combination-count");
  total.textContent = "Counting …";
  fill(total, `/api/runs/${run}/combinations`, (found) => {
    const rows = found.map(({ columns, original, released }) =>
      make(
        "tr",
        {},
        make("th", { scope: "row" }, columns.join(", ")),
        ...cells(
          count(original.unique),
          count(released.unique),
          count(original.smallest),
          count(released.smallest),
          percent(original.average),
          percent(released.average),
        ),
      ),
    );
    document.querySelector("#combination-list tbody").replaceChildren(...rows);
    const search = document.querySelector("#combination-find");
    const filter = () => {
      const text = search.value.toLowerCase();
      rows.forEach((row, i) => {
        row.hidden = !found[i].columns.some((name) => name.toLowerCase().includes(text));
      });
      total.textContent = `${count(rows.filter((row) => !row.hidden).length)} of ${count(rows.length)} sets`;
    };
    search.addEventListener("input", filter);
    filter();
  });
  const counting = document.querySelector("#counting");
  fill(counting, `/api/runs/${run}/usefulness`, ({ queries, columns }) => {
    counting.textContent =
      `Of ${count(queries.queries)} random counts (“how many are between … and …, in …”), half are wrong ` +
      `by at most ${percent(queries.median)}, nine in ten by at most ${percent(queries.ninth)}; ` +
      `${percent(queries.mean)} on average.`;
    document
      .querySelector("#lost tbody")
      .replaceChildren(
        ...columns.map((each) =>
          make(
            "tr",
            {},
            make("th", { scope: "row" }, each.column),
            ...cells(percent(each.coverage), percent(each.total_variation), percent(each.moved)),
          ),
        ),
      );
  });
  const learn = document.querySelector("#learn");
  learn.addEventListener("submit", (event) => {
    event.preventDefault();
    const state = document.querySelector("#learn-state");
    const stop = clock((seconds) => {
      state.textContent = `Releasing and learning: ${seconds} s`;
    });
    clear();
    busy(learn.querySelector("button"), async () => {
      try {
        const found = await call("GET", `/api/runs/${run}/predictions/${learn.elements.target.value}`);
        const score = found[0]?.score === "r2" ? "R²" : "right";
        const figure = (value) =>
          score === "right" ? percent(value) : value.toLocaleString("en", { maximumFractionDigits: 3 });
        document
          .querySelector("#learnt")
          .replaceChildren(
            make(
              "table",
              { class: "figures" },
              make(
                "thead",
                {},
                make(
                  "tr",
                  {},
                  ...["Model", `Guessing, ${score}`, "From the originals", "From the release"].map((title) =>
                    make("th", { scope: "col" }, title),
                  ),
                ),
              ),
              make(
                "tbody",
                {},
                ...found.map((each) =>
                  make(
                    "tr",
                    {},
                    make("th", { scope: "row" }, each.model),
                    ...cells(figure(each.zero), figure(each.original), figure(each.released)),
                  ),
                ),
              ),
            ),
          );
      } finally {
        stop();
        state.textContent = "";
      }
    });
  });
}
document.querySelector("#record-filter")?.addEventListener("change", (event) => {
  for (const part of document.querySelectorAll("#records tbody"))
    part.hidden = Boolean(event.target.value) && part.dataset.kind !== event.target.value;
});
