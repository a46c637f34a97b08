// The signature of a certificate: Ed25519 over its bytes.

import { fails, holds, unchecked } from "./outcome.js";

const PREFIX = "302a300506032b6570032100";
// Keys of small order verify signatures that nobody made.
const SMALL_ORDER = new Set([
  "0000000000000000000000000000000000000000000000000000000000000000",
  "0100000000000000000000000000000000000000000000000000000000000000",
  "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
  "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
  "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
]);

/**
 * @param {Map<string, Uint8Array>} files
 * @returns {Promise<import("./outcome.js").Finding>}
 */
export async function checkSignature(files) {
  const bytes = files.get("signature.json");
  if (bytes === undefined) return unchecked("signature", "the release is not signed: anybody may have made it");
  /** @type {any} */
  let content;
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    content = JSON.parse(text);
    if (text !== `${JSON.stringify(content, null, 2)}\n`) throw new Error();
    if (Object.keys(content).join() !== "algorithm,public_key,signature" || content.algorithm !== "Ed25519") throw new Error();
    const [key, signature] = [fromBase64(content.public_key), fromBase64(content.signature)];
    if (!hex(key).startsWith(PREFIX) || key.length !== 44 || signature.length !== 64) throw new Error();
    const point = hex(key.subarray(12));
    const withoutSign = point.slice(0, 62) + (parseInt(point.slice(62), 16) & 0x7f).toString(16).padStart(2, "0");
    if (SMALL_ORDER.has(withoutSign) || SMALL_ORDER.has(point)) return fails("signature", "its key is of small order: anybody can sign with it");
    const name = `SHA256:${hex(new Uint8Array(await crypto.subtle.digest("SHA-256", buffer(key))))}`;
    const imported = await crypto.subtle.importKey("spki", buffer(key), "Ed25519", false, ["verify"]);
    const certificate = /** @type {Uint8Array} */ (files.get("certificate.json"));
    return (await crypto.subtle.verify("Ed25519", imported, buffer(signature), buffer(certificate)))
      ? holds("signature", `by the key ${name}; compare it with the one that the publisher names`)
      : fails("signature", `not the one that the key ${name} gives for this certificate`);
  } catch (error) {
    if (error instanceof DOMException && error.name === "NotSupportedError") {
      return unchecked("signature", "this browser does not know Ed25519");
    }
    return fails("signature", "signature.json is not in the form of version 1");
  }
}

/** @param {string} text */
function fromBase64(text) {
  return Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
}

/** @param {Uint8Array} bytes */
export const hex = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
/** @param {Uint8Array} bytes @returns {ArrayBuffer} */
export const buffer = (bytes) => /** @type {ArrayBuffer} */ (bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
