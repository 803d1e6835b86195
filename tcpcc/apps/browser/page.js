// The page: controls, the loop that simulates and draws, numbers.
"use strict";

const SPEEDS = [1, 2, 5, 10, 20, 50, 100, Infinity]; // simulated seconds per second
const FEW = 3; // controls; so few are above the curves
const LIVE = 10; // s; a run takes about this long at the initial speed
const QUIET = 200; // ms after a change of a setting in which the old curves stay
const PATIENCE = 12; // ms of simulation between two pictures
const DASHED = [5, 3]; // the fluid model; the packet model is solid
const SPARE = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"];

const INSIDE = location.protocol === "about:"; // of another document, such as a notebook

const $ = (id) => document.getElementById(id);

/** An element with attributes and children. */
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes))
    if (key in made && key !== "list" && key !== "for") made[key] = value;
    else made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** Where a value is on a slider, from 0 to 1; and the value at a position, rounded. */
function position(s, x) {
  return s.log ? Math.log(x / s.low) / Math.log(s.high / s.low) : (x - s.low) / (s.high - s.low);
}

function valueAt(s, p) {
  const x = s.log ? s.low * (s.high / s.low) ** p : s.low + (s.high - s.low) * p;
  const step = s.step || 10 ** (Math.floor(Math.log10(Math.max(Math.abs(x), s.high / 1e4))) - 2);
  return Number((Math.round(x / step) * step).toPrecision(12));
}

