/* Ask back and refuse need words: their buttons open the row and put the cursor there. */
(() => {
  "use strict";
  const place = (pk) => document.getElementById(`open-${pk}`);
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-opens]");
    if (!button) return;
    const pk = button.dataset.opens;
    const text = place(pk)?.querySelector("textarea");
    if (text) { text.focus(); return; }
    place(pk).dataset.focus = "yes";
    document.querySelector(`#row-${pk} th a`).click();
  });
  document.addEventListener("htmx:afterSettle", (event) => {
    const cell = event.detail.elt;
    if (!cell.id?.startsWith("open-")) return;
    document.querySelector(`#row-${cell.id.slice(5)} th a`)?.setAttribute("aria-expanded", "true");
    if (cell.dataset.focus) {
      delete cell.dataset.focus;
      cell.querySelector("textarea")?.focus();
    }
  });
})();
