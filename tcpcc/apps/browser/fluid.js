// The fluid model: what depends on the time step, as tcpcc/models/fluid/fluid_world.py lays it out.
"use strict";

const CHUNK = 2 ** 13; // steps between two looks at the clock; some milliseconds

/** Rounded to the nearest integer, halves to the even one, as Python does. */
function round(x) {
  const low = Math.floor(x), rest = x - low;
  return rest > 0.5 || (rest === 0.5 && low % 2 !== 0) ? low + 1 : low;
}

class Fluid extends Machine {
  constructor(config, parts) {
    super(config, config.fluid, parts);
    [this.runSteps] = this.entries;
    this.here = config.fluid.first - 128; // the list of worlds that an entry takes: this one
  }

  /** Begin a run with these settings. */
  begin(settings) {
    const { config, model, layout } = this, { flow } = layout;
    this.queue = this.prepare(settings);
    this.setWhole(this.here, layout.w);
    model.flows.forEach((each, i) => {
      if (config.flows[i].controller === null) return;
      const at = flow.at + i * flow.size;
      this.setReal(at + flow.start, settings.starts[i]);
      if (each.write !== null) this.setReal(at + flow.write_at, settings.starts[i] + each.write);
    });
    this.links = model.links.map((link) => {
      const chosen = { rate: unlimited(link.rate), delay: link.delay };
      for (const slider of config.sliders)
        if (link.follows.includes(slider.name) && settings.values[slider.name] !== slider.value)
          chosen[slider.name] = inModel(slider, settings.values[slider.name]);
      return { ...chosen, extra: link.extra, place: link.place };
    });
    this.layOutSteps();
    this.arrays = { changes: this.layOutChanges() };
    for (const { link, places, words } of this.queue.pools) {
      this.arrays[`packet_links.${link}.pool`] = this.layOutPool(places);
      this.arrays[`packet_links.${link}.words`] = this.allocate(8 * places * words);
    }
    for (const table of this.tables()) this.arrays[table.name] = this.allocate(table.size);
    this.link();
  }

  /** The tables (see fluid_data.py), each with its rows, its bytes, and the place of a number in it. */
  tables() {
    const { model, layout } = this, { flow } = layout;
    const histories = model.flows.map((_, i) => {
      const width = this.whole(flow.at + i * flow.size + flow.n_history);
      return { name: `histories.${i}`, place: -1, width, inColumns: false, single: false, past: true };
    });
    return this.queue.tables.concat(histories).map((table) => {
      const { place, width, inColumns, single } = table;
      const rows = single ? 1 : place < 0 || table.name.endsWith("hop_waits") ? this.rows : this.linkRows[place];
      const length = rows + model.spare, size = 8 * width * (inColumns ? length : rows);
      return { ...table, rows, size, at: (row, column) => 8 * (inColumns ? column * length + row : row * width + column) };
    });
  }

  /** Write the addresses of the arrays that this page makes. */
  link() {
    for (const pointers of this.later)
      for (const [name, places] of Object.entries(pointers))
        for (const [at, offset] of places) this.setWhole(at, this.arrays[name] + offset);
  }

  moment() { return this.k * this.step; }
  get k() { return this.whole(this.inWorld("k")); }

  /** Advance to a simulated time, for at most `patience` ms. Returns whether it is reached. */
  advance(until, patience = Infinity) {
    const begin = performance.now(), need = this.inWorld("need");
    const last = until >= this.config.duration ? this.end : Math.min(Math.floor(until / this.step), this.end);
    while (this.k < last) {
      this.call(this.runSteps, BigInt(this.here), 1n, BigInt(Math.min(this.k + CHUNK, last)));
      if (this.whole(need)) this.lengthen();
      if (performance.now() - begin > patience) break;
    }
    this.now = this.k < this.end ? Math.min(this.moment(), until) : this.config.duration;
    return this.k >= last;
  }

  flush() {}

  /** Counts of a flow, and when it finished. */
  totals(i) {
    const { flow } = this.layout, at = flow.at + i * flow.size;
    return { finished: this.real(at + flow.finished), timeouts: this.whole(at + flow.timeouts), losses: this.whole(at + flow.loss_events) };
  }

  // ------------------------------------------------------------------------------ layout

