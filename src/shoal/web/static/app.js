// What all pages share: talk to the API, show problems, delete, copy, verify.

/** Call the API and return its answer; a refusal is thrown with its problems and hint. */
export async function call(method, path, body, more = {}) {
  const raw = body instanceof Blob;
  /** @type {RequestInit & {headers: Record<string, string>}} */
  const options = { method, headers: {}, ...more };
  if (body !== undefined) {
    options.headers["content-type"] = raw ? "application/octet-stream" : "application/json";
    options.body = raw ? body : JSON.stringify(body);
  }
  let answer;
  try {
    answer = await fetch(path, options);
  } catch {
    throw { problems: ["the app does not answer; is `shoal serve` still running?"], hint: null };
  }
  const content = answer.status === 204 ? null : await answer.json().catch(() => null);
  if (!answer.ok) throw content?.problems ? content : { problems: [`the app answered ${answer.status}`], hint: null };
  return content;
}

/** What tells other windows of the same table that its columns were changed. */
export const channel = (table) => new BroadcastChannel(`shoal-${table}`);

/** The one element of the page that a selector names, of the type that is expected.
 * @template {Element} T
 * @param {string} selector
 * @param {new () => T} type
 * @returns {T}
 */
export function element(selector, type) {
  const found = document.querySelector(selector);
  if (!(found instanceof type)) throw new Error(`the page has no ${selector}`);
  return found;
}

/** Make an element; texts are never read as HTML. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children.map((child) => child ?? ""));
  return element;
}

/** A text in which `names` stand in ticks, as parts; nothing is read as HTML. */
export const ticked = (text) => text.split(/`([^`]+)`/).map((part, i) => (i % 2 ? make("code", {}, part) : part));

/** Show problems in the words of the command line. */
export function show(error, place = document.querySelector("#problems")) {
  const problems = error.problems ?? [String(error)];
  place.replaceChildren(make("ul", {}, ...problems.map((text) => make("li", {}, ...ticked(text)))));
  if (error.hint) place.append(make("p", { class: "hint" }, make("b", {}, "What would help: "), ...ticked(error.hint)));
  place.hidden = false;
  if (place.id === "problems") place.scrollIntoView({ block: "center" });
}

export function clear(place = document.querySelector("#problems")) {
  place.hidden = true;
  place.replaceChildren();
}

/** Do something while a button cannot be pressed again; problems are shown. */
export async function busy(button, action) {
  clear();
  button.disabled = true;
  button.setAttribute("aria-busy", "true");
  try {
    await action();
  } catch (error) {
    show(error);
  } finally {
    button.disabled = false;
    button.removeAttribute("aria-busy");
  }
}

/** Tell the whole seconds since now, twice a second, until the returned function is called. */
export function clock(tell) {
  const began = Date.now();
  const ticking = setInterval(() => tell(Math.round((Date.now() - began) / 1000)), 500);
  return () => clearInterval(ticking);
}

/** Numbers of a text such as "5, 10, 20"; what is no number stays as it is, for the API to explain. */
export function numbers(text) {
  return text
    .split(/[,;\s]+/)
    .filter(Boolean)
    .map((part) => (Number.isNaN(Number(part)) ? part : Number(part)));
}

export function showVerification(found) {
  const place = document.querySelector("#verification");
  const list = (chosen, mark, kind) =>
    make(
      "ul",
      { class: "checks-made" },
      ...found.checks
        .filter(chosen)
        .map((check) =>
          make("li", { class: kind(check) }, make("b", {}, mark(check)), `${check.subject}: ${check.detail}`),
        ),
    );
  const fine = (check) => check.passed && check.shown && !check.promise;
  const unseen = (check) => check.passed && !check.shown && !check.promise;
  const marked = (check) => (!check.passed ? "FAIL " : check.shown ? "ok " : "on the publisher's word: ");
  const colour = (check) => (!check.passed ? "bad" : check.shown ? "good" : "");
  place.replaceChildren(
    make("p", { class: found.passed ? "verdict good" : "verdict bad" }, found.verdict),
    list((check) => !check.passed, marked, colour),
    list((check) => check.passed && check.promise, marked, colour),
    make("p", {}, "Not checked, because no file shows it:"),
    list(
      unseen,
      () => "",
      () => "",
    ),
    make(
      "details",
      {},
      make("summary", {}, `${found.checks.filter(fine).length} further checks found nothing wrong`),
      list(fine, marked, colour),
    ),
  );
}

const shown = document.querySelector("[data-columns]");
if (shown) {
  channel(shown.dataset.table).onmessage = () =>
    show({
      problems: ["the columns were changed in another window since this page was opened"],
      hint: "load the page again",
    });
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  if (button.dataset.delete && window.confirm(button.dataset.ask)) {
    busy(button, async () => {
      await call("DELETE", button.dataset.delete);
      button.dataset.then ? location.assign(button.dataset.then) : location.reload();
    });
  } else if (button.dataset.verify) {
    busy(button, async () => showVerification(await call("GET", button.dataset.verify)));
  } else if (button.dataset.oneLevel) {
    busy(button, async () => {
      const run = await call("POST", `/api/runs/${button.dataset.oneLevel}/one-level`);
      location.assign(`/runs/${run.id}?then=explore`);
    });
  } else if ("copy" in button.dataset) {
    const text = button.parentElement.querySelector("pre").textContent;
    navigator.clipboard.writeText(text).then(() => {
      button.textContent = "Copied";
    });
  }
});
