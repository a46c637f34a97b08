// Open a table: choose or drop a file, or take the example.
import { busy, call, clock, make, show } from "./app.js";
import { sheetNames } from "./sheets.js";

const form = document.querySelector("#upload");
const input = document.querySelector("#file");
const bar = document.querySelector("#sending");
const phase = document.querySelector("#phase");

/** Send a file with progress, which fetch cannot tell. */
function send(file) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const query = new URLSearchParams({ name: file.name });
    for (const name of ["delimiter", "encoding", "decimal", "sheet", "dates"])
      if (form.elements[name].value) query.set(name, form.elements[name].value);
    if (form.elements.skip_bad_rows.checked) query.set("skip_bad_rows", "true");
    if (form.elements.typed_sheet.value && !query.has("sheet")) query.set("sheet", form.elements.typed_sheet.value);
    for (const text of form.elements.missing.value
      .split(",")
      .map((each) => each.trim())
      .filter(Boolean))
      query.append("missing", text);
    request.open("POST", `/api/tables?${query}`);
    request.setRequestHeader("content-type", "application/octet-stream");
    request.responseType = "json";
    request.upload.onprogress = (event) => {
      bar.value = event.loaded / event.total;
    };
    request.upload.onload = () => {
      bar.removeAttribute("value");
    };
    request.onload = () =>
      request.status === 201
        ? resolve(request.response)
        : reject(request.response ?? { problems: [`the app answered ${request.status}`] });
    request.onerror = () => reject({ problems: ["the app does not answer; is `shoal serve` still running?"] });
    request.send(file);
  });
}

/** Offer the sheets of a workbook as soon as it is chosen. */
async function offerSheets() {
  const place = document.querySelector("#sheets");
  const file = input.files[0];
  const names = file ? await sheetNames(file).catch(() => []) : [];
  if (file !== input.files[0]) return;
  form.elements.sheet.replaceChildren(...names.map((name) => make("option", { value: name }, name)));
  place.hidden = names.length < 2;
}
input.addEventListener("change", offerSheets);

async function open(begin) {
  bar.hidden = false;
  const stop = clock((seconds) => {
    const doing = bar.hasAttribute("value") ? "Sending the file" : "Reading the file and looking at its columns";
    phase.textContent = `${doing}: ${seconds} s`;
  });
  try {
    const table = await begin();
    location.assign(`/tables/${table.id}`);
  } finally {
    stop();
    phase.textContent = "";
    bar.hidden = true;
  }
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const file = input.files[0];
  if (!file) return show({ problems: ["choose a file first"] });
  busy(form.querySelector("[type=submit]"), () => open(() => send(file)));
});
document.querySelector("#example").addEventListener("click", (event) => {
  busy(event.currentTarget, () => open(() => call("POST", "/api/tables/example")));
});
for (const kind of ["dragover", "dragleave", "drop"]) {
  form.addEventListener(kind, (event) => {
    event.preventDefault();
    form.classList.toggle("over", kind === "dragover");
    if (kind === "drop" && event.dataTransfer.files.length) {
      input.files = event.dataTransfer.files;
      offerSheets().then(() => {
        if (document.querySelector("#sheets").hidden) form.requestSubmit();
      });
    }
  });
}

const several = /** @type {HTMLFormElement} */ (document.querySelector("#dataset"));
several.addEventListener("submit", (event) => {
  event.preventDefault();
  const files = [...(document.querySelector("#dataset-files").files ?? [])];
  if (!files.length) return show({ problems: ["choose the files of the tables first"] });
  busy(several.querySelector("[type=submit]"), async () => {
    const name = files
      .map((file) => file.name.split(".")[0])
      .join(", ")
      .slice(0, 120);
    const made = await call("POST", `/api/datasets?name=${encodeURIComponent(name)}`);
    const address = `/api/datasets/${made.id}`;
    try {
      for (const file of files) await call("PUT", `${address}/tables?name=${encodeURIComponent(file.name)}`, file);
      await call("POST", `${address}/draft`);
    } catch (error) {
      await call("DELETE", address);
      throw error;
    }
    location.assign(`/datasets/${made.id}`);
  });
});

// ---- databases: list the tables, then copy the chosen one

const database = document.querySelector("#database");
const databaseField = (name) => database.elements.namedItem(name);
const choice = databaseField("table");
function forget() {
  choice.replaceChildren();
  choice.parentElement.hidden = true;
  database.querySelector("[type=submit]").textContent = "List its tables";
}
for (const name of ["address", "file"]) databaseField(name).addEventListener("input", forget);
database.addEventListener("submit", (event) => {
  event.preventDefault();
  const button = database.querySelector("[type=submit]");
  busy(button, async () => {
    const [address, file, table] = [
      databaseField("address").value.trim(),
      databaseField("file").files[0],
      choice.value,
    ];
    if (!address && !file) throw { problems: ["give the address of a database, or choose a DuckDB file"], hint: null };
    if (table) {
      const opened = file
        ? await call("POST", `/api/databases/file?table=${encodeURIComponent(table)}`, file)
        : await call("POST", "/api/databases", { address, table });
      location.assign(`/tables/${opened.id}`);
      return;
    }
    const found = file
      ? await call("POST", "/api/databases/file/tables", file)
      : await call("POST", "/api/databases/tables", { address });
    if (!found.length) throw { problems: ["there is no table that can be read"], hint: null };
    choice.replaceChildren(...found.map((name) => make("option", { value: name }, name)));
    choice.parentElement.hidden = false;
    button.textContent = "Open the table";
  });
});