class Page {
  /** @param simulation the packet model  @param fluid the fluid model, or null */
  constructor(simulation, fluid) {
    this.simulation = simulation;
    this.fluid = fluid;
    this.config = simulation.config;
    this.few = new URLSearchParams(location.hash.slice(1)).get("show")?.split(",");
    this.start = this.defaults();
    this.settings = this.fromLink();
    this.cursor = null;
    this.charts = ["windows", "rates", "queue"].map(
      (id) => new Chart($(id), (time) => { this.cursor = time; this.draw(); }));
    $("settings").addEventListener("submit", (event) => event.preventDefault());
    this.buildSettings();
    this.buildRun();
    this.map = fluid && !this.few && ParameterMap.axes(this.config).length > 1 ? new ParameterMap(this) : null;
    document.querySelector("header").hidden = Boolean(this.few);
    if ($("settings").querySelectorAll(".control:not(.parameter)").length <= FEW) {
      document.body.classList.add("few");
      $("run").after($("settings"));
    }
    new ResizeObserver(() => this.draw()).observe($("charts"));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { this.draw(); this.map?.draw(); });
    window.addEventListener("hashchange", () => this.take(this.fromLink()));
    this.restart();
  }

  /** Whether the page shows a control; `show` in the address names those of a small page. */
  has(control) { return this.config.controls.includes(control) && (!this.few || this.few.includes(control)); }

  // --------------------------------------------------------------------------- settings

  defaults() {
    const { config } = this;
    return {
      queue: 0,
      controllers: config.flows.map((flow) => flow.controller),
      starts: config.flows.map((flow) => flow.start),
      values: Object.fromEntries(config.sliders.map((s) => [s.name, s.value])),
      params: Object.fromEntries(config.queues.map(
        (queue) => [queue.name, Object.fromEntries(queue.params.map((p) => [p.name, p.value]))])),
      seed: config.seed,
      fluid: Boolean(config.fluid),
      after: Math.max(...config.flows.map((flow) => flow.start)),
    };
  }

  /** The settings of the address: those that differ from the page's own. */
  fromLink() {
    const settings = structuredClone(this.start), { config } = this;
    const number = (text, low, high) => {
      const x = Number(text);
      return text !== "" && Number.isFinite(x) ? Math.min(Math.max(x, low), high) : null;
    };
    const put = (owner, key, x) => { if (x !== null) owner[key] = x; };
    for (const [key, text] of new URLSearchParams(location.hash.slice(1))) {
      const [name, part] = key.split(".");
      const slider = config.sliders.find((s) => s.name === key);
      const place = (list) => { const k = list.findIndex((x) => x.name === text); return k < 0 ? null : k; };
      if (slider) put(settings.values, key, number(text, slider.low, slider.high));
      else if (key === "queue") put(settings, "queue", place(config.queues));
      else if (key === "seed") put(settings, "seed", number(text, 0, 2 ** 53 - 1));
      else if (key === "fluid") settings.fluid = settings.fluid && text !== "0";
      else if (key === "after") put(settings, "after", number(text, 0, config.duration));
      else if (name === "flow" && config.packet.senders[part - 1]?.[place(config.controllers)]) settings.controllers[part - 1] = place(config.controllers);
      else if (name === "start" && config.flows[part - 1]?.controller != null) put(settings.starts, part - 1, number(text, 0, this.latest()));
      else {
        const param = config.queues.find((q) => q.name === name)?.params.find((p) => p.name === part);
        if (param) put(settings.params[name], part, number(text, param.low, param.high));
      }
    }
    settings.seed = Math.round(settings.seed);
    return settings;
  }

  link() {
    const { config, settings, start } = this, found = new URLSearchParams();
    for (const s of config.sliders)
      if (settings.values[s.name] !== s.value) found.set(s.name, settings.values[s.name]);
    if (settings.queue !== start.queue) found.set("queue", config.queues[settings.queue].name);
    for (const p of config.queues[settings.queue].params) {
      const queue = config.queues[settings.queue].name;
      if (settings.params[queue][p.name] !== p.value) found.set(`${queue}.${p.name}`, settings.params[queue][p.name]);
    }
    settings.controllers.forEach((c, i) => { if (c !== start.controllers[i]) found.set(`flow.${i + 1}`, config.controllers[c].name); });
    settings.starts.forEach((x, i) => { if (x !== start.starts[i]) found.set(`start.${i + 1}`, x); });
    for (const key of ["seed", "after"]) if (settings[key] !== start[key]) found.set(key, settings[key]);
    if (settings.fluid !== start.fluid) found.set("fluid", Number(settings.fluid));
    if (this.few) found.set("show", this.few.join(","));
    return found.toString();
  }

  latest() { return this.config.duration * 0.95; }

  /** The name of a flow: its own, or that of its controller with its number. */
  flowName(i, space = " ") {
    const c = this.settings.controllers[i], { flows, controllers } = this.config;
    if (flows[i].named && c === this.start.controllers[i]) return flows[i].name;
    return controllers[c].name + (flows.length > 1 ? space + (i + 1) : "");
  }

  /** Take other settings, and show them. */
  take(settings) {
    Object.assign(this.settings, settings);
    $("settings").replaceChildren();
    this.buildSettings();
    $("after").value = settings.after;
    $("fluid").checked = settings.fluid;
    this.changed();
  }

  /** Put the settings into the address; a page inside a notebook has none. */
  note() {
    if (INSIDE) return;
    const text = this.link();
    if (text !== location.hash.slice(1)) history.replaceState(null, "", "#" + text);
  }

  changed() {
    this.note();
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.restart(true), 40);
  }

  buildSettings() {
    const { config, settings } = this, form = $("settings");
    const group = (title, ...parts) => parts.length && form.append(element("fieldset", {}, element("legend", {}, title), ...parts));
    const link = config.sliders.filter((s) => this.has(s.name)).map((s) => this.slider(s, settings.values, s.name));
    if (this.has("queue")) link.push(this.queueChoice());
    group("Bottleneck", ...link);
    const flows = [];
    config.flows.forEach((flow, i) => {
      if (flow.controller === null) return;
      if (this.has("controllers")) flows.push(this.controllerChoice(i));
      if (this.has("starts"))
        flows.push(this.slider({
          name: `start-${i}`, label: `Start of flow ${i + 1}`, unit: "s", value: flow.start, low: 0,
          high: this.latest(), log: false, step: 0,
        }, settings.starts, i));
    });
    group("Flows", ...flows);
    const rest = [];
    if (this.has("seed"))
      rest.push(this.field({ name: "seed", label: "Seed of random numbers", unit: "", value: config.seed, low: 0, high: 2 ** 31, step: 1, help: "" }, settings, "seed"));
    const reset = element("button", { type: "button" }, "Reset all");
    reset.addEventListener("click", () => {
      this.take(this.defaults());
      $("settings").querySelector("button").focus();
    });
    group("Run", ...rest, element("p", {}, reset));
  }

  /** A slider and a field for the same number; each arrow key leads to the next rounded value. */
  slider(s, owner, key) {
    const inside = (x) => Math.min(Math.max(x, s.low), s.high);
    const fine = s.log ? 200 : 1000;
    const values = [...new Set(Array.from({ length: fine + 1 }, (_, k) => inside(valueAt(s, k / fine))))];
    const range = element("input", { type: "range", min: 0, max: values.length - 1, step: 1, id: `${s.name}-range` });
    const number = element("input", { type: "number", min: s.low, max: s.high, step: "any", id: s.name, "aria-label": `${s.label}, ${s.unit}` });
    const show = () => {
      range.value = values.filter((x) => x < owner[key]).length;
      number.value = owner[key];
      range.setAttribute("aria-valuetext", `${owner[key]} ${s.unit}`);
    };
    const put = (x) => { owner[key] = inside(x); show(); this.changed(); };
    range.addEventListener("input", () => put(values[range.value]));
    number.addEventListener("change", () => put(number.value === "" ? s.value : number.valueAsNumber));
    show();
    return element("div", { className: "control" }, element("label", { for: range.id }, s.label), range, number, element("span", { className: "unit" }, s.unit));
  }

  /** A field for a number, or a box for what is true or false. */
  field(p, owner, key) {
    const flag = p.unit === "true or false";
    const input = flag
      ? element("input", { type: "checkbox", id: p.name, checked: owner[key] !== 0 })
      : element("input", { type: "number", id: p.name, min: p.low, max: p.high, step: p.step || "any", value: owner[key] });
    if (p.help) input.setAttribute("aria-description", p.help);
    input.addEventListener("change", () => {
      const x = flag ? Number(input.checked) : input.value === "" ? p.value : Math.min(Math.max(input.valueAsNumber, p.low), p.high);
      owner[key] = x;
      if (!flag) input.value = x;
      this.changed();
    });
    return element("div", { className: "control parameter" }, element("label", { for: p.name, title: p.help }, p.label), input, element("span", { className: "unit" }, flag ? "" : p.unit));
  }

  queueChoice() {
    const { config, settings } = this;
    const choice = element("select", { id: "queue-choice" }, ...config.queues.map((q, k) => element("option", { value: k }, q.name)));
    const details = element("details"), box = element("div", { className: "control" },
      element("label", { for: "queue-choice" }, "Queue discipline"), choice);
    const show = () => {
      const queue = config.queues[settings.queue];
      choice.value = settings.queue;
      details.hidden = !queue.params.length;
      details.replaceChildren(element("summary", {}, `Parameters of ${queue.name}`),
        ...queue.params.map((p) => this.field(p, settings.params[queue.name], p.name)));
    };
    choice.addEventListener("change", () => { settings.queue = Number(choice.value); show(); this.changed(); });
    show();
    return element("div", {}, ...(config.queues.length > 1 ? [box] : []), details);
  }

  controllerChoice(i) {
    const { config, settings } = this, id = `controller-${i}`;
    const choice = element("select", { id }, ...config.controllers.flatMap(
      (c, k) => (config.packet.senders[i][k] ? [element("option", { value: k }, c.name)] : [])));
    choice.value = settings.controllers[i];
    choice.addEventListener("change", () => { settings.controllers[i] = Number(choice.value); this.changed(); });
    return element("div", { className: "control flow" }, element("label", { for: id }, `Flow ${i + 1}`), choice);
  }

  buildRun() {
    const { config, settings } = this, still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const speed = $("speed");
    for (const x of SPEEDS) speed.append(element("option", { value: x }, Number.isFinite(x) ? `${x}×` : "fastest"));
    const wanted = config.duration / LIVE;
    speed.value = String(still ? Infinity : SPEEDS.find((x) => x >= wanted));
    $("fluid").parentElement.hidden = !config.fluid;
    $("fluid").checked = settings.fluid;
    $("fluid").addEventListener("change", () => { settings.fluid = $("fluid").checked; this.changed(); });
    $("pause").addEventListener("click", () => {
      if (this.done) this.restart();
      else this.pause(!this.paused);
      if (this.paused && this.record) this.tell();
    });
    $("restart").addEventListener("click", () => this.restart());
    $("cursor").addEventListener("input", () => {
      this.cursor = (Number($("cursor").value) / 1000) * config.duration;
      this.draw();
    });
    $("after").max = config.duration;
    $("after").value = settings.after;
    $("after").addEventListener("change", () => {
      settings.after = Math.min(Math.max($("after").valueAsNumber || 0, 0), config.duration);
      $("after").value = settings.after;
      this.note();
      this.measure();
      this.map?.update();
    });
    $("csv").addEventListener("click", () => {
      const names = config.flows.map((flow, i) => (flow.controller === null ? flow.name : this.flowName(i, "")));
      const address = URL.createObjectURL(new Blob([this.record.csv(names)], { type: "text/csv" }));
      element("a", { href: address, download: "tcpcc.csv" }).click();
      setTimeout(() => URL.revokeObjectURL(address), 1e4);
    });
    $("share").hidden = INSIDE;
    $("share").addEventListener("click", async () => {
      this.note();
      try {
        await navigator.clipboard.writeText(location.href);
        $("copied").textContent = "Copied.";
      } catch {
        $("copied").textContent = "The address of this page now holds the settings.";
      }
    });
  }

  // -------------------------------------------------------------------------------- run

  /** Begin again: at the chosen speed, or as fast as possible after a change of a setting. */
  restart(fast = false) {
    const { settings, config } = this;
    this.fast = fast;
    this.quiet = fast ? performance.now() + QUIET : 0;
    $("failure").hidden = true;
    settings.rate = rateOf(settings);
    this.map?.update();
    this.simulation.begin(settings);
    if (settings.fluid) this.fluid.begin(settings);
    this.clock = 0;
    this.done = false;
    this.pause(false);
  }

  pause(paused) {
    this.paused = paused;
    $("pause").textContent = this.done ? "Run again" : paused ? "Continue" : "Pause";
    cancelAnimationFrame(this.frame);
    this.before = null;
    if (!paused) this.frame = requestAnimationFrame((now) => this.step(now));
  }

  step(now) {
    const { config, simulation, fluid, settings } = this, speed = this.fast ? Infinity : Number($("speed").value);
    const passed = this.before === null ? 0 : Math.min(now - this.before, 100) / 1e3;
    this.before = now;
    const until = Math.min(Number.isFinite(speed) ? this.clock + passed * speed : config.duration, config.duration);
    try {
      if (settings.fluid && this.fast) fluid.advance(until, PATIENCE / 2);
      simulation.advance(until, PATIENCE);
      if (settings.fluid && !this.fast) fluid.advance(simulation.now, PATIENCE / 2);
    } catch (error) {
      this.fail(error);
      return;
    }
    this.clock = simulation.now;
    this.done = this.clock >= config.duration && !(settings.fluid && fluid.now < config.duration);
    if (this.done || now > this.quiet) {
      this.record = new Record(simulation, settings);
      this.fluidRecord = settings.fluid ? new Record(fluid, settings) : null;
      this.draw();
      this.measure();
    }
    if (this.done) {
      this.pause(true);
      this.tell();
    } else this.frame = requestAnimationFrame((next) => this.step(next));
  }

  fail(error) {
    this.paused = true;
    $("failure").textContent = error.message;
    $("failure").hidden = false;
  }

  // ------------------------------------------------------------------------------ output

  /** Colours and names of the flows: a controller's own colour, unless an earlier one has it. */
  looks() {
    const { config, settings } = this, dark = matchMedia("(prefers-color-scheme: dark)").matches;
    const [paper, ink] = dark ? ["#14171b", "#ffffff"] : ["#ffffff", "#000000"];
    const own = (i) => config.controllers[settings.controllers[i]];
    const free = [...SPARE], colours = [], first = new Map();
    const take = (wanted) => {
      const k = Math.max(free.indexOf(wanted), 0);
      return free.length ? free.splice(k, 1)[0] : wanted;
    };
    const flows = config.flows.map((_, i) => i).filter((i) => config.flows[i].controller !== null);
    for (const i of flows) if (!first.has(own(i).name)) first.set(own(i).name, (colours[i] = take(own(i).colour)));
    for (const i of flows) colours[i] ??= take(first.get(own(i).name));
    this.flowLooks = config.flows.map((flow, i) => {
      const seen = colours[i] === "#000000" ? ink : dark && colours[i] ? mixed(colours[i], ink, 0.2) : colours[i];
      return { name: colours[i] ? this.flowName(i) : flow.name, ...this.pair(seen ?? "#8a8a8a", paper, ink) };
    });
    const grey = getComputedStyle(document.documentElement).getPropertyValue("--ink").trim();
    this.queueLook = this.pair(grey, paper, ink);
    const text = JSON.stringify([this.flowLooks, settings.fluid]);
    if (text === this.legend) return;
    this.legend = text;
    const models = settings.fluid ? [[this.queueLook.packet, "packets"], [this.queueLook.fluid, "fluid model"]] : [];
    $("legend").replaceChildren(...this.flowLooks.map((look) => element("li", {}, swatch(look.packet), look.name)),
      ...models.map(([look, name]) => element("li", { className: "soft" }, swatch(look), name)));
  }

  /** Lines of the two models; the dashed one is darker, to be seen on the solid one. */
  pair(colour, paper, ink) {
    const packet = this.settings.fluid ? mixed(colour, paper, 0.25) : colour;
    return { packet: { colour: packet, dash: [], wide: 1.75 }, fluid: { colour: mixed(colour, ink, 0.3), dash: DASHED, wide: 1.5 } };
  }

  /** The records of both models, by name. */
  get records() { return { packet: this.record, ...(this.fluidRecord ? { fluid: this.fluidRecord } : {}) }; }

  draw() {
    const { record, config } = this;
    if (!record) return;
    this.looks();
    const duration = config.duration, { scale } = config.link;
    $("rate-caption").textContent = `Throughput (${config.link.unit})`;
    const windows = [], rates = [], queues = [], readings = {};
    for (const [model, of] of Object.entries(this.records)) {
      const { middles, series } = this.series(of);
      readings[model] = { middles, series };
      of.flows.forEach((flow, i) => {
        const look = this.flowLooks[i][model];
        if (flow.hasController) windows.push({ x: of.ends, y: flow.cwnd, ...look });
        rates.push({ x: middles, y: series[i], ...look });
      });
      queues.push({ x: of.ends, y: of.queue, ...this.queueLook[model] });
    }
    const cursor = this.cursor === null ? null : Math.min(this.cursor, record.duration);
    const common = { duration, cursor, limit: Infinity };
    this.charts[0].draw(windows, { ...common, least: 10 });
    this.charts[1].draw(rates, { ...common, least: record.initialRate / scale / 4, limit: record.initialRate / scale });
    const room = config.link.packets ? this.settings.values.buffer ?? config.link.buffer : Infinity;
    this.charts[2].draw(queues, { ...common, least: 5, limit: room });
    $("progress").value = this.clock / duration;
    $("time").textContent = `${this.clock.toFixed(duration < 20 ? 2 : 1)} of ${shown(duration)} s`;
    this.read(readings);
  }

  /** Throughputs, averaged over some bins, and the times in their middle. */
  series(record) {
    const { config } = this, { ends } = record, { scale } = config.link;
    const groups = Math.max(1, Math.round(ends.length && config.bins / 250));
    const middles = [], series = record.flows.map(() => []);
    for (let k = 0; k + groups <= ends.length; k += groups) {
      const begin = k ? ends[k - 1] : 0, end = ends[k + groups - 1];
      middles.push((begin + end) / 2);
      record.flows.forEach((flow, i) =>
        series[i].push(end < flow.start ? NaN : (sum(flow.delivered, k, k + groups) * flow.packet * 8) / (end - begin) / scale));
    }
    return { middles, series };
  }

  /** The values at the cursor, as text. */
  read(readings) {
    const { record, config } = this;
    if (!record.ends.length) return;
    const time = Math.min(this.cursor ?? record.duration, record.duration);
    const at = (of, { middles, series }) => {
      const k = Math.min(record.window(time)?.[0] ?? record.ends.length - 1, of.ends.length - 1);
      const near = middles.reduce((best, x, j) => (Math.abs(x - time) < Math.abs((middles[best] ?? Infinity) - time) ? j : best), -1);
      const each = of.flows.map((flow, i) => {
        const rate = near < 0 ? "" : `${shown(series[i][near])} ${config.link.unit}`;
        return `${this.flowLooks[i].name}: ${flow.hasController ? `${shown(flow.cwnd[k])} packets, ` : ""}${rate}`;
      });
      return `${each.join("; ")}; queue: ${shown(of.queue[k])} packets.`;
    };
    const texts = Object.entries(this.records).filter(([, of]) => of.ends.length).map(
      ([model, of]) => (model === "fluid" ? "Fluid model: " : "") + at(of, readings[model]));
    $("at").textContent = `${shown(time)} s. ${texts.join(" ")}`;
    $("cursor").value = (1000 * time) / config.duration;
    $("cursor").setAttribute("aria-valuetext", $("at").textContent);
  }

  measure() {
    const { record, settings, config } = this, { after } = settings;
    if (!record || !record.ends.length) return;
    const pair = this.ratio(record, after)[0];
    $("pair").textContent = pair;
    for (const model of ["packet", "fluid"]) {
      const of = this.records[model], put = (id, text) => { $(model === "fluid" ? `fluid-${id}` : id).textContent = text; };
      put("utilization", of ? percent(of.utilization(after)) : "");
      put("fairness", of ? fixed(of.fairness(after)) : "");
      put("ratio", of ? fixed(this.ratio(of, after)[1]) : "");
    }
    const { scale } = config.link;
    const head = ["flow", `throughput (${config.link.unit})`, "convergence time (s)", "settling time (s)", "losses / timeouts"];
    $("table").tHead.replaceChildren(element("tr", {}, ...head.map((text) => element("th", { scope: "col" }, text))));
    const row = (model, of, i, rate) => {
      const flow = of.flows[i], name = this.flowLooks[i].name + (model === "fluid" ? ", fluid" : "");
      const own = [shown(of.convergenceTime(flow)), shown(of.settlingTime(flow)), `${flow.losses} / ${flow.timeouts}`];
      const cells = [shown(rate / scale), ...(flow.hasController ? own : ["", "", ""])];
      return element("tr", {}, element("th", { scope: "row" }, swatch(this.flowLooks[i][model]), " ", name), ...cells.map((x) => element("td", {}, x)));
    };
    const rates = Object.entries(this.records).map(([model, of]) => [model, of, of.throughput(after)]);
    $("table").tBodies[0].replaceChildren(...config.flows.flatMap((_, i) => rates.map(([model, of, rate]) => row(model, of, i, rate[i]))));
  }

  /** The two groups whose throughputs are compared: controllers, or else the first two flows. */
  ratio(record, after) {
    const flows = record.flows.map((flow, i) => ({ ...flow, i })).filter((flow) => flow.hasController);
    const kinds = [...new Set(flows.map((flow) => flow.controller))];
    const of = (kind) => flows.filter((flow) => flow.controller === kind).map((flow) => flow.i);
    if (kinds.length > 1) return [`${kinds[0]} / ${kinds[1]}`, record.throughputRatio(of(kinds[0]), of(kinds[1]), after)];
    if (flows.length > 1)
      return [`${this.flowLooks[flows[0].i].name} / ${this.flowLooks[flows[1].i].name}`, record.throughputRatio([flows[0].i], [flows[1].i], after)];
    return ["", NaN];
  }

  /** Tell screen readers what the curves show. */
  tell() {
    const of = (id) => $(id).textContent, { record, fluidRecord } = this;
    const fluid = fluidRecord ? ` Fluid model: utilization ${of("fluid-utilization")}, fairness ${of("fluid-fairness")}.` : "";
    $("status").textContent = `${shown(this.clock)} s simulated. Utilization ${of("utilization")}, fairness ${of("fairness")}.${fluid}`;
    const most = (values) => values.reduce((a, b) => (b > a ? b : a), 0);
    const both = (read) => shown(read(record)) + (fluidRecord ? ` (fluid model ${shown(read(fluidRecord))})` : "");
    const told = record.flows.map((_, i) => `${this.flowLooks[i].name} up to ${both((each) => most(each.flows[i].cwnd))}`);
    $("windows").setAttribute("aria-label", `Windows in packets: ${told.join(", ")}`);
    $("rates").setAttribute("aria-label", `Throughputs in ${this.config.link.unit}, as in the table below`);
    $("queue").setAttribute("aria-label", `Queue in packets, up to ${both((each) => most(each.queue))}`);
  }
}