  /** Time step and delays in steps: `step_of`, `lay_out_delays`, `_rows`. */
  layOutSteps() {
    const { config, model, layout } = this, { flow, hop } = layout;
    this.routes = model.flows.map((each) => this.route(each));
    this.step = this.stepOf();
    this.end = Math.ceil(config.duration / this.step - 1e-9);
    this.setReal(this.inWorld("step"), this.step);
    this.setReal(this.inWorld("per_second"), 1 / this.step);
    this.setWhole(this.inWorld("end"), this.end);
    for (const name of ["steps_per_bin", "bin_end"]) this.setWhole(this.inWorld(name), round(config.interval / this.step));
    model.flows.forEach((each, i) => {
      const route = this.routes[i], at = flow.at + i * flow.size;
      for (const [where, value, whole] of this.delays(i, route)) (whole ? this.setWhole : this.setReal).call(this, where, value);
      each.way.forEach((h, j) => {
        const ack = j >= route.forward && each.hold !== null;
        this.setReal(hop.at + h * hop.size + hop.hold, ack ? each.hold : route.base);
      });
      if (config.flows[i].controller !== null) this.setReal(at + flow.most, Math.max(this.packetsInRun(each), model.sensible));
    });
    this.ahead = Math.max(0, ...this.routes.map((route) => route.base));
    this.ahead = Math.ceil((this.ahead + sum(model.changes.map((c) => c.longer ?? 0))) / this.step);
    this.ahead += this.links.filter((link) => link.place >= 0).length + 1;
    this.setRows();
  }

  /** `route_of`: the links on a flow's path that can hold a queue, and the delays between them, s. */
  route(flow) {
    const places = [], before = [], path = [...flow.forward, ...flow.reverse];
    let bits = 8 * flow.size, delay = 0, toReceiver = 0, forward = 0;
    path.forEach((index, number) => {
      const link = this.links[index];
      if (number === flow.forward.length) {
        toReceiver = delay;
        forward = places.length;
        bits = 8 * flow.ack;
      }
      if (link.place >= 0) {
        places.push(link.place);
        before.push(delay);
        delay = 0;
      }
      delay += bits / link.rate + (link.delay + link.extra);
    });
    if (!flow.reverse.length) {
      toReceiver = delay;
      forward = places.length;
    }
    return { places, before, forward, after: delay, base: sum(before) + delay, oneWay: sum(before, 0, forward) + toReceiver };
  }

  stepOf() {
    const { config, model } = this, { interval } = config;
    const closed = model.flows.map((flow, i) => ({ ...flow, base: this.routes[i].base })).filter((_, i) => config.flows[i].controller !== null);
    const largest = Math.max(...closed.map((flow) => flow.size));
    const trips = closed.map((flow) => flow.base + sum(flow.forward.map((k) => 8 / this.links[k].rate)) * (largest - flow.size));
    const trip = Math.min(...trips.filter((x) => x > 0), ...(trips.some((x) => x > 0) ? [] : [interval]));
    const least = Math.max(Math.ceil(interval / (trip / model.steps) - 1e-9), 1);
    const most = Math.max(Math.floor(least / (1 - model.shorter)), least);
    const count = Math.trunc(Math.min(most - least + 1, model.tried));
    let best = least, error = Infinity;
    for (let k = 0; k < count; k++) {
      const parts = round(k === count - 1 && k > 0 ? most : k * ((most - least) / (count - 1 || 1)) + least);
      const here = sum(closed.map(({ base }) => Math.abs((base * parts) / interval - round((base * parts) / interval))));
      if (here < error) [best, error] = [parts, here];
    }
    return interval / best;
  }

  /** What a flow's delays come to, as addresses with their numbers and whether these are whole. */
  delays(i, route) {
    const { flow, hop } = this.layout, { way } = this.model.flows[i], row = flow.at + i * flow.size;
    const delays = [];
    let at = 0, passed = 0;
    route.before.forEach((before, j) => {
      passed += before;
      const least = at + (j && route.places[j] <= route.places[j - 1] ? 1 : 0);
      delays.push(Math.max(round(passed / this.step), least) - at);
      at += delays[j];
    });
    const last = Math.max(round(route.base / this.step), at + 1) - at;
    return [
      [row + flow.to_first, delays[0] ?? 0, true],
      [row + flow.to_sender, last, true],
      [row + flow.back, route.after / this.step, false],
      [row + flow.base, route.base, false],
      [row + flow.one_way, route.oneWay, false],
      ...way.flatMap((h, j) => [
        [hop.at + h * hop.size + hop.delay, j + 1 < delays.length ? delays[j + 1] : last, true],
        [hop.at + h * hop.size + hop.before, route.before[j] / this.step, false],
      ]),
    ];
  }

