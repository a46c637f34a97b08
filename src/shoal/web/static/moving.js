// Move through solutions: a slider per column, live figures, the lattice around, what is kept, fine to coarse.
import { busy, call, element, make, show } from "./app.js";
import { draw } from "./pictures.js";

/** @typedef {{levels: number[], keeps: boolean, value: number | null, suppressed: number, allowed: number,
 *   classes: number, smallest: number, average_risk: number, highest_risk: number}} Node */
/** @typedef {{attributes: string[], heights: number[], examples: (string | null)[][], measure: string,
 *   records: number, node: Node, around: Node[]}} Place */

const section = element("#move", HTMLElement);
const run = section.dataset.run ?? "";
/** @type {number[]} */
const released = JSON.parse(section.dataset.released ?? "[]");
/** @type {Place | undefined} */
let place;
/** @type {number[][]} */
const past = [];
/** @type {number[][]} */
const future = [];

const percent = (/** @type {number} */ value) =>
  `${(value * 100).toLocaleString("en", { maximumSignificantDigits: 3 })}%`;
const count = (/** @type {number} */ value) => value.toLocaleString("en");
const lost = (/** @type {number | null} */ value) =>
  value === null ? "everything" : value.toLocaleString("en", { maximumSignificantDigits: 4 });
const key = (/** @type {number[]} */ levels) => levels.join(", ");

/** What a level of a column looks like.
 * @param {number} column
 * @param {number} level
 */
function example(column, level) {
  return level === 0 ? "as it is" : (place?.examples[column][level] ?? "missing");
}

/** @type {AbortController | undefined} */
let asking;
/** Look at a combination; an answer that is no longer wanted is not waited for.
 * @param {number[] | null} levels null for where to begin
 * @param {boolean} around
 */
async function look(levels, around) {
  asking?.abort();
  asking = new AbortController();
  const query = new URLSearchParams((levels ?? []).map((level) => ["level", String(level)]));
  if (around) query.set("around", "true");
  const { signal } = asking;
  try {
    const found = await call("GET", `/api/runs/${run}/nodes?${query}`, undefined, { signal });
    if (signal.aborted) return;
    place = found;
    tell();
    if (around) drawAround();
  } catch (error) {
    if (!signal.aborted) show(error);
  }
}

function tell() {
  if (!place) return;
  const { node, measure, records } = place;
  const none = node.classes === 0;
  /** @type {[string, string, string?][]} */
  const rows = [
    [`Lost (${measure})`, lost(node.value), "big"],
    ["Records left out", `${count(node.suppressed)} of ${count(records)}; at most ${count(node.allowed)} may be`],
    ["Average risk of being found", none ? "–" : percent(node.average_risk)],
    ["Highest risk", none ? "–" : percent(node.highest_risk)],
    ["Groups", count(node.classes)],
    ["Smallest group", none ? "–" : count(node.smallest)],
  ];
  const verdict = node.keeps ? "keeps the promise" : "does not keep the promise: too many records are left out";
  element("#figures", HTMLElement).replaceChildren(
    ...rows.flatMap(([title, text, kind]) => [make("dt", {}, title), make("dd", kind ? { class: kind } : {}, text)]),
    make("dt", {}, "This combination"),
    make("dd", { class: node.keeps ? "good" : "bad" }, verdict),
  );
  element("#make", HTMLButtonElement).disabled = !node.keeps;
  const sliders = /** @type {NodeListOf<HTMLInputElement>} */ (document.querySelectorAll("#sliders input"));
  for (const [i, slider] of sliders.entries()) {
    slider.value = String(node.levels[i]);
    /** @type {HTMLOutputElement} */ (slider.nextElementSibling).value =
      `${node.levels[i]}: ${example(i, node.levels[i])}`;
    slider.setAttribute("aria-valuetext", example(i, node.levels[i]));
  }
  element("#step-back", HTMLButtonElement).disabled = !past.length;
  element("#step-forward", HTMLButtonElement).disabled = !future.length;
}

/** Go to a combination, so that it can be undone.
 * @param {number[]} levels
 */
function go(levels) {
  if (!place || key(levels) === key(place.node.levels)) return;
  past.push(place.node.levels);
  future.length = 0;
  look(levels, true);
}

/** One circle of the lattice: the less is lost, the darker.
 * @param {Node} node
 * @param {number} x
 * @param {number} y
 * @param {string} label
 */
