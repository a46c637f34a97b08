// A result: open the part that the address names, also when it is inside of something closed.
import { call, show, showVerification } from "./app.js";

function reveal() {
  const target = location.hash && document.querySelector(location.hash);
  for (let part = target; part; part = part.parentElement) if (part.tagName === "DETAILS") part.open = true;
}
const verified = document.querySelector("[data-verify-now]");
if (verified) {
  call("GET", verified.dataset.verifyNow).then((found) => {
    verified.className = found.passed ? "good" : "bad";
    verified.textContent = found.passed ? `${found.verdict} (checked just now)` : "NOT verified: see below.";
    if (!found.passed) showVerification(found);
  }).catch((error) => show(error));
}
window.addEventListener("hashchange", reveal);
reveal();
