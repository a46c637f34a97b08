import assert from "node:assert/strict";
import test from "node:test";
import { withoutCommonFolder } from "../src/archive.js";
import { repeatsKey } from "../src/certificate.js";
import { classesOf } from "../src/data.js";
import { checkPromise } from "../src/promises.js";
import { isAtMost, readRational } from "../src/rational.js";

test("parameters are read as the decimals that they print", () => {
  assert.deepEqual(readRational(0.2), { numerator: 2n, denominator: 10n });
  assert.deepEqual(readRational("1/5"), { numerator: 1n, denominator: 5n });
  assert.deepEqual(readRational(1e-7), { numerator: 1n, denominator: 10000000n });
  assert.ok(isAtMost(1n, 5n, readRational("0.2")) && !isAtMost(1n, 4n, readRational("0.2")));
  for (const wrong of ["", "-1", "1/0", "NaN", "0x10"]) assert.throws(() => readRational(wrong), RangeError);
});

test("a key that an object has twice is found, wherever it stands and however it is written", () => {
  assert.ok(repeatsKey('{"a": 1, "b": {"c": 1, "c": 2}}'));
  assert.ok(repeatsKey('{"a": 1, "\\u0061": 2}'));
  assert.ok(!repeatsKey('{"a": {"a": 1}, "b": ["a", "a"], "c": "{\\"x\\": 1, \\"x\\": 2}"}'));
});

test("names that leave the folder are refused", () => {
  for (const name of ["../x", "/x", "a\\..\\x"]) {
    assert.throws(() => withoutCommonFolder(new Map([["certificate.json", new Uint8Array()], [name, new Uint8Array()]])));
  }
});

const table = {
  names: ["age", "charge"], records: 5,
  columns: new Map([["age", ["a", "a", "b", "b", "b"]], ["charge", [50, 60, 60, 60, 70]]]),
};
const data = { file: "data.parquet", records: 5, columns: [
  { name: "age", role: "quasi-identifier", kind: "categorical" }, { name: "charge", role: "sensitive", kind: "numeric" },
] };
const decide = (model, parameters) =>
  checkPromise({ model, parameters, strength: "syntactic" }, data, table, new Map()).status;

test("classes are records that are equal in the columns", () => {
  assert.deepEqual(classesOf(table, ["age"]).sizes, [2, 3]);
  assert.deepEqual(classesOf(table, []).sizes, [5]);
});

test("the example of the literature: the classes of 50, 60 and of 60, 60, 70 are 1/4 and 1/6 from all values", () => {
  assert.equal(decide("t-closeness", { attribute: "charge", t: 0.25, distance: "ordered" }), "holds");
  assert.equal(decide("t-closeness", { attribute: "charge", t: 0.2499, distance: "ordered" }), "fails");
});

test("thresholds are decided on both sides", () => {
  assert.equal(decide("k-anonymity", { k: 2 }), "holds");
  assert.equal(decide("k-anonymity", { k: 3 }), "fails");
  assert.equal(decide("distinct-l-diversity", { attribute: "charge", l: 2 }), "holds");
  assert.equal(decide("distinct-l-diversity", { attribute: "charge", l: 3 }), "fails");
  assert.equal(decide("recursive-l-diversity", { attribute: "charge", l: 2, c: 2.01 }), "holds");
  assert.equal(decide("recursive-l-diversity", { attribute: "charge", l: 2, c: 2 }), "fails");
  assert.equal(decide("k-anonymity", { k: 0 }), "fails");
  assert.equal(decide("constructor", {}), "unchecked");
});
