// The memory map: zoom, drag, and what the dot under the pointer says. Without it the map is a picture.
const SIDE = 1000;
const DEEPEST = 40; // at most so many times nearer

function start(box) {
  if (box.dataset.ready) return;
  box.dataset.ready = "yes";
  const svg = box.querySelector("svg");
  const tip = box.querySelector("[data-tip]");
  const ring = box.querySelector("[data-ring]");
  let points = [];
  let view = { x: 0, y: 0, size: SIDE };
  let near = null;

  fetch(box.dataset.points, { headers: { Accept: "application/json" } })
    .then((got) => (got.ok ? got.json() : { points: [] }))
    .then((got) => { points = got.points; box.dataset.loaded = points.length; })
    .catch(() => {});

  function show() {
    view.size = Math.min(SIDE, Math.max(SIDE / DEEPEST, view.size));
    view.x = Math.min(SIDE - view.size, Math.max(0, view.x));
    view.y = Math.min(SIDE - view.size, Math.max(0, view.y));
    svg.setAttribute("viewBox", `${view.x} ${view.y} ${view.size} ${view.size}`);
  }

  function zoom(by, at = { x: view.x + view.size / 2, y: view.y + view.size / 2 }) {
    const size = Math.min(SIDE, Math.max(SIDE / DEEPEST, view.size * by));
    const share = size / view.size;
    view = { x: at.x - (at.x - view.x) * share, y: at.y - (at.y - view.y) * share, size };
    show();
  }

  function spot(event) {
    const place = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    return { x: place.x, y: place.y };
  }

  function nearest(at) {
    const reach = 14 * (view.size / svg.getBoundingClientRect().width);
    let best = null;
    let least = reach * reach;
    for (const point of points) {
      const far = (point[0] - at.x) ** 2 + (point[1] - at.y) ** 2;
      if (far < least) { least = far; best = point; }
    }
    return best;
  }

  function point(at) {
    near = nearest(at);
    svg.classList.toggle("over", Boolean(near));
    ring.setAttribute("d", near ? `M${near[0]} ${near[1]}h0` : "");
    tip.textContent = near ? `${near[2]} · ${near[3]}` : tip.dataset.tip;
  }

  let from = null; // where a drag began
  let moved = false;
  svg.addEventListener("wheel", (event) => { event.preventDefault(); zoom(event.deltaY > 0 ? 1.25 : 0.8, spot(event)); }, { passive: false });
  svg.addEventListener("pointerdown", (event) => { from = event.pointerType === "mouse" ? spot(event) : null; moved = false; });
  svg.addEventListener("pointermove", (event) => {
    const at = spot(event);
    if (from && event.buttons) {
      moved ||= Math.hypot(at.x - from.x, at.y - from.y) > view.size / 200;
      view.x += from.x - at.x;
      view.y += from.y - at.y;
      show();
    } else point(at);
  });
  svg.addEventListener("pointerleave", () => { from = null; });
  svg.addEventListener("click", (event) => {
    if (moved) return;
    point(spot(event));
    if (near?.[4]) location.assign(near[4]);
  });
  for (const button of box.querySelectorAll("[data-zoom]")) {
    button.hidden = false;
    button.addEventListener("click", () => {
      if (button.dataset.zoom === "all") { view = { x: 0, y: 0, size: SIDE }; show(); } else zoom(Number(button.dataset.zoom));
    });
  }
}

function startAll() { for (const box of document.querySelectorAll("[data-map]")) start(box); }
startAll();
document.addEventListener("htmx:afterSettle", startAll);
