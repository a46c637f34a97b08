// Watch a run: its status comes as server-sent events; the page is loaded again when it ends.
import { busy, call, show } from "./app.js";

const place = document.querySelector("#run");
if (place) {
  const bar = document.querySelector("#progress");
  const message = document.querySelector("#message");
  const events = new EventSource(`/api/runs/${place.dataset.run}/events`);
  events.onmessage = (event) => {
    const status = JSON.parse(event.data);
    if (!["waiting", "running"].includes(status.state)) {
      events.close();
      const then = new URLSearchParams(location.search).get("then");
      if (status.state === "done" && then === "explore") location.replace(`${location.pathname}/explore`);
      else location.reload();
      return;
    }
    message.textContent = status.message || "waiting for a free worker";
    if (status.total) bar.value = status.done / status.total;
    else bar.removeAttribute("value");
  };
  const elapsed = document.querySelector("#elapsed");
  const clock = setInterval(() => {
    const seconds = Math.max(0, Math.round((Date.now() - Date.parse(elapsed.dataset.since)) / 1000));
    elapsed.textContent = `${Math.floor(seconds / 60)} min ${seconds % 60} s so far`;
  }, 1000);
  // a connection that is cut comes back by itself, unless the app or the run is gone
  events.onerror = async () => {
    try {
      await call("GET", `/api/runs/${place.dataset.run}`);
    } catch (error) {
      events.close();
      clearInterval(clock);
      place.hidden = true;
      show(error);
    }
  };
  document
    .querySelector("#cancel")
    .addEventListener("click", (event) =>
      busy(event.currentTarget, () => call("POST", `/api/runs/${place.dataset.run}/cancel`)),
    );
}

for (const button of document.querySelectorAll("[data-way]")) {
  const { run } = button.closest("[data-run]").dataset;
  button.addEventListener("click", () =>
    busy(button, async () => {
      const next = await call("POST", `/api/runs/${run}/ways`, { way: button.dataset.way });
      location.assign(`/runs/${next.id}`);
    }),
  );
}
