// The search palette: a combobox. Focus stays in the field, the arrows choose, Enter opens.
// Without this script the same words lead to the search page.
(() => {
  const sheet = () => document.getElementById("jump");
  const field = () => document.getElementById("jump-q");
  const list = () => document.getElementById("jump-list");
  const options = () => [...list().querySelectorAll("a")];
  const chosen = () => options().findIndex((one) => one.getAttribute("aria-selected") === "true");

  // What the server sends is a plain list of links; here it becomes what a screen reader expects.
  function dress() {
    for (const group of list().querySelectorAll("section")) {
      const head = group.querySelector("h2, h3");
      group.setAttribute("role", "group");
      group.setAttribute("aria-label", head.textContent);
      head.setAttribute("role", "presentation");
    }
    options().forEach((one, at) => {
      one.id = `jump-${at}`;
      one.tabIndex = -1;
      one.setAttribute("role", "option");
    });
    for (const note of list().querySelectorAll("p.none")) note.setAttribute("role", "presentation");
    field().setAttribute("aria-expanded", options().length > 0);
  }

  function choose(at) {
    const all = options();
    all.forEach((one, n) => one.setAttribute("aria-selected", n === at));
    if (all[at]) field().setAttribute("aria-activedescendant", all[at].id);
    else field().removeAttribute("aria-activedescendant");
    all[at]?.scrollIntoView({ block: "nearest" });
  }

  function open() {
    sheet().showModal();
    field().select();
  }

  document.addEventListener("focusin", (event) => {
    if (event.target === field()) { dress(); choose(-1); }
  });
  // The results shown belong to the previous query: nothing is chosen until the new ones arrive.
  document.addEventListener("input", (event) => { if (event.target === field()) choose(-1); });
  document.addEventListener("htmx:afterSettle", (event) => {
    if (event.detail.target !== list()) return;
    dress();
    choose(field().value.trim() ? 0 : -1);
    list().scrollTop = 0;
  });

  document.addEventListener("keydown", (event) => {
    if (!sheet()) return;
    if ((event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === "k") {
      event.preventDefault();
      if (sheet().open) sheet().close();
      else if (!document.querySelector("dialog:modal")) open();
      return;
    }
    if (event.target !== field() || event.isComposing) return;
    const count = options().length;
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by && count) {
      event.preventDefault();
      const at = chosen();
      choose(at < 0 ? (by > 0 ? 0 : count - 1) : (at + by + count) % count);
    } else if (event.key === "Enter" && chosen() >= 0) {
      event.preventDefault();
      const link = options()[chosen()];
      sheet().close();
      link.click();
    } else if (event.key === "Escape") {
      event.preventDefault(); // it would only empty the field
      sheet().close();
    }
  });
})();
