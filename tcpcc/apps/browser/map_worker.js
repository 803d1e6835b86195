// A worker of the map: runs the fluid model at points of it.
"use strict";

/** Answer messages with points: see `ParameterMap`. */
function serve() {
  let fluid = null;
  self.onmessage = ({ data }) => {
    if (data.parts) {
      fluid = new Fluid(CONFIG, data.parts);
      return;
    }
    const begin = performance.now();
    const found = data.points.map(({ index, values }) => {
      const settings = { ...data.settings, values: { ...data.settings.values, ...values } };
      settings.rate = rateOf(settings);
      try {
        fluid.begin(settings);
        fluid.advance(CONFIG.duration);
      } catch {
        return { index, values: {} }; // a rule fails here
      }
      return { index, values: mapped(new Record(fluid, settings)) };
    });
    self.postMessage({ job: data.job, found, ms: performance.now() - begin });
  };
}

/** Rate of the bottleneck at the start, bit/s. */
function rateOf({ values }) {
  const slider = CONFIG.sliders.find((s) => s.name === "rate");
  return !slider || values.rate === slider.value ? CONFIG.link.rate : inModel(slider, values.rate);
}

/** What the map can show of a run of two flows. */
function mapped(record) {
  const { after } = record.settings, bins = record.window(after);
  const rates = record.throughput(after).filter((_, i) => record.flows[i].hasController);
  return {
    share: rates[0] / (rates[0] + rates[1]),
    queue: bins ? sum(record.link.waiting, bins[0], bins[1]) / bins[2] : NaN,
    utilization: record.utilization(after),
  };
}
