// Verify a release folder: send its files, ask for the verdict, delete them again.
import { busy, call, show, showVerification } from "./app.js";

const form = document.querySelector("#verify");
const bar = document.querySelector("#sending");
form.addEventListener("submit", (event) => {
  event.preventDefault();
  const files = [...document.querySelector("#folder").files];
  if (!files.length) return show({ problems: ["choose the folder of a release first"] });
  busy(form.querySelector("[type=submit]"), async () => {
    bar.hidden = false;
    const verification = await call("POST", "/api/verifications");
    const address = `/api/verifications/${verification.id}`;
    try {
      for (const [number, file] of files.entries()) {
        bar.value = number / files.length;
        const name = file.webkitRelativePath.split("/").slice(1).join("/") || file.name;
        await call("PUT", `${address}/files?name=${encodeURIComponent(name)}`, file);
      }
      showVerification(await call("POST", `${address}/check`));
    } finally {
      bar.hidden = true;
      await call("DELETE", address);
    }
  });
});