function circle(node, x, y, label) {
  const middle = place?.node === node;
  const kind = `${node.keeps ? "" : "fails "}${middle ? "middle" : ""}`;
  const words =
    `${label}: ${lost(node.value)} lost, ${count(node.suppressed)} left out, ` +
    `${node.classes ? percent(node.average_risk) : "no"} average risk` +
    (node.keeps ? "" : "; does not keep the promise");
  const group = draw(
    "g",
    { class: kind, tabindex: 0, role: "button", "aria-label": words },
    draw("title", {}, words),
    draw("circle", { cx: x, cy: y, r: 15, "fill-opacity": node.value === null ? 0 : Math.max(0.06, 1 - node.value) }),
    draw("text", { x, y: y + 30 }, label),
    draw(
      "text",
      { x, y: y + 43 },
      node.value === null ? "–" : node.value.toLocaleString("en", { maximumFractionDigits: 3 }),
    ),
  );
  group.addEventListener("click", () => go(node.levels));
  group.addEventListener("keydown", (event) => {
    if (!["Enter", " "].includes(/** @type {KeyboardEvent} */ (event).key)) return;
    event.preventDefault();
    go(node.levels);
  });
  return group;
}

function drawAround() {
  if (!place) return;
  const { node, around, attributes } = place;
  const sum = (/** @type {number[]} */ levels) => levels.reduce((all, level) => all + level, 0);
  const rows = [
    around.filter((each) => sum(each.levels) > sum(node.levels)),
    [node],
    around.filter((each) => sum(each.levels) < sum(node.levels)),
  ];
  const width = Math.max(420, 110 * Math.max(...rows.map((row) => row.length)));
  const at = (/** @type {number} */ i, /** @type {Node[]} */ row) => ((i + 0.5) * width) / row.length;
  const moved = (/** @type {Node} */ each) => {
    const name = attributes.find((_, i) => each.levels[i] !== node.levels[i]) ?? "";
    return name.length > 15 ? `${name.slice(0, 14)}…` : name;
  };
  const [up, , down] = rows;
  const lines = [
    [up, 40],
    [down, 240],
  ].flatMap(([row, y]) =>
    /** @type {Node[]} */ (row).map((_, i, all) =>
      draw("line", { x1: width / 2, y1: 140, x2: at(i, all), y2: /** @type {number} */ (y) }),
    ),
  );
  element("#around", HTMLElement).replaceChildren(
    draw(
      "svg",
      { viewBox: `0 0 ${width} 300`, role: "group" },
      ...lines,
      ...up.map((each, i) => circle(each, at(i, up), 40, `${moved(each)} +1`)),
      circle(node, width / 2, 140, key(node.levels)),
      ...down.map((each, i) => circle(each, at(i, down), 240, `${moved(each)} −1`)),
    ),
  );
}

// ---- sliders

function arrange() {
  if (!place) return;
  element("#sliders", HTMLElement).replaceChildren(
    ...place.attributes.map((name, i) =>
      make(
        "label",
        {},
        make("span", {}, name),
        make("input", {
          type: "range",
          min: "0",
          max: String(place?.heights[i]),
          step: "1",
          "aria-label": `Level of ${name}`,
        }),
        make("output"),
      ),
    ),
  );
  const sliders = [.../** @type {NodeListOf<HTMLInputElement>} */ (document.querySelectorAll("#sliders input"))];
  const chosen = () => sliders.map((slider) => Number(slider.value));
  /** @type {number[] | undefined} */
  let before;
  for (const slider of sliders) {
    // while it is dragged only the figures follow; the lattice is drawn when it is let go
    slider.addEventListener("input", () => {
      before ??= place?.node.levels;
      look(chosen(), false);
    });
    slider.addEventListener("change", () => {
      if (before && key(before) !== key(chosen())) {
        past.push(before);
        future.length = 0;
      }
      before = undefined;
      look(chosen(), true);
    });
  }
}
element("#step-back", HTMLButtonElement).addEventListener("click", () => {
  const levels = past.pop();
  if (levels && place) {
    future.push(place.node.levels);
    look(levels, true);
  }
});
element("#step-forward", HTMLButtonElement).addEventListener("click", () => {
  const levels = future.pop();
  if (levels && place) {
    past.push(place.node.levels);
    look(levels, true);
  }
});
element("#to-released", HTMLButtonElement).addEventListener("click", () => go(released));

