// A button that had the focus may go with the row's new state: the row takes the focus then.
let acting = null;
document.addEventListener("htmx:beforeRequest", (event) => {
  acting = event.target.closest(".row") || acting;
});
document.addEventListener("htmx:oobAfterSwap", () => {
  if (!acting || document.activeElement !== document.body) return;
  acting.focus();
  acting = null;
});

// What was pressed and did not happen is said, when the answer does not say it itself.
function toast(text) {
  const said = document.createElement("p");
  said.className = "toast toast-error";
  said.dataset.testid = "toast-error";
  said.textContent = text;
  document.getElementById("toasts").append(said);
}
function pressed(event) {
  return event.detail.requestConfig.verb === "post";
}
document.addEventListener("htmx:sendError", (event) => {
  if (pressed(event)) toast("The server does not answer. Nothing was done as far as we know: reload the page and look.");
});
document.addEventListener("htmx:afterRequest", (event) => {
  const answer = event.detail.xhr;
  if (answer.status < 400 || !pressed(event) || answer.responseText.includes('id="toasts"')) return;
  toast(
    answer.status === 403
      ? "Nothing was done: this page is out of date, because you signed in again. Reload it."
      : `Nothing was done: the server answered ${answer.status}. Reload the page and try again.`,
  );
});

// A page asks less often while nobody sees it, and at once when it is seen again.
const UNSEEN = 20_000; // milliseconds
let asked = 0;
function polls(event) {
  return event.target.id === "rows-poll";
}
document.addEventListener("htmx:beforeRequest", (event) => {
  if (!polls(event)) return;
  if (document.hidden && Date.now() - asked < UNSEEN) event.preventDefault();
  else asked = Date.now();
});
document.addEventListener("visibilitychange", () => {
  const poll = document.getElementById("rows-poll");
  if (!document.hidden && poll) htmx.trigger(poll, "awake");
});

// A page that could not ask says so until it can again.
document.addEventListener("htmx:afterRequest", (event) => {
  const stale = document.getElementById("stale");
  if (stale && polls(event)) stale.hidden = event.detail.xhr.status !== 0 && event.detail.xhr.status < 400;
});

// One box ticks all of its name.
for (const all of document.querySelectorAll("[data-tick-all]")) {
  const boxes = [...document.getElementsByName(all.dataset.tickAll)];
  all.closest("[hidden]").hidden = false;
  all.addEventListener("change", () => boxes.forEach((box) => (box.checked = all.checked)));
  document.addEventListener("change", (event) => {
    if (!boxes.includes(event.target)) return;
    all.checked = boxes.every((box) => box.checked);
    all.indeterminate = !all.checked && boxes.some((box) => box.checked);
  });
}