  packetsInRun(flow) {
    const rates = flow.forward.map((index) =>
      Math.max(this.links[index].rate, ...this.model.changes.filter((c) => c.link === index && c.rate !== null).map((c) => c.rate)));
    return (Math.min(...rates) * this.config.duration) / (8 * flow.size);
  }

  /** Rows of the tables, for links, hosts and hops: `_set_rows`, `_lay_out_targets`. */
  setRows() {
    const { flow, hop, queue } = this.layout, reach = [];
    const enough = (least) => 2 ** Math.ceil(Math.log2(least));
    for (const { place } of this.links)
      if (place >= 0) reach[place] = this.whole(queue.at + place * queue.size + queue.reach);
    const waits = this.routes.map(({ places }) => sum(places.map((k) => reach[k])));
    this.rows = enough(1.5 * (this.ahead + Math.max(0, ...waits)) + 64);
    this.setWhole(this.inWorld("mask"), this.rows - 1);
    this.linkRows = reach.map((n) => enough(this.ahead + n + 2));
    this.linkRows.forEach((rows, k) => this.setWhole(queue.at + k * queue.size + queue.mask, rows - 1));
    this.routes.forEach(({ places }, i) => {
      const masks = places.map((k) => this.linkRows[k] - 1).concat(this.rows - 1);
      this.setWhole(flow.at + i * flow.size + flow.target_mask, masks[0]);
      this.model.flows[i].way.forEach((h, j) => this.setWhole(hop.at + h * hop.size + hop.target_mask, masks[j + 1]));
    });
  }

  layOutPool(places) {
    const { packet } = this.layout, pool = this.allocate(places * packet.size);
    for (let k = 0; k + 1 < places; k++) this.setWhole(pool + k * packet.size + packet.next, k + 1);
    return pool;
  }

  /** Scheduled changes as numbers to be written at a step: `_lay_out_changes`. Returns their address. */
  layOutChanges() {
    const { model, layout } = this, { change } = layout, links = this.links, rows = [];
    this.links = links.slice();
    for (const one of model.changes) {
      const k = round(one.at / this.step);
      for (const row of one.writes) rows.push([k, ...row]);
      if (one.link === undefined) continue;
      const old = this.links[one.link];
      this.links[one.link] = { ...old, rate: one.rate ?? old.rate, delay: one.delay ?? old.delay, extra: one.extra };
      model.flows.forEach((flow, i) => {
        if ([...flow.forward, ...flow.reverse].includes(one.link))
          rows.push(...this.delays(i, this.route(flow)).map((row) => [k, ...row]));
      });
    }
    this.links = links;
    rows.sort((a, b) => a[0] - b[0]);
    const at = this.allocate(rows.length * change.size);
    rows.forEach(([k, address, value, whole], j) => {
      const row = at + j * change.size;
      this.setWhole(row + change.k, k);
      this.setWhole(row + change.address, address);
      this.setWhole(row + change.is_whole, Number(whole));
      this.setReal(row + change.value, value);
      this.setWhole(row + change.whole, whole ? value : 0);
    });
    this.setWhole(this.inWorld("n_changes"), rows.length);
    return at;
  }

  /** Make room for longer waits: `_lay_out_tables`. */
  lengthen() {
    const need = this.inWorld("need");
    if (this.whole(need) !== this.model.longer) throw new Error("the fluid model needs other room than this page has");
    this.setWhole(need, 0);
    const before = this.tables(), { k } = this;
    this.setRows();
    this.tables().forEach((table, number) => {
      const { name, width, rows, size, past } = table, old = before[number];
      if (rows === old.rows) return;
      const copy = this.allocate(size), first = k + (past ? 0 : this.ahead) - old.rows;
      for (let step = first; step < first + old.rows; step++)
        for (let column = 0; column < width; column++) {
          const from = this.arrays[name] + old.at(step & (old.rows - 1), column);
          this.bytes.copyWithin(copy + table.at(step & (rows - 1), column), from, from + 8);
        }
      this.arrays[name] = copy;
    });
    this.link();
  }
}

/** A page has 1e300 for what is infinite. */
const unlimited = (x) => (x >= 1e300 ? Infinity : x);
