// A button that had the focus may go with the row's new state: the row takes the focus then.
let acting = null;
document.addEventListener("htmx:beforeRequest", (event) => {
  const row = event.target.closest(".row");
  if (row) acting = row;
});
document.addEventListener("htmx:afterRequest", (event) => {
  if (acting && event.target.closest("form") && document.activeElement === document.body) acting.focus();
});
