// A map: the fluid model at thousands of values of two quantities, in workers.
"use strict";

const POINTS = 112; // of each quantity
const BLOCKS = [16, 8, 4, 2, 1]; // points between two that are simulated; finer and finer
const BATCH = 60; // ms of work that a worker gets at a time
const WORKERS = Math.max(1, Math.min(8, (navigator.hardwareConcurrency ?? 2) - 1));
const COLOURED = {
  share: { label: "share of throughput", shown: (x) => `${(100 * x).toFixed(0)} %` },
  queue: { label: "mean queue", shown: (x) => `${shown(x)} packets` },
  utilization: { label: "utilization", shown: (x) => `${(100 * x).toFixed(1)} %` },
};

class ParameterMap {
  /** The sliders that can be axes, of a page with two flows; else none. */
  static axes(config) {
    const flows = config.flows.filter((flow) => flow.controller !== null);
    return flows.length === 2 ? config.sliders.filter((s) => config.controls.includes(s.name)) : [];
  }

  constructor(page) {
    this.page = page;
    this.canvas = $("map-canvas");
    this.workers = [];
    this.job = 0;
    this.busy = false;
    this.values = null;
    const { config } = page, axes = ParameterMap.axes(config);
    const options = (list) => list.map((s) => element("option", { value: s.name }, s.label));
    $("map-x").append(...options(axes));
    $("map-y").append(...options(axes));
    $("map-of").append(...Object.entries(COLOURED).map(([value, { label }]) => element("option", { value }, label)));
    const names = axes.map((s) => s.name), liked = ["buffer", "delay", "rate", "loss"].filter((name) => names.includes(name));
    [$("map-x").value, $("map-y").value] = liked;
    for (const [mine, other] of [["map-x", "map-y"], ["map-y", "map-x"]])
      $(mine).addEventListener("change", () => {
        if ($(mine).value === $(other).value) $(other).value = names.find((name) => name !== $(mine).value);
        this.update();
      });
    $("map-of").addEventListener("change", () => this.draw());
    $("map").hidden = false;
    $("map").addEventListener("toggle", () => this.update());
    this.canvas.addEventListener("pointermove", (event) => { this.pointer = this.at(event); this.read(); });
    this.canvas.addEventListener("pointerleave", () => { this.pointer = null; this.read(); });
    this.canvas.addEventListener("click", (event) => this.choose(this.at(event)));
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }

  axis(id) { return this.page.config.sliders.find((s) => s.name === $(id).value); }

  /** Simulate again if something else than the two quantities has changed, and draw. */
  update() {
    if (!$("map").open) return;
    const { settings } = this.page, x = this.axis("map-x"), y = this.axis("map-y");
    const others = { ...settings, values: { ...settings.values, [x.name]: null, [y.name]: null }, fluid: null, rate: null };
    const key = JSON.stringify([others, x.name, y.name]);
    if (key !== this.key) {
      this.key = key;
      this.begin(x, y);
    }
    this.draw();
  }

  begin(x, y) {
    this.job += 1;
    this.settings = structuredClone(this.page.settings);
    this.fresh = new Map();
    this.left = [];
    const values = (s) => Array.from({ length: POINTS }, (_, k) => valueAt(s, (k + 0.5) / POINTS));
    const [across, up] = [values(x), values(y)];
    BLOCKS.forEach((block, level) => {
      const before = BLOCKS[level - 1] ?? Infinity;
      for (let j = POINTS - block; j >= 0; j -= block)
        for (let i = 0; i < POINTS; i += block)
          if (i % before || j % before || !level) this.left.push({ index: j * POINTS + i, values: { [x.name]: across[i], [y.name]: up[j] } });
    });
    this.busy = true;
    this.first = (POINTS / BLOCKS[0]) ** 2;
    if (!this.workers.length) this.hire();
    for (const worker of this.workers) if (worker.idle) this.give(worker);
  }

  hire() {
    const address = URL.createObjectURL(new Blob([$("models").textContent, "serve();"], { type: "text/javascript" }));
    const { parts } = this.page.fluid;
    for (let k = 0; k < WORKERS; k++) {
      const worker = new Worker(address);
      worker.postMessage({ parts });
      worker.onmessage = ({ data }) => this.take(worker, data);
      worker.onerror = (event) => {
        event.preventDefault();
        $("map-at").textContent = `This browser does not run the map: ${event.message ?? "no workers"}`;
      };
      this.workers.push(Object.assign(worker, { idle: true, size: 1 }));
    }
  }

