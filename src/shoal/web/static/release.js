// A result: open the part that the address names, also when it is inside of something closed.
import "./app.js";

function reveal() {
  const target = location.hash && document.querySelector(location.hash);
  for (let part = target; part; part = part.parentElement) if (part.tagName === "DETAILS") part.open = true;
}
window.addEventListener("hashchange", reveal);
reveal();
