// Keyboard, focus and dialogs. Everything else is HTML.
const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
const rows = () => $$("[data-row]").filter((row) => row.checkVisibility());
const current = () => document.activeElement?.closest?.("[data-row]");
const modal = () => document.querySelector("dialog:modal");

function step(by) {
  const all = rows();
  const at = all.indexOf(current());
  const next = all[at < 0 ? 0 : at + by] ?? all[at];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

// The focused row's button wins; then the last match on the page, so that a field of the
// page goes before the navigation, and the newest toast before older ones.
function buttonFor(name) {
  const all = $$(`[data-key="${CSS.escape(name)}"]`);
  const here = current();
  return (here && all.find((el) => here.contains(el)))
    ?? all.filter((el) => !el.closest("[data-row]") && (el.checkVisibility() || el.dataset.open)).at(-1);
}

let going = 0; // until when a letter after "g" goes to a page

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (event.target.matches("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (modal()) return;
  if (event.key === "Escape" && (shutMenus() || clearPicked())) return;
  if (Date.now() < going) {
    going = 0;
    const link = document.querySelector(`[data-go="${CSS.escape(event.key)}"]`);
    if (link) { event.preventDefault(); link.click(); }
    return;
  }
  if (event.key === "g") { going = Date.now() + 1500; return; }
  if (event.key === "j" || event.key === "k") return step(event.key === "j" ? 1 : -1);
  if (event.key === "Enter" && event.target.matches("[data-row]")) {
    return (event.target.querySelector("[data-open-row]") ?? event.target.querySelector("a[href]"))?.click();
  }
  const space = event.key === " " && event.target.matches("[data-row]");
  const button = space ? event.target.querySelector("input[type=checkbox]") : event.key !== " " && buttonFor(event.key);
  if (!button) return;
  event.preventDefault();
  button.matches("input:not([type=checkbox], [type=radio]), textarea") ? (button.focus(), button.select()) : button.click();
}
document.addEventListener("keydown", pressed);

function shutMenus(except) {
  const open = $$("details.drop[open]").filter((menu) => !menu.contains(except));
  for (const menu of open) menu.open = false;
  return open.length;
}

function clearPicked() {
  const picked = $$("[data-one]:checked");
  picked[0]?.form?.reset();
  return picked.length;
}

document.addEventListener("click", (event) => {
  shutMenus(event.target);
  const opener = event.target.closest("[data-open]");
  const dialog = opener && document.getElementById(opener.dataset.open);
  if (dialog?.showModal) {
    event.preventDefault();
    shutMenus();
    if (opener.dataset.action) dialog.querySelector("form").action = opener.dataset.action; // one dialog, many rows
    dialog.showModal();
  }
  if (event.target.closest("[data-close]") || event.target.matches("dialog")) event.target.closest("dialog")?.close();
  if (event.target.closest(".toast [data-shut]")) event.target.closest(".toast").remove();
});
// What a key opens is typed into at once, so that the next letters are no shortcuts.
document.addEventListener("toggle", ({ target }) => {
  if (target.matches("details[open]:has(> summary[data-key])")) target.querySelector("textarea, input:not([type=hidden]), select")?.focus();
}, true);
document.addEventListener("close-dialog", () => modal()?.close());

// The choice shows at once; the server keeps it in a cookie.
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-theme-switch] button");
  if (!button) return;
  if (button.value === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = button.value;
  for (const one of $$("button", button.form)) one.setAttribute("aria-pressed", one === button);
});