  give(worker) {
    worker.idle = !this.left.length;
    if (!worker.idle) worker.postMessage({ job: this.job, settings: this.settings, points: this.left.splice(0, worker.size) });
  }

  take(worker, { job, found, ms }) {
    worker.size = Math.max(1, Math.min(256, Math.round((found.length * BATCH) / Math.max(ms, 1))));
    if (job === this.job) {
      for (const { index, values } of found) this.fresh.set(index, values);
      if (this.fresh.size >= this.first) this.values = this.fresh; // until then the picture before stays
    }
    this.give(worker);
    this.busy = this.left.length > 0 || this.workers.some((each) => !each.idle);
    this.frame ??= requestAnimationFrame(() => { this.frame = null; this.draw(); });
  }

  // ------------------------------------------------------------------------------ output

  /** The result at a point, or at the nearest coarser one. */
  near(i, j) {
    for (const block of [...BLOCKS].reverse()) {
      const found = this.values?.get((j - (j % block)) * POINTS + i - (i % block));
      if (found) return found;
    }
    return {};
  }

  at(event) {
    const { left, right, top, bottom } = MAP_MARGIN, { clientWidth, clientHeight } = this.canvas;
    const inside = (x) => Math.min(Math.max(x, 0), 1);
    return [inside((event.offsetX - left) / (clientWidth - left - right)), inside(1 - (event.offsetY - top) / (clientHeight - top - bottom))];
  }

  /** Take the two values of a place of the map. */
  choose([u, v]) {
    const { settings } = this.page;
    for (const [id, p] of [["map-x", u], ["map-y", v]]) settings.values[this.axis(id).name] = valueAt(this.axis(id), p);
    this.page.take(settings);
  }

  draw() {
    if (!$("map").open || !this.page.flowLooks) return;
    const { canvas } = this, of = $("map-of").value;
    const { c, wide, high, ink } = prepared(canvas);
    const { left, right, top, bottom } = MAP_MARGIN, across = wide - left - right, up = high - top - bottom;
    const [low, high_] = this.range(of), colours = this.colours(of, ink("--paper"), ink("--own"));
    const picture = this.picture ??= element("canvas", { width: POINTS, height: POINTS }), pen = picture.getContext("2d");
    const image = pen.createImageData(POINTS, POINTS);
    for (let j = 0; j < POINTS; j++)
      for (let i = 0; i < POINTS; i++) {
        const x = this.near(i, j)[of], at = 4 * ((POINTS - 1 - j) * POINTS + i);
        if (Number.isFinite(x)) image.data.set([...blend(colours, (x - low) / (high_ - low || 1)), 255], at);
      }
    pen.putImageData(image, 0, 0);
    c.imageSmoothingEnabled = false;
    c.drawImage(picture, left, top, across, up);
    c.strokeStyle = ink("--soft");
    c.strokeRect(left + 0.5, top + 0.5, across - 1, up - 1);
    this.labels(c, across, up, high, ink);
    this.scale(c, wide, up, colours, [low, high_], of, ink);
    const { values } = this.page.settings, [u, v] = ["map-x", "map-y"].map((id) => position(this.axis(id), values[this.axis(id).name]));
    const [x, y] = [left + u * across, top + (1 - v) * up];
    for (const [colour, width] of [[ink("--paper"), 5], [ink("--ink"), 2]]) {
      c.strokeStyle = colour;
      c.lineWidth = width;
      c.beginPath();
      c.arc(x, y, 7, 0, 2 * Math.PI);
      c.stroke();
    }
    this.read();
  }