const percent = (x) => (Number.isNaN(x) ? "–" : `${(100 * x).toFixed(1)} %`);
const fixed = (x) => (Number.isNaN(x) ? "–" : x.toFixed(3));

function mixed(colour, other, share) {
  const part = (text, k) => parseInt(text.slice(1 + 2 * k, 3 + 2 * k), 16);
  return "#" + [0, 1, 2].map((k) => Math.round((1 - share) * part(colour, k) + share * part(other, k)).toString(16).padStart(2, "0")).join("");
}

/** A piece of a flow's line. */
function swatch({ colour, dash }) {
  const box = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
  for (const [key, value] of Object.entries({ width: 26, height: 8, "aria-hidden": "true" })) box.setAttribute(key, value);
  for (const [key, value] of Object.entries({ d: "M0 4h26", stroke: colour, "stroke-width": 2.5, "stroke-dasharray": dash.join(" ") })) line.setAttribute(key, value);
  box.append(line);
  return box;
}

async function open() {
  try {
    const all = await unpacked(PARTS), parts = [];
    let at = 0;
    for (const size of SIZES) parts.push(all.subarray(at, (at += size)));
    window.tcpcc = new Page(new Packets(CONFIG, parts), CONFIG.fluid && new Fluid(CONFIG, parts));
  } catch (error) {
    $("failure").textContent = `This browser cannot run the page: ${error.message}`;
    $("failure").hidden = false;
    throw error;
  }
}

open();
