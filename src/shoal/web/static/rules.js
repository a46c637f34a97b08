// Hierarchy rules as the fields of the column's form, and back.
import { numbers } from "./app.js";

export const lines = (value) =>
  value
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);

/** The two parts of a line such as "north = Oslo | Bergen"; a sign between blanks counts before one in a name. */
const pair = (line) => {
  const [sign, at] = [" = ", "="].map((each) => [each, line.indexOf(each)]).find(([, found]) => found >= 0) ?? ["", -1];
  return at < 0 ? [line, ""] : [line.slice(0, at).trim(), line.slice(at + sign.length).trim()];
};
const members = (text) =>
  text
    .split(text.includes(" | ") ? " | " : "|")
    .map((each) => each.trim())
    .filter(Boolean);
export const groupsOf = (value) =>
  value.trim()
    ? value.split(/\n\s*\n/).map((level) =>
        Object.fromEntries(
          lines(level)
            .map(pair)
            .map(([name, of]) => [name, members(of)]),
        ),
      )
    : [];
export const groupsText = (levels) =>
  levels
    .map((level) =>
      Object.entries(level)
        .map(([name, of]) => `${name} = ${of.join(" | ")}`)
        .join("\n"),
    )
    .join("\n\n");

/** A rule from the texts of its fields; `dates` are the parts that are ticked. */
export const rules = {
  flat: () => undefined,
  intervals: (text) => ({
    intervals: numbers(text("intervals")),
    ...Object.fromEntries(["origin", "bottom", "top"].filter(text).map((name) => [name, Number(text(name))])),
  }),
  cuts: (text) => ({ cuts: lines(text("cuts")).map(numbers) }),
  quantiles: (text) => ({ quantiles: numbers(text("quantiles")) }),
  mask: (text) => ({ mask: numbers(text("mask")), length: numbers(text("length"))[0], side: text("side") }),
  dates: (_, dates) => ({ dates }),
  groups: (text) => ({ groups: groupsOf(text("groups")) }),
  found: (text) => ({ found: groupsOf(text("found")) }),
  digits: () => ({ digits: 5, hide: [1, 2, 3] }),
  regions: () => ({ regions: ["sub-region", "region"] }),
  taxonomy: (text) => ({ taxonomy: Object.fromEntries(lines(text("taxonomy")).map(pair)) }),
  file: () => ({ file: "" }),
};
/** A rule as the texts of its fields. */
export const texts = {
  intervals: (rule) => rule.intervals.join(", "),
  origin: (rule) => rule.origin ?? "",
  bottom: (rule) => rule.bottom ?? "",
  top: (rule) => rule.top ?? "",
  cuts: (rule) => rule.cuts.map((level) => level.join(", ")).join("\n"),
  quantiles: (rule) => rule.quantiles.join(", "),
  mask: (rule) => rule.mask.join(", "),
  length: (rule) => rule.length ?? "",
  groups: (rule) => groupsText(rule.groups),
  found: (rule) => groupsText(rule.found),
  taxonomy: (rule) =>
    typeof rule.taxonomy === "string"
      ? ""
      : Object.entries(rule.taxonomy)
          .map(([child, parent]) => `${child} = ${parent}`)
          .join("\n"),
};
