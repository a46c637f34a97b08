import assert from "node:assert/strict";
import test from "node:test";
import { withoutCommonFolder } from "../src/archive.js";
import { readCertificate, repeatsKey } from "../src/certificate.js";
import { classesOf } from "../src/data.js";
import { checkCopy, isCanonical } from "../src/delimited.js";
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

const bytes = (text) => new TextEncoder().encode(text);

test("hierarchy files hold rows, each once, in one notation", () => {
  assert.ok(isCanonical(bytes('a;"x;y";*\nb;z;*\n'), ";"));
  for (const other of ["a;x;*\na;x;*\n", 'a;"x";*\n', "a;x;*\r\n", "\n\na;x;*\n", "\uFEFFa;x;*\n", "a;x;*"]) assert.ok(!isCanonical(bytes(other), ";"));
});

test("a copy has the records of its table, in the notation of Shoal", () => {
  const copied = { names: ["a", "n"], records: 3, columns: new Map([["a", ["x,y", "", null]], ["n", [1, 0.5, null]]]) };
  const compare = (text) => checkCopy("data.csv", bytes(text), copied).status;
  assert.equal(compare('a,n\n"x,y",1\n"",0.5\n,\n'), "holds");
  assert.equal(compare('a,n\n"x,y",1.0\n"",5e-1\n,\n'), "holds");
  for (const other of ['"a",n\n"x,y",1\n"",0.5\n,\n', 'a,n\n"x,y",01\n"",0.5\n,\n', 'a,n\n"x,y",1\n"",0.5\n', 'a,n\n"x,y",2\n"",0.5\n,\n', 'a,n\r\n"x,y",1\r\n"",0.5\r\n,\r\n', 'a,n\n"x,y",1\n"",0.5\nx,\n']) {
    assert.equal(compare(other), "fails", other);
  }
});

test("a certificate is read in one notation only", () => {
  const content = {
    format: "shoal-certificate", version: 1, created: "2024-01-01T00:00:00Z",
    software: { shoal: "0.1.0", duckdb: "2.0.0", numpy: "2.4.6", pyarrow: "26.0.1", python: "3.11.7" },
    promises: [{ model: "k-anonymity", parameters: { k: 2 } }], steps: [], randomness: "none used", roles: "declared", schema_sha256: "", domains: [],
    measures: {}, data: { file: "data.parquet", records: 0, columns: [] }, further_data: [], files: [],
  };
  const text = `${JSON.stringify(content, null, 2)}\n`;
  assert.equal(readCertificate(bytes(text)).promises.length, 1);
  const budget = (epsilon) => `${JSON.stringify({ ...content, budget: { epsilon, delta: "0" } }, null, 2)}\n`;
  for (const other of [
    text.trimEnd(), `\uFEFF${text}`, text.replace("{\n", "{ \n"), text.replace(": 1,", ": 1.0,"), text.replace("0Z", "0+00:00"),
    text.replace('"numpy"', '"vera"'), text.replace("2.4.6", "3MillRoad"), budget("1"), text.replace("shoal-c", "\\u0073hoal-c"),
  ]) assert.throws(() => readCertificate(bytes(other)));
});
