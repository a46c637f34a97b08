// Cut points on a histogram: drag them, move them with the arrow keys, add and remove them; the numbers stand beside.
import { figure, histogram, draw } from "./pictures.js";

const WIDTH = 340;
const HEIGHT = 120;
const FOOT = 16;

/** Bins may be of any widths: where a value stands in the picture, and what value stands at a place. */
const scale = (bins) => {
  const step = WIDTH / bins.length;
  return {
    place: (value) => {
      const i = bins.findIndex((bin) => value < bin.to);
      if (i < 0) return WIDTH;
      return Math.max(0, (i + (value - bins[i].from) / (bins[i].to - bins[i].from)) * step);
    },
    value: (x) => {
      const i = Math.max(0, Math.min(bins.length - 1, Math.floor(x / step)));
      return bins[i].from + Math.max(0, Math.min(1, x / step - i)) * (bins[i].to - bins[i].from);
    },
    /** A round step at a place: about a hundredth of the picture. */
    step: (value) => {
      const bin = bins.find((each) => value < each.to) ?? bins.at(-1);
      const raw = ((bin.to - bin.from) * bins.length) / 100;
      const power = 10 ** Math.floor(Math.log10(raw));
      return [1, 2, 5, 10].map((each) => each * power).find((each) => each >= raw * 0.999);
    },
  };
};
const rounded = (value, step) => Number((Math.round(value / step) * step).toPrecision(12));

/** All cut points, each with the number of levels that have it: coarse ones are drawn taller. */
const points = (levels) => [...new Set(levels.flat().filter((each) => typeof each === "number"))].sort((a, b) => a - b);

/** Every level with a cut point moved, or without it. */
const changed = (levels, old, value) =>
  levels.map((level) =>
    [...new Set(level.flatMap((each) => (each !== old ? [each] : value === null ? [] : [value])))].sort(
      (a, b) => a - b,
    ),
  );

/** The levels with one more cut point in the finest, in the middle of the widest gap or where it is wanted. */
export function withCut(bins, levels, wanted) {
  const { place, value, step } = scale(bins);
  const known = [0, ...points(levels).map(place), WIDTH];
  const gaps = known
    .slice(1)
    .map((each, i) => [each - known[i], known[i]])
    .sort((a, b) => b[0] - a[0]);
  const at = wanted ?? value(gaps[0][1] + gaps[0][0] / 2);
  const [finest = [], ...others] = levels;
  return [[...new Set([...finest, rounded(at, step(at))])].sort((a, b) => a - b), ...others];
}

/** Draw the histogram with its cut points; `tell(levels, done)` hears of every move, and when it is done. */
export function drawCuts({ place: parent, bins, levels, fixed = [], tell }) {
  const { place, value, step } = scale(bins);
  const svg = histogram(bins, WIDTH, HEIGHT, true);
  svg.setAttribute("role", "group");
  svg.setAttribute("aria-label", "Histogram with cut points");
  for (const each of fixed)
    svg.append(draw("line", { x1: place(each), x2: place(each), y1: 0, y2: HEIGHT - FOOT, class: "fixed-cut" }));
  const redraw = (next, focus) => {
    tell(next, true);
    drawCuts({ place: parent, bins, levels: next, fixed, tell });
    [...parent.querySelectorAll(".cut")].find((each) => Number(each.getAttribute("aria-valuenow")) === focus)?.focus();
  };
  for (const cut of points(levels)) {
    const tall = levels.filter((level) => level.includes(cut)).length;
    const top = Math.max(1, 19 - 6 * tall);
    const line = draw("line", { y1: top, y2: HEIGHT - FOOT });
    const knob = draw("circle", { cy: top + 5, r: 5 });
    const words = draw("text", { y: HEIGHT - 2, "text-anchor": "middle" });
    const handle = draw(
      "g",
      {
        class: "cut",
        tabindex: 0,
        role: "slider",
        "aria-orientation": "horizontal",
        "aria-valuemin": bins[0].from,
        "aria-valuemax": bins.at(-1).to,
      },
      draw("rect", { width: 14, height: HEIGHT - FOOT, class: "grip" }),
      line,
      knob,
      words,
    );
    let now = cut;
    const put = (next) => {
      now = next;
      const x = place(now);
      for (const name of ["x1", "x2"]) line.setAttribute(name, x);
      knob.setAttribute("cx", x);
      words.setAttribute("x", Math.max(14, Math.min(WIDTH - 14, x)));
      words.textContent = figure(now);
      handle.firstChild.setAttribute("x", x - 7);
      handle.setAttribute("aria-valuenow", now);
      handle.setAttribute("aria-label", `Cut point ${figure(now)}`);
    };
    put(cut);
    handle.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      handle.focus();
      handle.setPointerCapture(event.pointerId);
      handle.classList.add("held");
    });
    handle.addEventListener("pointermove", (event) => {
      if (!handle.hasPointerCapture(event.pointerId)) return;
      const box = svg.getBoundingClientRect();
      const at = value(((event.clientX - box.left) / box.width) * WIDTH);
      put(rounded(at, step(at)));
      tell(changed(levels, cut, now), false);
    });
    handle.addEventListener("pointerup", () => {
      if (now !== cut) redraw(changed(levels, cut, now), now);
      handle.classList.remove("held");
    });
    handle.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10 }[event.key];
      if (by === undefined && !["Delete", "Backspace"].includes(event.key)) return;
      event.preventDefault();
      const next = by === undefined ? null : rounded(cut + by * step(cut), step(cut));
      redraw(changed(levels, cut, next), next);
    });
    svg.append(handle);
  }
  svg.addEventListener("dblclick", (event) => {
    const box = svg.getBoundingClientRect();
    redraw(withCut(bins, levels, value(((event.clientX - box.left) / box.width) * WIDTH)));
  });
  parent.replaceChildren(svg);
}