// In a chat Enter sends and Shift+Enter starts a new line; the field is cleared after sending.
document.addEventListener("keydown", (event) => {
  if (!event.target.matches("[data-sends]") || event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  if (event.target.value.trim()) event.target.form.requestSubmit();
});
document.addEventListener("htmx:afterRequest", (event) => {
  if (event.detail.successful && event.detail.elt.matches("[data-clears]")) event.detail.elt.reset();
});
document.addEventListener("click", (event) => {
  const field = document.getElementById(event.target.closest("[data-fill]")?.dataset.fill);
  if (field) { field.value = event.target.textContent; field.focus(); }
});

// Open a transcript at its end and follow new messages, unless the reader has scrolled up.
const scroller = (list) => (getComputedStyle(list).overflowY === "auto" ? list : document.scrollingElement);
const below = (list) => { const all = scroller(list); return all.scrollHeight - all.scrollTop - all.clientHeight; };
let under = null; // how much stood below the window before the swap, and whether what comes goes above
function toEnd() {
  const list = document.querySelector("[data-follow]");
  if (list && !location.search.includes("message=") && !location.search.includes("reply=")) scroller(list).scrollTop = scroller(list).scrollHeight;
}
document.addEventListener("htmx:beforeSwap", (event) => {
  const list = document.querySelector("[data-follow]");
  const inside = list?.contains(event.detail.target);
  under = inside ? { list, at: below(list), above: event.detail.target.matches("[data-earlier]") } : null;
});
document.addEventListener("htmx:afterSettle", () => {
  if (!under?.list.isConnected) return;
  const all = scroller(under.list);
  if (under.above) all.scrollTop = all.scrollHeight - all.clientHeight - under.at;
  else if (under.at < 160) all.scrollTop = all.scrollHeight;
  under = null;
});
toEnd();

// A row of tabs that is wider than a phone shows the one that is open.
function showTab() {
  for (const tab of $$(".views [aria-current]")) {
    const row = tab.closest(".views");
    row.scrollLeft = tab.offsetLeft - row.offsetLeft - (row.clientWidth - tab.offsetWidth) / 2;
  }
}
document.addEventListener("htmx:afterSettle", showTab);
showTab();

// "Select all" and the number of selected rows.
document.addEventListener("change", (event) => {
  const list = event.target.closest("[data-pick]");
  if (!list) return;
  if (event.target.matches("[data-all]")) for (const box of $$("[data-one]", list)) box.checked = event.target.checked;
  const picked = $$("[data-one]:checked", list).length;
  for (const number of $$("[data-picked]", list)) number.textContent = picked;
  const all = list.querySelector("[data-all]");
  if (all) all.indeterminate = picked > 0 && picked < $$("[data-one]", list).length;
});

// Leave empty fields out of the URL of a filter form.
document.addEventListener("htmx:configRequest", (event) => {
  if (!event.target.matches("form.filters")) return;
  for (const [name, value] of [...event.detail.formData]) if (value === "") event.detail.formData.delete(name);
});

// Mark the row that the panel shows, also when only the panel was fetched.
document.addEventListener("htmx:afterSettle", () => {
  const panel = document.getElementById("panel");
  if (!panel) return;
  for (const row of $$(".list [aria-current=true]")) row.removeAttribute("aria-current");
  if (panel.dataset.for) document.getElementById(panel.dataset.for)?.setAttribute("aria-current", "true");
});

// When a swap removes the focused row, focus its neighbour instead of the top of the page.
let place = -1;
document.addEventListener("htmx:beforeSwap", () => { place = rows().indexOf(current()); });
document.addEventListener("htmx:afterSettle", (event) => {
  if (event.detail.boosted || event.detail.requestConfig?.boosted) {
    document.getElementById("main")?.focus({ preventScroll: true }); // a new page begins at its main part
    toEnd();
  } else if (place >= 0 && !current()) {
    (rows()[place] ?? rows().at(-1))?.focus({ preventScroll: true });
  }
  place = -1;
});

// When a swap removes the pressed button, focus what replaced it.
let gone = null;
document.addEventListener("htmx:beforeRequest", ({ detail }) => {
  if (detail.elt.contains(document.activeElement)) gone = document.activeElement;
});
document.addEventListener("htmx:afterSettle", () => {
  if (!gone || gone.isConnected) return;
  if (document.activeElement === document.body) ((gone.dataset.key && buttonFor(gone.dataset.key)) ?? document.getElementById("main"))?.focus({ preventScroll: true });
  gone = null;
});

// Copy the field beside the button; where the browser forbids it, the text stays selected.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  const field = button?.parentElement.querySelector("input");
  const text = field?.value ?? button?.closest("figure")?.querySelector("code").textContent;
  if (!text) return;
  field?.select();
  try { await navigator.clipboard.writeText(text); button.textContent = button.dataset.copy; } catch { /* selected */ }
});

// Copy the text that a link leads to; where the browser forbids it, follow the link.
document.addEventListener("click", async (event) => {
  const link = event.target.closest("[data-copy-from]");
  if (!link || event.defaultPrevented) return;
  event.preventDefault();
  try {
    await navigator.clipboard.writeText(await (await fetch(link.href)).text());
    toast("toast-copied");
  } catch { location.assign(link.href); }
});

// Copy the picture that a link leads to as PNG; where the browser forbids it, follow the link.
document.addEventListener("click", async (event) => {
  const link = event.target.closest("[data-copy-picture]");
  if (!link) return;
  event.preventDefault();
  try {
    const picture = Object.assign(new Image(), { src: link.href });
    await picture.decode();
    const canvas = Object.assign(document.createElement("canvas"), { width: picture.width * 2, height: picture.height * 2 });
    canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
    const blob = await new Promise((done) => canvas.toBlob(done));
    await navigator.clipboard.write([new ClipboardItem({ [blob.type]: blob })]);
    toast("toast-copied-picture");
  } catch { location.assign(link.href); }
});

// On a first visit the browser's time zone is a better guess than the server's.
for (const zones of $$("select[data-zone]")) {
  const said = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const here = JSON.parse(zones.dataset.zone)[said] ?? said;
  if ([...zones.options].some((one) => one.value === here)) zones.value = here;
}

function toast(id) {
  const template = document.getElementById(id);
  if (template) document.getElementById("toasts")?.replaceChildren(template.content.cloneNode(true));
}
document.addEventListener("htmx:sendError", () => toast("toast-lost"));
document.addEventListener("htmx:timeout", () => toast("toast-lost"));
document.addEventListener("htmx:responseError", (event) => {
  const status = event.detail.xhr.status;
  toast(status === 403 || status === 404 ? "toast-not-yours" : status === 503 ? "toast-lost" : "toast-refused");
});

