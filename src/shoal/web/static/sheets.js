// The sheets of an Excel workbook, read from the file in the browser: an .xlsx file is a zip of XML.
const TAIL = 65_557;
const MOST = 4_000_000;

/** The names of the sheets, in their order; none where the file is not such a workbook. */
export async function sheetNames(file) {
  const tail = new DataView(await file.slice(Math.max(0, file.size - TAIL)).arrayBuffer());
  let end = tail.byteLength - 22;
  while (end >= 0 && tail.getUint32(end, true) !== 0x06054b50) end -= 1;
  if (end < 0) return [];
  const [size, start] = [tail.getUint32(end + 12, true), tail.getUint32(end + 16, true)];
  if (size > MOST) return [];
  const found = entry(new DataView(await file.slice(start, start + size).arrayBuffer()), "xl/workbook.xml");
  return found && found.size <= MOST ? names(await text(file, found)) : [];
}

/** Where a file of the zip stands, from the list at its end. */
function entry(list, wanted) {
  for (let at = 0; at + 46 <= list.byteLength && list.getUint32(at, true) === 0x02014b50;) {
    const [length, extra, comment] = [28, 30, 32].map((offset) => list.getUint16(at + offset, true));
    const name = new TextDecoder().decode(new Uint8Array(list.buffer, at + 46, length));
    if (name === wanted)
      return {
        packed: list.getUint16(at + 10, true) === 8,
        size: list.getUint32(at + 20, true),
        start: list.getUint32(at + 42, true),
      };
    at += 46 + length + extra + comment;
  }
  return null;
}

/** The text of a file of the zip, of which no more is unpacked than any workbook says of its sheets. */
async function text(file, { packed, size, start }) {
  const head = new DataView(await file.slice(start, start + 30).arrayBuffer());
  const from = start + 30 + head.getUint16(26, true) + head.getUint16(28, true);
  const body = file.slice(from, from + size);
  if (!packed) return body.text();
  const reader = body.stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
  const parts = [];
  let length = 0;
  for (let part = await reader.read(); !part.done && length < MOST; part = await reader.read()) {
    parts.push(part.value);
    length += part.value.length;
  }
  return new Blob(parts).text();
}

function names(xml) {
  const sheets = new DOMParser().parseFromString(xml, "application/xml").getElementsByTagNameNS("*", "sheet");
  return [...sheets].map((sheet) => sheet.getAttribute("name")).filter(Boolean);
}
