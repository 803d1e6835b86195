// Memory and compiled code of a model; and the packet model, with the room that grows between events.
"use strict";

const LIMIT = 2 ** 30; // bytes of memory
const AT_ONCE = 2 ** 17; // events between two looks at the clock; some hundredths of a second

/** Bytes of a base64 text that zlib has compressed. */
async function unpacked(text) {
  const raw = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([raw]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Words of NumPy's SeedSequence (M. E. O'Neill's seed_seq), which mixes the seed and the words of a name. */
function seedWords(seed, name, count) {
  const mul = Math.imul;
  const entropy = [seed >>> 0];
  for (let high = Math.floor(seed / 2 ** 32); high > 0; high = Math.floor(high / 2 ** 32)) entropy.push(high >>> 0);
  const words = [...name];
  while (words.length > 1 && words[words.length - 1] === 0) words.pop();
  entropy.push(...words);
  let constant = 0x43b0d7e5;
  const hash = (x) => {
    x ^= constant;
    constant = mul(constant, 0x931e8875);
    x = mul(x, constant);
    return x ^ (x >>> 16);
  };
  const mix = (x, y) => {
    const z = mul(0xca01f9dd, x) - mul(0x4973f715, y) | 0;
    return z ^ (z >>> 16);
  };
  const pool = [0, 1, 2, 3].map((k) => hash(entropy[k] ?? 0));
  for (let from = 0; from < 4; from++)
    for (let to = 0; to < 4; to++) if (from !== to) pool[to] = mix(pool[to], hash(pool[from]));
  for (let from = 4; from < entropy.length; from++)
    for (let to = 0; to < 4; to++) pool[to] = mix(pool[to], hash(entropy[from]));
  constant = 0x8b51f9dd;
  return Array.from({ length: count }, (_, k) => {
    let x = pool[k % 4] ^ constant;
    constant = mul(constant, 0x58f38ded);
    x = mul(x, constant);
    return (x ^ (x >>> 16)) >>> 0;
  });
}

/** The state of a stream of random numbers: six numbers, as tcpcc/engine/streams.py seeds them. */
function streamOf(seed, name) {
  return seedWords(seed, name, 6).map((x, k) => 1 + (x % ((k < 3 ? 4294967087 : 4294944443) - 1)));
}

/** The memory of one model's world and the compiled code that works on it. */
class Machine {
  /** @param config the page's data  @param model the part of it of this model
   * @param parts byte strings that both refer to */
  constructor(config, model, parts) {
    this.config = config;
    this.model = model;
    this.parts = parts;
    this.layout = model.layout;
    this.memory = new WebAssembly.Memory({ initial: (model.end >> 16) + 32 });
    const table = new WebAssembly.Table({ element: "anyfunc", initial: config.functions });
    const env = {
      __linear_memory: this.memory,
      __indirect_function_table: table,
      __stack_pointer: new WebAssembly.Global({ value: "i32", mutable: true }, model.first - 256),
      fmod: (a, b) => a % b,
    };
    for (const part of [config.rules, model.engine]) // in this order: see tcpcc/engine/wasm.py
      new WebAssembly.Instance(new WebAssembly.Module(parts[part]), { env });
    this.look();
    this.entries = model.entries.map((k) => table.get(k));
    this.returned = model.first - 64; // where an entry puts its result, and 16 bytes on its exception
    this.constants = new Uint8Array(this.memory.buffer.slice(0, model.first));
  }

  look() {
    this.view = new DataView(this.memory.buffer);
    this.bytes = new Uint8Array(this.memory.buffer);
  }

  real(at) { return this.view.getFloat64(at, true); }
  setReal(at, x) { this.view.setFloat64(at, x, true); }
  whole(at) { return Number(this.view.getBigInt64(at, true)); }
  setWhole(at, x) { this.view.setBigInt64(at, BigInt(x), true); }
  inWorld(name) { return this.layout.w + this.layout.world[name]; }

  /** Call an engine's function; it stops where a rule fails. */
  call(entry, ...given) {
    const status = entry(this.returned, this.returned + 16, ...given);
    if (status !== 0) throw new Error(`A rule failed at ${this.moment()} s: a division by 0 or the like.`);
  }

  /** Lay out the memory for these settings (see `defaults` in page.js), without the flows' starts. */
  prepare(settings) {
    const { config, model } = this, queue = model.queues[settings.queue];
    this.bytes.fill(0, model.first);
    this.bytes.set(this.constants);
    this.bytes.set(this.parts[queue.image], model.first);
    const streams = [...queue.streams];
    this.later = [queue.later]; // pointers to arrays that this page makes
    config.flows.forEach((flow, i) => {
      if (flow.controller === null) return;
      const sender = model.senders[i][settings.controllers[i]];
      for (const [at, part] of sender.parts) this.bytes.set(this.parts[part], at);
      streams.push(...sender.streams);
      this.later.push(sender.later);
    });
    for (const slider of config.sliders) {
      const chosen = settings.values[slider.name];
      if (chosen === slider.value && chosen > 0) continue; // the image has the scenario's own
      const value = inModel(slider, chosen);
      for (const [at, ratio] of queue.patches[slider.name]) this.setReal(at, value * ratio);
    }
    const { name, params } = config.queues[settings.queue];
    params.forEach((param, k) => this.setReal(queue.params[k], settings.params[name][param.name]));
    for (const [at, words] of streams)
      streamOf(settings.seed, words).forEach((x, k) => this.setWhole(at + 8 * k, x));
    this.free = model.end;
    this.now = 0;
    return queue;
  }

  /** New memory of `size` bytes, of zeros. */
  allocate(size) {
    const at = this.free;
    this.free += Math.ceil(size / 64) * 64;
    if (this.free > LIMIT) throw new Error("The run needs more than 1 GiB of memory.");
    const missing = this.free - this.memory.buffer.byteLength;
    if (missing > 0) {
      this.memory.grow(Math.ceil(Math.max(missing, 2 ** 22) / 65536));
      this.look();
    }
    return at;
  }
}

/** A slider's value in units of the models. */
const inModel = (slider, value) => (value * slider.per[0]) / slider.per[1];

/** The packet model. */
class Packets extends Machine {
  constructor(config, parts) {
    super(config, config.packet, parts);
    [this.runEvents, this.flushBins] = this.entries;
  }

  /** Begin a run with these settings. */
  begin(settings) {
    const queue = this.prepare(settings);
    this.shiftStarts(settings.starts);
    this.pool = queue.pool;
    this.lanes = queue.lanes;
    this.headers = this.layout.headers;
  }

  moment() { return this.real(this.inWorld("now")); }

  /** Move the starts of flows and what their applications write, and put the event list in order:
   * a sorted list is a heap. */
  shiftStarts(starts) {
    const { event, start, write } = this.layout, { flows } = this.config;
    const heap = this.whole(this.inWorld("heap")), size = this.whole(this.inWorld("heap_size"));
    const events = [];
    for (let k = 0; k < size; k++) {
      const at = heap + k * event.size;
      events.push({
        time: this.real(at + event.time), since: this.real(at + event.since), order: this.whole(at + event.order),
        kind: this.view.getInt32(at + event.kind, true), flow: this.view.getInt32(at + event.id, true),
        raw: this.bytes.slice(at, at + event.size),
      });
    }
    events.sort((a, b) => a.order - b.order);
    const written = flows.map(() => 0);
    for (const e of events)
      if ([start, write].includes(e.kind) && flows[e.flow].controller !== null)
        e.time = starts[e.flow] + (e.kind === write ? flows[e.flow].writes[written[e.flow]++] : 0);
    events.sort((a, b) => a.time - b.time || a.since - b.since || a.order - b.order);
    events.forEach((e, k) => {
      this.bytes.set(e.raw, heap + k * event.size);
      this.setReal(heap + k * event.size + event.time, e.time);
    });
  }

  /** Handle events up to a simulated time, for at most `patience` ms. Returns whether it is reached. */
  advance(until, patience = Infinity) {
    const begin = performance.now();
    const need = this.inWorld("need");
    this.setWhole(this.inWorld("at_once"), AT_ONCE);
    for (;;) {
      this.call(this.runEvents, BigInt(this.layout.w), until);
      if (this.whole(need)) this.grow();
      else if (!this.bytes[this.returned]) break;
      if (performance.now() - begin > patience) {
        this.now = Math.min(this.moment(), until);
        return false;
      }
    }
    this.now = until;
    return true;
  }

  /** Complete the bins up to now, to read them. */
  flush() {
    this.call(this.flushBins, BigInt(this.layout.w), this.now);
  }

  /** Counts of a flow, and when it finished. */
  totals(i) {
    const { tcp } = this.layout, at = tcp.at + i * tcp.size;
    return { finished: this.real(at + tcp.finished), timeouts: this.whole(at + tcp.timeouts), losses: this.whole(at + tcp.loss_events) };
  }

  get events() { return this.whole(this.inWorld("events")); }

  // ------------------------------------------------------------------------------- room

  /** A copy of `size` bytes with as many after it: zeros, or the same again. */
  doubled(at, size, again) {
    const copy = this.allocate(2 * size);
    this.bytes.copyWithin(copy, at, at + size);
    if (again) this.bytes.copyWithin(copy + size, at, at + size);
    return copy;
  }

  /** Double what is nearly full; see PacketWorld.grow. */
  grow() {
    const { layout } = this, { margin } = layout;
    for (const ring of layout.rings)
      for (let k = 0; k < (ring.rows ?? this.lanes); k++) {
        const row = ring.at + k * ring.stride;
        const room = this.whole(row + ring.mask) + 1;
        const last = Math.max(...ring.last.map((x) => this.whole(row + x)));
        const kept = ring.marginAt === undefined ? ring.margin : this.whole(row + ring.marginAt);
        if (room <= 1 || last - this.whole(row + ring.first) + ring.lead + kept < room) continue;
        // an entry is in one of the two halves
        this.setWhole(row + ring.ring, this.doubled(this.whole(row + ring.ring), room * ring.entry, true));
        this.setWhole(row + ring.mask, 2 * room - 1);
      }
    this.growPool(margin);
    const heapRoom = this.whole(this.inWorld("heap_room"));
    if (this.whole(this.inWorld("heap_size")) + 2 * margin > heapRoom) {
      const heap = this.inWorld("heap");
      this.setWhole(heap, this.doubled(this.whole(heap), heapRoom * layout.event.size, false));
      this.setWhole(this.inWorld("heap_room"), 2 * heapRoom);
    }
    this.growHeaders(margin);
    this.setWhole(this.inWorld("need"), 0);
  }

  growPool(margin) {
    const pool = this.inWorld("pool"), first = this.inWorld("first_free"), free = this.inWorld("n_free");
    if (this.pool <= 1 || this.whole(free) >= margin) return;
    const { size, order } = this.layout.packet, before = this.pool;
    this.setWhole(pool, this.doubled(this.whole(pool), before * size, false));
    for (let k = before; k < 2 * before; k++)
      this.setWhole(this.whole(pool) + k * size + order, k + 1 < 2 * before ? k + 1 : this.whole(first));
    this.setWhole(first, before);
    this.setWhole(free, this.whole(free) + before);
    this.pool = 2 * before;
  }

  growHeaders(margin) {
    const count = this.inWorld("n_spare_headers"), free = this.whole(count), before = this.headers;
    if (before <= 1 || free >= 2 * margin) return;
    const headers = this.inWorld("headers"), spare = this.inWorld("spare_headers"), words = this.inWorld("words");
    this.setWhole(headers, this.doubled(this.whole(headers), before * this.layout.header, false));
    this.setWhole(words, this.doubled(this.whole(words), before * 8 * this.whole(this.inWorld("n_words")), false));
    this.setWhole(spare, this.doubled(this.whole(spare), before * 8, false));
    for (let k = 0; k < before; k++) this.setWhole(this.whole(spare) + 8 * (free + k), before + k);
    this.setWhole(count, free + before);
    this.headers = 2 * before;
  }
}
