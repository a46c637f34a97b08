// Wait for the risk of a large table; it is kept, so that the page is there at once the next time.
import { call, clock, show } from "./app.js";

const place = document.querySelector("#measuring");
const stop = clock((seconds) => {
  document.querySelector("#elapsed").textContent = `${seconds} s so far`;
});
try {
  await call("GET", `/api/tables/${place.dataset.table}/risk`);
  location.reload();
} catch (error) {
  stop();
  place.hidden = true;
  show(error);
}
