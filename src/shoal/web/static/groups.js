// Group values by hand: a list of values with the group that each is in.
import { call, make } from "./app.js";

/** Show the values of a column, each with its group; ticked ones can then be grouped. */
export async function drawValues({ address, place, names, levels }) {
  const found = await call("GET", address);
  const [level = {}] = levels();
  const groupOf = Object.fromEntries(Object.entries(level).flatMap(([name, of]) => of.map((value) => [value, name])));
  names.replaceChildren(...Object.keys(level).map((name) => make("option", { value: name })));
  const rows = found.top.map(({ value, records }) => {
    const box = make("input", { type: "checkbox", value });
    return make("tr", {}, make("td", {}, make("label", { class: "check" }, box, ` ${value}`)), make("td", { class: "n" }, records.toLocaleString("en")), make("td", {}, groupOf[value] ?? "–"));
  });
  place.replaceChildren(make("table", { class: "figures" },
    make("thead", {}, make("tr", {}, ...["Value", "Records", "Group"].map((title) => make("th", { scope: "col" }, title)))),
    make("tbody", {}, ...rows)));
  if (found.distinct > rows.length) place.append(make("p", { class: "quiet" }, `The ${rows.length} commonest of ${found.distinct.toLocaleString("en")} values.`));
}
