// The memory map: zoom, drag, keys, what a dot says, and the weeks played. Without it the map is a picture.
const DEEPEST = 40; // at most so many times nearer
const PLAYED = 10_000; // milliseconds for all of it

function start(box) {
  if (box.dataset.ready) return;
  box.dataset.ready = "yes";
  const svg = box.querySelector("svg");
  const tip = box.querySelector("[data-tip]");
  const ring = box.querySelector("[data-ring]");
  const until = box.querySelector("[data-until]");
  const [, , WIDTH, HEIGHT] = svg.getAttribute("viewBox").split(" ").map(Number);
  const all = { x: 0, y: 0, near: 1 };
  let points = [];
  let view = { ...all };
  let here = null; // the dot that is read

  fetch(box.dataset.points, { headers: { Accept: "application/json" } })
    .then((got) => (got.ok ? got.json() : { points: [] }))
    .then((got) => { points = got.points; box.dataset.loaded = points.length; box.querySelector("[data-player]").inert = !points.length; })
    .catch(() => {});

  function show() {
    view.x = Math.min(WIDTH * (1 - view.near), Math.max(0, view.x));
    view.y = Math.min(HEIGHT * (1 - view.near), Math.max(0, view.y));
    svg.setAttribute("viewBox", `${view.x} ${view.y} ${WIDTH * view.near} ${HEIGHT * view.near}`);
    svg.style.setProperty("--near", view.near);
    svg.style.touchAction = view.near < 1 ? "none" : "pan-y";
    read(here);
  }

  function zoom(by, at = { x: view.x + WIDTH * view.near / 2, y: view.y + HEIGHT * view.near / 2 }) {
    const near = Math.min(1, Math.max(1 / DEEPEST, view.near * by));
    const share = near / view.near;
    view = { x: at.x - (at.x - view.x) * share, y: at.y - (at.y - view.y) * share, near };
    show();
  }

  function spot(event) {
    return new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
  }

  // Of the dots that are drawn, the one with the least cost; none when every cost is infinite.
  function best(cost) {
    const drawn = points.filter((point) => point[7] <= (box.until ?? Infinity));
    return drawn.reduce((least, point) => (cost(point) < (least ? cost(least) : Infinity) ? point : least), null);
  }
  const far = (point, at) => Math.hypot(point[0] - at.x, point[1] - at.y);

  function under(at) {
    const reach = 14 * WIDTH * view.near / svg.getBoundingClientRect().width;
    return best((point) => (far(point, at) < reach ? far(point, at) : Infinity));
  }

  function read(point) {
    here = point;
    svg.classList.toggle("over", Boolean(point));
    ring.setAttribute("d", point ? `M${point[0]} ${point[1]}h0` : "");
    tip.hidden = !point;
    if (!point) return;
    tip.textContent = `${point[3]} (${point[2]})`;
    const at = new DOMPoint(point[0], point[1]).matrixTransform(svg.getScreenCTM());
    const frame = svg.getBoundingClientRect();
    tip.style.left = `${Math.max(0, Math.min(frame.width - tip.offsetWidth, at.x - frame.left + 12))}px`;
    tip.style.top = `${Math.max(0, Math.min(frame.height - tip.offsetHeight, at.y - frame.top + 12))}px`;
  }

  // The next dot that way: straight ahead counts more than to the side.
  function step(x, y) {
    if (!here) return read(best((point) => far(point, { x: view.x + WIDTH * view.near / 2, y: view.y + HEIGHT * view.near / 2 })));
    const from = here;
    const next = best((point) => {
      const ahead = (point[0] - from[0]) * x + (point[1] - from[1]) * y;
      const aside = Math.abs((point[0] - from[0]) * y - (point[1] - from[1]) * x);
      return ahead > 0.5 && aside <= ahead * 2 ? ahead + 2 * aside : Infinity;
    });
    if (next) read(next);
  }

  const KEYS = {
    ArrowLeft: () => step(-1, 0), ArrowRight: () => step(1, 0), ArrowUp: () => step(0, -1), ArrowDown: () => step(0, 1),
    "+": () => zoom(0.6), "-": () => zoom(1.6), 0: () => { view = { ...all }; show(); },
    Enter: () => here?.[4] && location.assign(here[4]), Escape: () => read(null),
  };
  svg.tabIndex = 0;
  show();
  svg.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !KEYS[event.key]) return;
    event.preventDefault();
    KEYS[event.key]();
  });

  // A mouse drags. A finger does so once the map is nearer, before that it scrolls the page; two fingers zoom.
  let from = null; // where a drag began
  let moved = false;
  const fingers = new Map();
  function pinch() {
    const [one, other] = [...fingers.values()];
    return { wide: Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY),
      at: spot({ clientX: (one.clientX + other.clientX) / 2, clientY: (one.clientY + other.clientY) / 2 }) };
  }
  function lift(event) {
    fingers.delete(event.pointerId);
    from = null;
  }
  svg.addEventListener("wheel", (event) => { event.preventDefault(); zoom(event.deltaY > 0 ? 1.25 : 0.8, spot(event)); }, { passive: false });
  svg.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "touch") fingers.set(event.pointerId, event);
    from = event.pointerType === "mouse" || view.near < 1 ? spot(event) : null;
    moved = fingers.size > 1;
  });
  svg.addEventListener("pointermove", (event) => {
    const at = spot(event);
    if (fingers.size === 2 && fingers.has(event.pointerId)) {
      const before = pinch();
      fingers.set(event.pointerId, event);
      zoom(before.wide / pinch().wide, before.at);
    } else if (from && event.buttons) {
      moved ||= Math.hypot(at.x - from.x, at.y - from.y) > WIDTH * view.near / 200;
      view.x += from.x - at.x;
      view.y += from.y - at.y;
      show();
    } else read(under(at));
  });
  for (const end of ["pointerup", "pointercancel", "pointerleave"]) svg.addEventListener(end, lift);
  svg.addEventListener("click", (event) => {
    if (moved) return;
    read(under(spot(event)));
    if (here?.[4]) location.assign(here[4]);
  });
  for (const button of box.querySelectorAll("[data-zoom]")) {
    button.hidden = false;
    button.addEventListener("click", () => (button.dataset.zoom === "all" ? KEYS[0]() : zoom(Number(button.dataset.zoom))));
  }

  // Draw what was known by then; the day stands beside the slider.
  function draw() {
    const days = points.map((point) => point[7]);
    const first = Math.min(...days);
    box.until = first + (Math.max(...days) - first) * until.value / 100;
    const paths = {};
    for (const [x, y, , , , tone, size, at] of points) if (at <= box.until) paths[`${tone} s${size}`] = `${paths[`${tone} s${size}`] ?? ""}M${x} ${y}h0`;
    for (const path of svg.querySelectorAll("[data-dots] path")) path.setAttribute("d", paths[path.getAttribute("class")] ?? "");
    box.querySelector("[data-day]").textContent = new Date(box.until * 1000).toLocaleDateString(document.documentElement.lang, { day: "numeric", month: "short" });
    if (here && here[7] > box.until) read(null);
  }
  until.addEventListener("input", draw);
  box.querySelector("[data-play]").addEventListener("click", () => {
    const began = performance.now();
    (function tick(now) {
      until.value = Math.min(100, (now - began) / PLAYED * 100);
      draw();
      if (now - began < PLAYED && box.isConnected) requestAnimationFrame(tick);
    })(began);
  });
}

function startAll() { for (const box of document.querySelectorAll("[data-map]")) start(box); }
startAll();
document.addEventListener("htmx:afterSettle", startAll);
