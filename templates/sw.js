{% load static %}// Shows one page when Keno cannot be reached. Pages and memory are never kept.
const KEPT = "keno-offline-1";
const PAGE = "{% url "offline" %}";
const FILES = [PAGE, "{% static "css/tokens.css" %}", "{% static "css/base.css" %}", "{% static "css/layout.css" %}",
  "{% static "css/controls.css" %}", "{% static "css/states.css" %}", "{% static "keno-mark.svg" %}"];
self.addEventListener("install", (event) => {
  event.waitUntil(caches.open(KEPT).then((kept) => kept.addAll(FILES)).then(() => self.skipWaiting()));
});
self.addEventListener("fetch", (event) => {
  if (event.request.mode === "navigate") event.respondWith(fetch(event.request).catch(() => caches.match(PAGE)));
  else if (FILES.includes(new URL(event.request.url).pathname)) {
    event.respondWith(fetch(event.request).catch(() => caches.match(event.request)));
  }
});
