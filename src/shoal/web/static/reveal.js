// Open the part of the page that the address names, also when it is inside of something closed.
function reveal() {
  const target = location.hash && document.querySelector(location.hash);
  for (let part = target || null; part; part = part.parentElement) {
    if (part instanceof HTMLDetailsElement) part.open = true;
  }
}
window.addEventListener("hashchange", reveal);
reveal();
