// Runs of a table: names are saved as they are given; a project brings its roles and hierarchies along.
import { call, channel, clear, show } from "./app.js";

for (const field of document.querySelectorAll(".run-name")) {
  field.addEventListener("change", async () => {
    clear();
    try {
      await call("PATCH", `/api/runs/${field.dataset.run}`, { name: field.value });
    } catch (error) {
      show(error);
    }
  });
}
const project = document.querySelector("#project");
project.addEventListener("change", async () => {
  clear();
  try {
    await call("PUT", `/api/tables/${project.dataset.table}/project`, project.files[0]);
    channel(project.dataset.table).postMessage("");
    location.reload();
  } catch (error) {
    show(error);
    project.value = "";
  }
});