  labels(c, across, up, high, ink) {
    const { left, top } = MAP_MARGIN, x = this.axis("map-x"), y = this.axis("map-y");
    c.fillStyle = ink("--soft");
    const marks = across < 300 ? [0, 0.5, 1] : [0, 0.25, 0.5, 0.75, 1];
    for (const p of marks) {
      c.textAlign = p === 0 ? "left" : p === 1 ? "right" : "center";
      c.fillText(shown(valueAt(x, p)), left + p * across, high - 20);
      c.textAlign = "right";
      c.textBaseline = p === 0 ? "alphabetic" : p === 1 ? "top" : "middle";
      c.fillText(shown(valueAt(y, p)), left - 6, top + (1 - p) * up);
      c.textBaseline = "alphabetic";
    }
    c.fillStyle = ink("--ink");
    c.textAlign = "center";
    c.fillText(`${x.label} (${x.unit})`, left + across / 2, high - 4);
    c.save();
    c.translate(12, top + up / 2);
    c.rotate(-Math.PI / 2);
    c.fillText(`${y.label} (${y.unit})`, 0, 0);
    c.restore();
  }

  /** The colour scale on the right. */
  scale(c, wide, up, colours, [low, high], of, ink) {
    const { top } = MAP_MARGIN, x = wide - 62;
    for (let k = 0; k < up; k++) {
      c.fillStyle = `rgb(${blend(colours, 1 - k / up).join(",")})`;
      c.fillRect(x, top + k, 12, 1.5);
    }
    c.fillStyle = ink("--soft");
    c.textAlign = "left";
    const text = (value) => COLOURED[of].shown(value).split(" packets")[0];
    const [first, second] = this.flows(), told = of === "share" ? [first.name, "equal", second.name] : [high, (low + high) / 2, low].map(text);
    told.forEach((line, k) => c.fillText(line, x + 17, [top + 10, top + up / 2 + 4, top + up][k], 43));
  }

  /** The values of the lowest and the highest colour. */
  range(of) {
    if (of === "share") return [0, 1];
    const known = [...(this.values?.values() ?? [])].map((found) => found[of]).filter(Number.isFinite);
    return known.length ? [Math.min(...known), Math.max(...known)] : [0, 1];
  }

  /** Names and colours of the two flows. */
  flows() { return this.page.flowLooks.filter((_, i) => this.page.config.flows[i].controller !== null); }

  /** Shares have the colours of the two flows, others that of the page. */
  colours(of, paper, own) {
    const [first, second] = this.flows();
    const list = of === "share" ? [second.fluid.colour, paper, first.fluid.colour] : [paper, own];
    return list.map((text) => text.length === 4 ? [...text.slice(1)].map((x) => parseInt(x + x, 16)) : [1, 3, 5].map((k) => parseInt(text.slice(k, k + 2), 16)));
  }

  read() {
    const { settings } = this.page, x = this.axis("map-x"), y = this.axis("map-y");
    const here = [x, y].map((s) => position(s, settings.values[s.name])), [u, v] = this.pointer ?? here;
    const cell = (p) => Math.min(Math.floor(p * POINTS), POINTS - 1), found = this.near(cell(u), cell(v));
    const place = [[x, u, here[0]], [y, v, here[1]]].map(([s, p, own]) =>
      `${s.label.toLowerCase()} ${p === own ? settings.values[s.name] : valueAt(s, p)} ${s.unit}`).join(", ");
    const told = found.share === undefined ? "" :
      `${this.flows()[0].name} has ${COLOURED.share.shown(found.share)} of the throughput; mean queue ${COLOURED.queue.shown(found.queue)}; utilization ${COLOURED.utilization.shown(found.utilization)}. `;
    const count = this.fresh?.size ?? 0, total = POINTS ** 2;
    $("map-at").textContent = `At ${place}: ${told}${count < total ? `${count} of ${total} points.` : ""}`;
    const [low, high] = this.range($("map-of").value);
    this.canvas.setAttribute("aria-label", `${COLOURED[$("map-of").value].label} over ${x.label} and ${y.label}, from ${shown(low)} to ${shown(high)}; the sliders move the marked place`);
  }
}

const MAP_MARGIN = { left: 66, right: 74, top: 8, bottom: 36 };

/** A colour between several. */
function blend(colours, share) {
  const at = Math.min(Math.max(share, 0), 1) * (colours.length - 1), k = Math.min(Math.floor(at), colours.length - 2);
  return colours[k].map((x, n) => Math.round(x + (colours[k + 1][n] - x) * (at - k)));
}
