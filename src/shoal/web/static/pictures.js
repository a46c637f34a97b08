// Small pictures of what a column holds: bins of numbers, or its commonest values.
import { call, make } from "./app.js";

const SVG = "http://www.w3.org/2000/svg";
/** Make a part of a picture. */
export function draw(tag, attributes, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}
export const figure = (value) => value.toLocaleString("en", { maximumSignificantDigits: 6 });

/** A histogram, or bars with their values. */
export function picture(found, { width, height, labels = false }) {
  return found.bins.length ? histogram(found.bins, width, height, labels) : bars(found.top, labels);
}

/** Bars of equal width, one per bin. */
export function histogram(bins, width, height, labels) {
  const foot = labels ? 16 : 0;
  const most = Math.max(...bins.map((bin) => bin.records), 1);
  const step = width / bins.length;
  const shapes = bins.map((bin, i) => {
    const tall = bin.records ? Math.max(1, (bin.records / most) * (height - foot - 2)) : 0;
    const bar = draw("rect", {
      x: i * step + 0.5,
      y: height - foot - tall,
      width: Math.max(step - 1, 0.5),
      height: tall,
      class: "released",
    });
    bar.append(draw("title", {}, `${figure(bin.from)} to ${figure(bin.to)}: ${figure(bin.records)}`));
    return bar;
  });
  const ends = labels
    ? [
        draw("text", { x: 0, y: height - 2 }, figure(bins[0].from)),
        draw("text", { x: width, y: height - 2, "text-anchor": "end" }, figure(bins.at(-1).to)),
      ]
    : [];
  const range = `From ${figure(bins[0].from)} to ${figure(bins.at(-1).to)}`;
  const name = `${range}; the fullest of ${bins.length} bins holds ${figure(most)} records`;
  return draw(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, width, height, class: "chart small", role: "img", "aria-label": name },
    ...shapes,
    ...ends,
  );
}

function bars(top, labels) {
  const words = top.map(({ value, records }) => `${value} (${figure(records)})`);
  if (!labels)
    return make(
      "span",
      { class: "commonest", title: words.join("\n") },
      top
        .slice(0, 3)
        .map(({ value }) => value)
        .join(", "),
    );
  const most = Math.max(...top.map(({ records }) => records), 1);
  return make(
    "ul",
    { class: "commonest-list" },
    ...top.map(({ value, records }) =>
      make(
        "li",
        {},
        make("span", { class: "value" }, value),
        make("meter", { min: 0, max: most, value: records, "aria-label": `${value}: ${records}` }),
        make("span", { class: "n quiet" }, figure(records)),
      ),
    ),
  );
}

/** Draw the pictures of the rows that come into view, one after the other. */
export function glance(rows, address) {
  const waiting = [];
  let working = false;
  async function work() {
    if (working) return;
    working = true;
    while (waiting.length) {
      const row = waiting.shift();
      try {
        row
          .querySelector(".glance")
          .replaceChildren(picture(await call("GET", address(row.dataset.number)), { width: 120, height: 24 }));
      } catch {
        row.querySelector(".glance").textContent = "–";
      }
    }
    working = false;
  }
  const seen = new IntersectionObserver(
    (entries) => {
      for (const entry of entries.filter((each) => each.isIntersecting)) {
        seen.unobserve(entry.target);
        waiting.push(entry.target);
      }
      work();
    },
    { rootMargin: "200px" },
  );
  for (const row of rows) seen.observe(row);
}