/** Make the release of some levels.
 * @param {number[]} levels
 */
async function makeRelease(levels) {
  const chosen = Object.fromEntries((place?.attributes ?? []).map((name, i) => [name, levels[i]]));
  const made = await call("POST", `/api/runs/${run}/node`, { levels: chosen });
  location.assign(`/runs/${made.id}`);
}
element("#make", HTMLButtonElement).addEventListener("click", (event) => {
  const button = /** @type {HTMLButtonElement} */ (event.currentTarget);
  if (place) busy(button, () => makeRelease(place?.node.levels ?? []));
});

// ---- kept solutions

/** @param {(Node & {id: string, name: string})[]} all */
function list(all) {
  element("#none-kept", HTMLElement).hidden = all.length > 0;
  element("#kept tbody", HTMLElement).replaceChildren(
    ...all.map((each) => {
      const open = make("button", { type: "button", class: "name" }, each.name);
      open.addEventListener("click", () => go(each.levels));
      const made = make("button", { type: "button", "aria-label": `Make the release ${each.name}` }, "Make");
      made.addEventListener("click", () => busy(/** @type {any} */ (made), () => makeRelease(each.levels)));
      const remove = make("button", { type: "button", class: "plain", "aria-label": `Remove ${each.name}` }, "Remove");
      remove.addEventListener("click", () =>
        busy(/** @type {any} */ (remove), async () => list(await call("DELETE", `/api/runs/${run}/kept/${each.id}`))),
      );
      return make(
        "tr",
        each.keeps ? {} : { class: "rest" },
        make("th", { scope: "row" }, open),
        make("td", {}, key(each.levels)),
        make("td", { class: "n" }, lost(each.value)),
        make("td", { class: "n" }, count(each.suppressed)),
        make("td", { class: "n" }, each.classes ? percent(each.average_risk) : "–"),
        make("td", {}, made, remove),
      );
    }),
  );
}
const keeping = element("#keeping", HTMLFormElement);
keeping.addEventListener("submit", (event) => {
  event.preventDefault();
  busy(/** @type {any} */ (keeping.querySelector("button")), async () => {
    const name = /** @type {HTMLInputElement} */ (keeping.elements.namedItem("name"));
    list(await call("POST", `/api/runs/${run}/kept`, { name: name.value, levels: place?.node.levels }));
    name.value = "";
  });
});

// ---- from fine to coarse

const coarser = /** @type {HTMLElement | null} */ (document.querySelector("#coarser"));
if (coarser) {
  const slider = /** @type {HTMLInputElement} */ (coarser.querySelector("[name=step]"));
  const about = element("#coarser-about", HTMLElement);
  const button = element("#make-coarser", HTMLButtonElement);
  /** @type {Map<number, any>} */
  const known = new Map();
  const cells = (/** @type {any} */ found) => [
    count(found.k),
    percent(found.loss),
    count(found.left_out),
    percent(found.average_risk),
    percent(found.highest_risk),
  ];
  let latest = 0;
  slider.addEventListener("input", async () => {
    const [mine, step] = [++latest, Number(slider.value)];
    about.textContent = "A short search …";
    try {
      const found = known.get(step) ?? (await call("GET", `/api/runs/${run}/coarser/${step}`));
      known.set(step, found);
      if (mine !== latest) return;
      /** @type {HTMLOutputElement} */ (slider.nextElementSibling).value = `k = ${found.k}`;
      about.textContent = found.words;
      button.disabled = step === 0;
      const rows = [...known.entries()].filter(([, each]) => each.seconds).sort(([a], [b]) => a - b);
      element("#coarser-list tbody", HTMLElement).replaceChildren(
        ...rows.map(([number, each]) =>
          make(
            "tr",
            number === step ? { class: "best" } : {},
            ...cells(each).map((text) => make("td", { class: "n" }, text)),
          ),
        ),
      );
    } catch (error) {
      if (mine !== latest) return;
      about.textContent = "";
      show(error);
    }
  });
  button.addEventListener("click", () =>
    busy(button, async () => {
      const made = await call("POST", `/api/runs/${run}/coarser/${slider.value}`);
      location.assign(`/runs/${made.id}`);
    }),
  );
}

await look(released.length ? released : null, true);
arrange();
tell();
list(await call("GET", `/api/runs/${run}/kept`));
