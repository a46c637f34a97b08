import assert from "node:assert/strict";
import test from "node:test";
import { checkNested, orderTables } from "../src/nested.js";

const plan = orderTables({
  stays: { parent: "people", key: "stay", columns: { ward: { role: "quasi-identifier" }, illness: { role: "sensitive" } } },
  people: { key: "id", columns: { name: { role: "identifier" }, age: { role: "quasi-identifier" } } },
  drugs: { parent: "stays", columns: { drug: { role: "quasi-identifier" } } },
});

/** @param {Record<string, any[]>} columns */
const table = (columns) => ({ names: Object.keys(columns), columns: new Map(Object.entries(columns)), records: Object.values(columns)[0].length });

// A has the drugs 1 and 2 in two stays, B both in one and none in the other: two flat bags of drugs that are equal.
const tables = (/** @type {number[]} */ owners, /** @type {string[]} */ drugs) => new Map([
  ["people", table({ id: [1, 2], age: ["*", "*"] })],
  ["stays", table({ stay: [1, 2, 3, 4], id: [1, 1, 2, 2], ward: ["a", "a", "a", "a"], illness: ["x", "x", "x", "y"] })],
  ["drugs", table({ stay: owners, drug: drugs })],
]);
const crossed = tables([1, 2, 3, 3], ["1", "2", "1", "2"]);
/** @param {any} tables @param {any} parameters @param {string} model */
const decide = (tables, parameters, model = "known-items") => Object.fromEntries(
  checkNested(/** @type {any} */ ({ promises: [{ model, parameters, strength: "syntactic" }] }), plan, tables, [{ model, ...parameters }])
    .map((each) => [each.subject.split(" ")[0], each.status]));

test("tables stand level by level, with their keys first", () => {
  assert.deepEqual(plan.map(({ name, keys }) => [name, ...keys]), [["people", "id"], ["stays", "stay", "id"], ["drugs", "stay"]]);
  assert.throws(() => orderTables({ a: { parent: "b" }, b: { parent: "a" } }));
});

test("links count: drugs of one stay are another pattern than drugs of two", () => {
  assert.equal(decide(crossed, { k: 2, m: 1 })["known-items"], "holds");
  assert.equal(decide(crossed, { k: 2, m: 2 })["known-items"], "fails");
});

test("a secret is decided in every pattern", () => {
  const secret = { column: "stays.illness", value: "y", m: 1 };
  assert.equal(decide(crossed, { ...secret, c: "1/2" }, "secret-among-known-items")["secret-among-known-items"], "holds");
  assert.equal(decide(crossed, { ...secret, c: 0.4 }, "secret-among-known-items")["secret-among-known-items"], "fails");
});

test("keys are places, and rows are sorted by what they hold and what lies below", () => {
  assert.equal(decide(crossed, { k: 2, m: 1 }).order, "holds");
  assert.equal(decide(tables([1, 1, 3, 4], ["1", "2", "1", "2"]), { k: 2, m: 1 }).order, "fails");
  assert.equal(decide(tables([1, 2, 3, 9], ["1", "2", "1", "2"]), { k: 2, m: 1 }).keys, "fails");
});
