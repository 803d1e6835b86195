// The record of a run and its measures, with the definitions of tcpcc/results.
"use strict";

const UNLIMITED = 1e299; // bit; more than any link sends
// Constants of tcpcc/results: rounding error of a bin; half width of the band of a settled window,
// packets; share of the samples that give its final value; and those of convergence.py.
const { ROUNDING, BAND, TAIL, CYCLES, LEAST, PART, ROUNDS, LAST, WITHIN } = CONFIG.measures;

/** What a simulation has recorded: one array per quantity, an entry per bin that has ended. */
class Record {
  constructor(simulation, settings) {
    const { config, model, layout } = simulation;
    simulation.flush();
    this.config = config;
    this.settings = settings;
    const ends = [];
    for (let k = 1; k <= config.bins; k++) {
      const end = Math.min(config.interval * k, config.duration);
      if (end > simulation.now + 1e-9 * config.interval) break;
      ends.push(end);
    }
    this.ends = ends;
    this.duration = ends.length ? ends[ends.length - 1] : 0;
    const read = (at, bin, name) => {
      const out = new Float64Array(ends.length);
      for (let k = 0; k < out.length; k++) out[k] = simulation.real(at + k * bin.size + bin[name]);
      return out;
    };
    this.flows = config.flows.map((flow, i) => {
      const bin = layout.flowBin;
      const series = Object.fromEntries(FLOW_SERIES.map((name) => [name, read(model.flowBins[i], bin, name)]));
      const { finished, timeouts, losses } = simulation.totals(i);
      const start = flow.controller === null ? flow.start : settings.starts[i];
      const first = Math.floor(start * (1 / config.interval));
      for (const name of ["cwnd", "ssthresh", "rtt"])
        ends.forEach((end, k) => { if (k < first || end > finished) series[name][k] = NaN; });
      return {
        ...series, finished, packet: flow.packet, start,
        stop: flow.stop ?? NaN, hasController: flow.controller !== null,
        controller: flow.controller === null ? "cbr" : config.controllers[settings.controllers[i]].name,
        timeouts, losses,
      };
    });
    this.link = Object.fromEntries(LINK_SERIES.map((name) => [name, read(model.linkBins, layout.linkBin, name)]));
    this.queue = this.link.waiting.map((x, k) => x / this.width(k));
    this.initialRate = settings.rate;
  }

  width(k) { return this.ends[k] - (k ? this.ends[k - 1] : 0); }

  /** The first bin that ends in (after, before], the first after them, and the time they cover. */
  window(after, before = Infinity) {
    const past = (x) => {
      const found = this.ends.findIndex((end) => end > x + ROUNDING * this.config.interval);
      return found < 0 ? this.ends.length : found;
    };
    const first = past(after), stop = past(before);
    return first < stop ? [first, stop, this.ends[stop - 1] - (first ? this.ends[first - 1] : 0)] : null;
  }

  /** Mean throughput of each flow, bit/s. */
  throughput(after) {
    const bins = this.window(after);
    if (!bins) return this.flows.map(() => NaN);
    const [first, stop, seconds] = bins;
    return this.flows.map((flow) => (sum(flow.delivered, first, stop) * flow.packet * 8) / seconds);
  }

  /** Whether a flow with a controller was active after a time. */
  active(flow, after) {
    const ends = [flow.stop, flow.finished].filter((x) => !Number.isNaN(x));
    return flow.hasController && flow.start < this.duration && !(ends.length && Math.min(...ends) <= after);
  }

  /** Jain's fairness index of the throughputs of the active flows. */
  fairness(after) {
    const rates = this.throughput(after).filter((_, i) => this.active(this.flows[i], after));
    const largest = Math.max(...rates);
    if (!(largest > 0)) return NaN;
    const shares = rates.map((x) => x / largest);
    return sum(shares) ** 2 / (shares.length * sum(shares.map((x) => x * x)));
  }

  /** Used fraction of the bottleneck's capacity. */
  utilization(after) {
    const bins = this.window(after);
    if (!bins) return NaN;
    const [first, stop, seconds] = bins;
    const end = this.ends[stop - 1], begin = end - seconds;
    const steps = [[0, this.initialRate], ...this.config.link.changes, [Infinity, 0]];
    let capacity = 0;
    for (let k = 0; k + 1 < steps.length; k++)
      capacity += Math.max(Math.min(steps[k + 1][0], end) - Math.max(steps[k][0], begin), 0) * steps[k][1];
    return capacity > 0 && capacity < UNLIMITED ? sum(this.link.sent_bits, first, stop) / capacity : NaN;
  }

