/* Keyboard, htmx and small manners of the pages. Every page works without it. */
(() => {
  "use strict";
  const typing = (el) => el.closest("input, textarea, select, [contenteditable]");

  /* Work lists: j and k move, a letter presses the row's button of that letter, Enter opens. */
  const rows = () => [...document.querySelectorAll("[data-keys] [data-row]")];
  const current = () => document.querySelector("[data-row].cursor");
  function move(step) {
    const all = rows();
    if (!all.length) return;
    const next = all[Math.min(all.length - 1, Math.max(0, all.indexOf(current()) + step))];
    current()?.classList.remove("cursor");
    next.classList.add("cursor");
    next.scrollIntoView({ block: "nearest" });
    const target = next.querySelector("a, button") || next;
    target.focus({ preventScroll: true });
  }
  function press(key) {
    const button = current()?.querySelector(`[data-key="${key}"]`);
    button?.focus();
    button?.click();
    return Boolean(button);
  }
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") {
      document.querySelectorAll("details.menu[open], details.how[open]").forEach((d) => {
        d.open = false;
        d.querySelector("summary").focus();
      });
      return;
    }
    if (typing(event.target)) return;
    const search = document.getElementById("search");
    if (event.key === "/" && search) {
      event.preventDefault();
      search.focus();
      search.select();
    } else if (event.key === "j" || event.key === "k") {
      if (rows().length) event.preventDefault();
      move(event.key === "j" ? 1 : -1);
    } else if (/^[a-z]$/.test(event.key) && press(event.key)) {
      event.preventDefault();
    } else if (event.key === "Enter" && current() && !event.target.closest("a, button, summary")) {
      current().querySelector("a")?.click();
    }
  });
  document.addEventListener("focusin", (event) => {
    const row = event.target.closest("[data-row]");
    if (!row || row.classList.contains("cursor")) return;
    current()?.classList.remove("cursor");
    row.classList.add("cursor");
  });

  /* Menus close when the reader turns elsewhere. */
  document.addEventListener("click", (event) => {
    document.querySelectorAll("details.menu[open], details.how[open]").forEach((d) => {
      if (!d.contains(event.target)) d.open = false;
    });
    const off = event.target.closest("[aria-disabled]");
    if (off) event.preventDefault();
    const copied = event.target.closest("[data-copy]");
    if (copied) {
      const source = document.querySelector(copied.dataset.copy);
      navigator.clipboard?.writeText(source.value ?? source.textContent);
      say(copied.dataset.copied || "");
    }
  });

  document.addEventListener("submit", (event) => {
    const words = event.target.dataset.confirm;
    if (words && !window.confirm(words)) event.preventDefault();
  });
  document.addEventListener("change", (event) => {
    if (event.target.closest("[data-submit-on-change]")) event.target.form.requestSubmit();
  });

  function say(words) {
    const live = document.getElementById("live");
    if (live) live.textContent = words;
  }

  /* After a swap the reader of a screen hears it, and focus stays on what was pressed. */
  let pressed = "";
  document.addEventListener("htmx:beforeRequest", (event) => {
    const link = event.detail.elt;
    pressed = link.matches("th a") ? link.textContent.trim() : "";
  });
  document.addEventListener("htmx:afterSettle", (event) => {
    const table = event.detail.elt.closest?.("[data-table]");
    if (!table) return;
    const same = [...table.querySelectorAll("th a")].find((a) => a.textContent.trim() === pressed);
    if (pressed && same) same.focus({ preventScroll: true });
    say(table.querySelector("caption")?.textContent || "");
  });
  document.addEventListener("htmx:configRequest", (event) => {
    const token = document.querySelector("input[name=csrfmiddlewaretoken]");
    if (token && event.detail.verb !== "get") event.detail.headers["X-CSRFToken"] = token.value;
  });
})();