// Do not refresh a part of the page while a dialog in it is open.
document.addEventListener("htmx:beforeSwap", (event) => {
  const open = modal();
  if (!open || !event.detail.target.contains(open)) return;
  event.detail.shouldSwap = false;
  open.addEventListener("close", () => htmx.trigger(document.body, "memory-changed"), { once: true });
});
document.addEventListener("htmx:afterRequest", ({ detail }) => {
  if (detail.successful && detail.requestConfig.verb === "post" && modal()?.contains(detail.elt)) modal().close(); // answered
});

// Remove the toast of an Undo that navigates away.
document.addEventListener("htmx:afterRequest", (event) => {
  if (event.detail.xhr?.getResponseHeader("HX-Location")) event.target.closest?.(".toast")?.remove();
});

// While the page is visible: the numbers of the navigation, and parts that show what is new.
// A page that is left within two seconds takes no thread of the server.
let stream, streamed, soon;
function listen() {
  const url = document.querySelector("[data-events]")?.dataset.events;
  clearTimeout(soon);
  if (document.hidden || url !== streamed) { stream?.close(); stream = streamed = undefined; }
  if (!document.hidden && !stream && url) soon = setTimeout(openStream, 2000, url);
}
function openStream(url) {
  streamed = url;
  stream = new EventSource(url);
  stream.onmessage = ({ data }) => {
    const { counts, events } = JSON.parse(data);
    for (const one of $$("[data-count]")) {
      one.textContent = counts[one.dataset.count] ?? "";
      one.hidden = !one.textContent;
    }
    if (events.length) htmx.trigger(document.body, "memory-told");
  };
}
document.addEventListener("visibilitychange", listen);
document.addEventListener("htmx:afterSettle", listen);
addEventListener("pagehide", () => stream?.close());
listen();

// Poll only while the page is visible.
document.addEventListener("htmx:beforeRequest", (event) => {
  if (document.hidden && event.detail.elt.matches("[data-live]")) event.preventDefault();
});

// Toasts disappear after a while, but not while hovered or focused.
setInterval(() => {
  for (const one of $$(".toast:not(:hover):not(:focus-within)", document.getElementById("toasts") ?? document)) {
    one.dataset.age = Number(one.dataset.age ?? 0) + 1;
    if (one.dataset.age > 9) one.remove();
  }
}, 1000);

// The number beside a slider follows it at once; the server answers a little later.
document.addEventListener("input", (event) => {
  const out = event.target.matches(".slider input") && event.target.parentElement.querySelector("output");
  if (out) out.textContent = Number(event.target.value).toLocaleString(document.documentElement.lang, {minimumFractionDigits: 2});
});

// Refuse a file that is too large before uploading it.
document.addEventListener("change", ({ target }) => {
  if (!target.dataset?.most) return;
  const tooLarge = [...target.files].some((file) => file.size > Number(target.dataset.most));
  target.setCustomValidity(tooLarge ? target.dataset.mostSaid : "");
  target.reportValidity();
});

// As an app on a phone: one page of ours stands where the browser would show its own.
const worker = document.querySelector("link[rel=manifest]")?.dataset.worker;
if (worker && matchMedia("(display-mode: standalone)").matches) navigator.serviceWorker?.register(worker).catch(() => {});

// Passkeys: ask the server what to ask the device, then send its answer with the form.
const bytes = (text) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (one) => one.charCodeAt(0));
const websafe = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer)))
  .replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
const listed = (keys) => (keys ?? []).map((key) => ({ ...key, id: bytes(key.id) }));
function answered(made) {
  const said = made.response;
  const parts = ["clientDataJSON", "attestationObject", "authenticatorData", "signature", "userHandle"];
  const response = Object.fromEntries(parts.filter((name) => said[name]).map((name) => [name, websafe(said[name])]));
  return { id: made.id, rawId: made.id, type: made.type, response, clientExtensionResults: {} };
}
async function askDevice(form) {
  const headers = { "X-CSRFToken": form.elements.csrfmiddlewaretoken.value };
  const reply = await fetch(form.dataset.options, { method: "POST", headers });
  if (!reply.ok || reply.redirected) return location.reload();
  const { publicKey } = await reply.json();
  publicKey.challenge = bytes(publicKey.challenge);
  publicKey.allowCredentials = listed(publicKey.allowCredentials);
  publicKey.excludeCredentials = listed(publicKey.excludeCredentials);
  if (publicKey.user) publicKey.user.id = bytes(publicKey.user.id);
  const made = await navigator.credentials[form.dataset.passkey]({ publicKey });
  form.elements.credential.value = JSON.stringify(answered(made));
  return form.submit();
}
document.addEventListener("submit", async (event) => {
  const form = event.target.closest("form[data-passkey]");
  if (!form || form.elements.credential.value) return;
  event.preventDefault();
  try { await askDevice(form); } catch { form.querySelector("[role=alert]").hidden = false; }
});
if (window.PublicKeyCredential) {
  document.querySelectorAll("form[data-passkey]").forEach((form) => { form.hidden = false; });
}
