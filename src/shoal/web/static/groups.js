// Group values by hand: drag them from group to group, or tick them and say where they go.
import { make } from "./app.js";

/** Whether a group is a value that nobody put anywhere: it stays as it is. */
const loose = (name, members) => members.length === 1 && members[0] === name;

/** Groups in which every value is exactly once, alone where nobody put it elsewhere; the levels above follow. */
export function complete(levels, values) {
  let below = values;
  return levels.map((level) => {
    const left = new Set(below);
    const groups = new Map(
      Object.entries(level)
        .map(([name, members]) => /** @type {[string, any[]]} */ ([name, members.filter((each) => left.delete(each))]))
        .filter(([, members]) => members.length),
    );
    for (const value of left) groups.set(value, [...(groups.get(value) ?? []), value]);
    below = [...groups.keys()];
    return Object.fromEntries(groups);
  });
}

/** The levels with some members of one level in another group; without a name each is on its own. */
export function moved(levels, number, members, name) {
  const groups = new Map(
    Object.entries(levels[number])
      .map(([each, of]) => /** @type {[string, any[]]} */ ([each, of.filter((member) => !members.includes(member))]))
      .filter(([, of]) => of.length),
  );
  for (const [each, of] of name ? [[name, members]] : members.map((member) => [member, [member]]))
    groups.set(each, [...(groups.get(each) ?? []), ...of]);
  return levels.map((level, i) =>
    i === number ? Object.fromEntries(groups) : i === number + 1 && name ? renamed(level, members, name) : level,
  );
}

/** The level above names a new group instead of what went into it. */
function renamed(level, gone, name) {
  const known = Object.values(level).flat().includes(name);
  let given = known;
  return Object.fromEntries(
    Object.entries(level).map(([each, of]) => [
      each,
      of.flatMap((member) => {
        if (!gone.includes(member)) return [member];
        const first = !given;
        given = true;
        return first ? [name] : [];
      }),
    ]),
  );
}

/** The levels with a group called otherwise, also where the level above names it; one of that name takes it in. */
export function called(levels, number, old, name) {
  const other = (level, change) => {
    const groups = new Map();
    for (const [each, of] of Object.entries(level).map(change)) groups.set(each, [...(groups.get(each) ?? []), ...of]);
    return Object.fromEntries(groups);
  };
  return levels.map((level, i) => {
    if (i === number) return other(level, ([each, of]) => [each === old ? name : each, of]);
    return i === number + 1
      ? other(level, ([each, of]) => [each, of.map((member) => (member === old ? name : member))])
      : level;
  });
}

/** Show the groups of a level with their members; `move(members, name)` and `rename(old, name)` are told of changes. */
export function drawGroups({ place, names, level, records, move, rename }) {
  const groups = Object.entries(level).filter(([name, members]) => !loose(name, members));
  const alone = Object.entries(level)
    .filter(([name, members]) => loose(name, members))
    .map(([name]) => name);
  names.replaceChildren(...groups.map(([name]) => make("option", { value: name })));
  const count = (members) => members.reduce((sum, member) => sum + (records.get(member) ?? 0), 0);
  const chip = (value) => {
    const box = make("input", { type: "checkbox", value });
    const item = make(
      "li",
      { draggable: "true", "data-value": value },
      make("label", { class: "check" }, box, ` ${value}`),
    );
    if (records.has(value)) item.append(make("span", { class: "n quiet" }, records.get(value).toLocaleString("en")));
    return item;
  };
  const box = (name, members, ...head) =>
    make(
      "section",
      { class: "group", "data-group": name },
      make("div", { class: "group-head" }, ...head),
      make("ul", {}, ...members.map(chip)),
    );
  const headed = groups.map(([name, members]) => {
    const field = make("input", {
      value: name,
      "data-rename": name,
      "aria-label": `Name of the group ${name}`,
      maxlength: 500,
    });
    const apart = make(
      "button",
      { type: "button", class: "plain", "data-dissolve": name },
      "Dissolve",
      make("span", { class: "hidden" }, ` ${name}`),
    );
    return box(
      name,
      members,
      field,
      make("span", { class: "n quiet" }, count(members) ? count(members).toLocaleString("en") : ""),
      apart,
    );
  });
  const rest = box(
    "",
    alone,
    make("b", {}, groups.length ? "In no group: stays as it is" : "All values: each stays as it is"),
  );
  const fresh = make("section", { class: "group fresh", "data-group": "new" }, "Drop values here to make a new group");
  place.replaceChildren(...headed, fresh, rest);
  listen(place, groups, move, rename);
}

function listen(place, groups, move, rename) {
  const ticked = () => [...place.querySelectorAll("[type=checkbox]:checked")].map((each) => each.value);
  let held = [];
  place.ondragstart = (event) => {
    const value = event.target.closest?.("[data-value]")?.dataset.value;
    if (value === undefined) return;
    held = ticked().includes(value) ? ticked() : [value];
    event.dataTransfer.setData("text/plain", held.join("\n"));
    event.dataTransfer.effectAllowed = "move";
  };
  const over = (event) => (held.length ? event.target.closest?.(".group") : null);
  const light = (chosen) => {
    for (const each of place.querySelectorAll(".group")) each.classList.toggle("over", each === chosen);
  };
  place.ondragover = (event) => {
    if (over(event)) event.preventDefault();
    light(over(event));
  };
  place.ondragend = () => {
    held = [];
    light(null);
  };
  place.ondrop = (event) => {
    const target = over(event);
    if (!target) return;
    event.preventDefault();
    const members = held;
    held = [];
    move(members, target.classList.contains("fresh") ? unused(groups) : target.dataset.group);
  };
  place.onclick = (event) => {
    const name = event.target.closest("[data-dissolve]")?.dataset.dissolve;
    if (name !== undefined) move(groups.find(([each]) => each === name)[1], "");
  };
  place.onchange = (event) => {
    const old = event.target.dataset.rename;
    const name = event.target.value.trim();
    if (old === undefined || name === old) return;
    if (name && !groups.some(([each]) => each === name)) rename(old, name);
    else event.target.value = old;
  };
}

function unused(groups) {
  let number = groups.length + 1;
  while (groups.some(([name]) => name === `group ${number}`)) number += 1;
  return `group ${number}`;
}