  /** Mean throughput of the flows `one` over that of the flows `other`, lists of numbers. */
  throughputRatio(one, other, after) {
    const rates = this.throughput(after);
    const mean = (of) => sum(of.map((i) => rates[i])) / of.length;
    return mean(other) ? mean(one) / mean(other) : NaN;
  }

  /** Time from a flow's start until its window stays within 1.5 packets of its final value, s. */
  convergenceTime(flow) {
    const first = this.ends.findIndex((end) => end >= flow.start);
    if (first < 0) return NaN;
    const values = Array.from(flow.cwnd).slice(first);
    const tail = Math.max(1, Math.ceil(TAIL * values.length));
    const final = median(values.slice(-tail));
    const settled = values.map((x) => Math.abs(x - final) <= BAND);
    if (!settled.slice(-tail).every(Boolean)) return NaN;
    const last = settled.lastIndexOf(false);
    return last < 0 ? 0 : this.ends[first + last + 1] - flow.start;
  }

  /** Time from a flow's start until its rate stays within 10 % of its final value, s. The rate is
   * averaged over whole cycles of losses: see tcpcc/results/convergence.py. */
  settlingTime(flow) {
    const event = flow.start, bins = this.window(event);
    if (!bins) return NaN;
    const [first, stop] = bins, { ends } = this, last = ends[stop - 1];
    const samples = Array.from(flow.rtt.slice(first, stop)).filter((x) => !Number.isNaN(x));
    const rtt = sum(samples) / samples.length;
    const width = averagingTime(cycle(ends.slice(first, stop), flow.dropped.slice(first, stop), rtt), rtt, last - event);
    if (!(last - event >= 2 * width)) return NaN;
    const totals = [0];
    for (const x of flow.delivered) totals.push(totals[totals.length - 1] + x);
    const total = (time) => between([0, ...ends], totals, time);
    const rate = (begin, length) => (total(begin + length) - total(begin)) / length;
    const starts = [event, ...ends.filter((end) => end > event && end <= last - width)];
    const tail = Math.max(width, LAST * (last - event)), final = rate(last - tail, tail);
    if (!(final > 0)) return NaN;
    const holds = starts.map((begin) => Math.abs(rate(begin, width) / final - 1) <= WITHIN);
    const newest = starts[starts.length - 1], needed = newest - LAST * (newest - event);
    if (!holds.every((held, k) => held || starts[k] < needed)) return NaN;
    const broken = holds.lastIndexOf(false);
    return broken < 0 ? 0 : starts[broken + 1] - event + width / 2;
  }

  /** A tidy table of the flows' series as CSV, as `tcpcc run --csv` writes it. */
  csv(names) {
    const lines = [["time", "flow", ...FLOW_SERIES].join(",")];
    this.ends.forEach((end, k) => this.flows.forEach((flow, i) => {
      const values = FLOW_SERIES.map((name) => cell(flow[name][k]));
      lines.push([end, names[i], ...values].join(","));
    }));
    return lines.join("\n") + "\n";
  }
}

/** Mean time between loss events, each weighted by itself, s; NaN for fewer than two. */
function cycle(times, dropped, rtt) {
  const begins = [];
  times.forEach((time, k) => {
    if (dropped[k] > 0 && !(time - begins[begins.length - 1] <= rtt)) begins.push(time);
  });
  const gaps = begins.slice(1).map((time, k) => time - begins[k]);
  return sum(gaps.map((x) => x * x)) / sum(gaps);
}

/** Width of the window over which a rate is averaged, s. */
function averagingTime(cycleTime, rtt, span) {
  const longest = Number.isNaN(cycleTime) ? 0 : cycleTime;
  return Math.max(Math.min(CYCLES * longest, PART * span), LEAST * longest, ROUNDS * rtt);
}

/** Linear interpolation of `y` at `x0`, with its ends beyond them. */
function between(x, y, x0) {
  if (x0 <= x[0]) return y[0];
  if (x0 >= x[x.length - 1]) return y[x.length - 1];
  let low = 0, high = x.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (x[middle] <= x0) low = middle;
    else high = middle;
  }
  return y[low] + ((y[high] - y[low]) * (x0 - x[low])) / (x[high] - x[low]);
}

const FLOW_SERIES = ["cwnd", "ssthresh", "rtt", "sent", "retransmitted", "delivered", "dropped", "acks_dropped"];
const LINK_SERIES = ["waiting", "queue_max", "sent_bits", "drops"];

function sum(values, first = 0, stop = values.length) {
  let total = 0;
  for (let k = first; k < stop; k++) total += values[k];
  return total;
}

function median(values) {
  if (values.some(Number.isNaN)) return NaN;
  const sorted = values.slice().sort((a, b) => a - b), half = sorted.length >> 1;
  return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

const cell = (x) => (Number.isNaN(x) ? "" : x === Infinity ? "inf" : String(x));
