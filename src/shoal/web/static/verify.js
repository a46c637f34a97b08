// Verify a release: send its zip or its files, ask for the verdict, delete them again.
import { busy, call, element, show, showVerification } from "./app.js";

const form = element("#verify", HTMLFormElement);
const bar = element("#sending", HTMLProgressElement);
const chosen = (/** @type {string} */ id) => [...(element(id, HTMLInputElement).files ?? [])];

/** Send what was chosen: one zip, or the files of a folder one by one.
 * @param {string} address of the verification
 * @param {File | undefined} archive
 * @param {File[]} files
 */
async function send(address, archive, files) {
  if (archive) return call("PUT", `${address}/archive`, archive);
  for (const [number, file] of files.entries()) {
    bar.value = number / files.length;
    const name = file.webkitRelativePath.split("/").slice(1).join("/") || file.name;
    await call("PUT", `${address}/files?name=${encodeURIComponent(name)}`, file);
  }
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const [[archive], files, [signer]] = ["#archive", "#folder", "#signer"].map(chosen);
  if (!archive && !files.length) return show({ problems: ["choose the zip or the folder of a release first"] });
  busy(element("#verify [type=submit]", HTMLButtonElement), async () => {
    bar.hidden = false;
    const verification = await call("POST", "/api/verifications");
    const address = `/api/verifications/${verification.id}`;
    try {
      await send(address, archive, files);
      if (signer) await call("PUT", `${address}/signer`, signer);
      bar.removeAttribute("value");
      showVerification(await call("POST", `${address}/check`));
    } finally {
      bar.hidden = true;
      await call("DELETE", address);
    }
  });
});
for (const kind of ["dragover", "dragleave", "drop"]) {
  form.addEventListener(kind, (event) => {
    event.preventDefault();
    form.classList.toggle("over", kind === "dragover");
    const dropped = /** @type {DragEvent} */ (event).dataTransfer?.files;
    if (kind === "drop" && dropped?.length) {
      element("#archive", HTMLInputElement).files = dropped;
      form.requestSubmit();
    }
  });
}
