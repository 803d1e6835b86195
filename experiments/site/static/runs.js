// An item's runs over time: windows, queue, throughput; packets solid, fluid dashed.
// The runs are loaded as a separate script, because a page opened from disk cannot read other files.
"use strict";

(() => {
  const place = document.getElementById("trace");
  if (!place) return;
  const menu = document.getElementById("run");
  const panels = document.getElementById("panels");
  const told = document.getElementById("cells");
  const NAMES = { packet: "packets", fluid: "fluid" };
  const LOOKS = { packet: "solid", fluid: "dashed" };
  const key = document.getElementById("legend");
  const again = document.getElementById("again");
  const [HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [210, 58, 12, 26, 30];
  const [WIDEST, NARROW] = [860, 600];
  let WIDTH = WIDEST;
  let runs = null;
  let chosen = 0;

  window.tcpccRuns = (found) => {
    runs = found;
    mark();
    draw();
  };

  // Drawing

  function make(name, attributes, parent, text) {
    const node = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    if (text !== undefined) node.textContent = text;
    parent.append(node);
    return node;
  }

  function ticks(top, most) {
    const rough = top / most;
    const size = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((k) => k * size).find((each) => each >= rough);
    const found = [];
    for (let k = 0; k * step <= top * 1.0001; k++) found.push(Number((k * step).toPrecision(6)));
    return found;
  }

  function panel(name, lines, duration) {
    const top = Math.max(1e-9, ...lines.flatMap((line) => line.y.filter((y) => y !== null))) * 1.05;
    const svg = make("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img" }, panels);
    svg.setAttribute("aria-label", `${name} over time: ${lines.map((l) => l.name).join(", ")}`);
    const x = (t) => LEFT + ((WIDTH - LEFT - RIGHT) * t) / duration;
    const y = (v) => HEIGHT - BOTTOM - ((HEIGHT - TOP - BOTTOM) * v) / top;
    for (const v of ticks(top, 4)) {
      make("path", { class: "grid", d: `M${LEFT} ${y(v)}H${WIDTH - RIGHT}` }, svg);
      make("text", { x: LEFT - 6, y: y(v) + 4, "text-anchor": "end" }, svg, v);
    }
    const moments = ticks(duration, WIDTH < NARROW ? 4 : 8);
    for (const t of moments) {
      const last = t === moments.at(-1);
      const anchor = last && x(t) > WIDTH - RIGHT - 20 ? "end" : "middle";
      make("text", { x: x(t), y: HEIGHT - 10, "text-anchor": anchor }, svg, last ? `${t} s` : t);
    }
    make("path", { class: "axis", d: `M${LEFT} ${TOP}V${HEIGHT - BOTTOM}H${WIDTH - RIGHT}` }, svg);
    make("text", { x: LEFT, y: 14 }, svg, name);
    for (const line of lines) {
      let path = "";
      let pen = "M";
      line.y.forEach((value, k) => {
        if (value === null) {
          pen = "M";
          return;
        }
        path += `${pen}${x(line.x[k]).toFixed(1)} ${y(value).toFixed(1)}`;
        pen = "L";
      });
      make("path", { class: `line ${line.model}`, d: path, stroke: line.colour }, svg);
    }
  }

  // The legend above the panels has every flow once, with a line for each model.

  function legend(panelsOf) {
    const looks = new Map();
    for (const { lines } of panelsOf.filter((each) => !each.name.startsWith("Queue"))) {
      for (const { label, model, colour } of lines) {
        if (!looks.has(label)) looks.set(label, new Map());
        looks.get(label).set(model, colour);
      }
    }
    const models = new Set(panelsOf.flatMap(({ lines }) => lines.map((line) => line.model)));
    key.replaceChildren();
    for (const [label, colours] of [...looks, ["queue", new Map([...models].map((m) => [m, "#000"]))]]) {
      const entry = document.createElement("span");
      const svg = make("svg", { viewBox: "0 0 56 12", "aria-hidden": "true" }, entry);
      for (const [model, colour] of colours) {
        const d = model === "fluid" ? "M30 6H55" : "M1 6H26";
        make("path", { class: `line ${model}`, d, stroke: colour }, svg);
      }
      entry.append(label);
      key.append(entry);
    }
    const said = document.createElement("span");
    said.textContent = [...models].map((m) => `${NAMES[m]} ${LOOKS[m]}`).join(", ");
    key.append(said);
  }

  function draw() {
    const run = runs[chosen];
    menu.value = String(chosen);
    panels.replaceChildren();
    WIDTH = Math.min(WIDEST, Math.max(300, panels.clientWidth || WIDEST));
    const models = Object.entries(run.models);
    const names = new Set(models.flatMap(([, of]) => Object.keys(of.panels)));
    const panelsOf = [...names].map((name) => ({
      name,
      lines: models.flatMap(([model, of]) =>
        (of.panels[name] || []).map((line) => ({
          ...line,
          model,
          name: `${line.label}, ${NAMES[model]}`,
        })),
      ),
    }));
    legend(panelsOf);
    for (const { name, lines } of panelsOf) {
      if (lines.length) panel(name, lines, models[0][1].duration);
    }
    const file = document.createElement("a");
    file.href = `data:application/toml;charset=utf-8,${encodeURIComponent(run.toml)}`;
    file.download = run.file;
    file.textContent = run.file;
    const commands = models.map(([model]) => {
      const code = document.createElement("code");
      code.textContent = `tcpcc run ${run.file}${model === "packet" ? "" : ` --model ${model}`}`;
      return code;
    });
    again.replaceChildren("Repeat this run: ", file, ", then ", ...commands.flatMap((each, k) => (k ? [" or ", each] : [each])));
    const numbers = Object.entries(run.cells).flatMap(([model, cells]) =>
      cells.map((cell) => `${cell.row}, ${cell.column}: ${cell.value} (${NAMES[model]})`),
    );
    told.textContent = numbers.length ? `Numbers of this run: ${numbers.join("; ")}.` : "";
  }

  function show(index) {
    chosen = index;
    if (runs) draw();
  }

  // Numbers in the table that come from one of the runs link to it.

  function mark() {
    runs.forEach((run, index) => {
      for (const cell of Object.values(run.cells).flat()) {
        const td = document.getElementById(cell.place);
        if (!td || td.classList.contains("traced")) continue;
        td.classList.add("traced");
        td.addEventListener("click", (event) => {
          if (event.target.closest("a")) return;
          document.querySelectorAll("td.chosen").forEach((each) => each.classList.remove("chosen"));
          td.classList.add("chosen");
          show(index);
          place.scrollIntoView({ behavior: "smooth", block: "start" });
        });
      }
    });
  }

  menu.addEventListener("change", () => show(Number(menu.value)));
  const script = document.createElement("script");
  script.src = place.dataset.source;
  document.body.append(script);
})();
