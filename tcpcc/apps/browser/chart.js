// Curves over time on a canvas.
"use strict";

const MARGIN = { left: 52, right: 10, top: 8, bottom: 22 };

/** About `most` round numbers from 0 to `top`. */
function ticks(top, most) {
  const size = 10 ** Math.floor(Math.log10(top / most));
  const step = [1, 2, 5, 10].map((k) => k * size).find((x) => x >= top / most);
  return Array.from({ length: Math.floor((top / step) * 1.0001) + 1 }, (_, k) => Number((step * k).toPrecision(12)));
}

/** A number with about three digits. */
function shown(x) {
  if (Number.isNaN(x)) return "–";
  if (x === 0 || !Number.isFinite(x)) return String(x);
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(x))));
  return x.toFixed(Math.min(digits, 6));
}

/** A canvas in the resolution of the screen, empty: its pen, size and the page's colours. */
function prepared(canvas) {
  const ratio = window.devicePixelRatio || 1, wide = canvas.clientWidth, high = canvas.clientHeight;
  if (canvas.width !== Math.round(wide * ratio)) canvas.width = Math.round(wide * ratio);
  if (canvas.height !== Math.round(high * ratio)) canvas.height = Math.round(high * ratio);
  const style = getComputedStyle(document.documentElement), c = canvas.getContext("2d");
  c.setTransform(ratio, 0, 0, ratio, 0, 0);
  c.clearRect(0, 0, wide, high);
  c.font = "12px system-ui, sans-serif";
  c.lineWidth = 1;
  return { c, wide, high, ink: (name) => style.getPropertyValue(name).trim() };
}

class Chart {
  constructor(canvas, read) {
    this.canvas = canvas;
    canvas.addEventListener("pointermove", (event) => read(this.timeAt(event.offsetX)));
    canvas.addEventListener("pointerleave", () => read(null));
  }

  timeAt(x) {
    const across = this.canvas.clientWidth - MARGIN.left - MARGIN.right;
    return Math.min(Math.max((x - MARGIN.left) / across, 0), 1) * (this.duration ?? 0);
  }

  /** Draw curves: [{x, y, colour, dash, wide}], with a least top and a line at the time `cursor`. */
  draw(curves, { duration, least, limit, cursor }) {
    this.duration = duration;
    const { c, wide, high, ink } = prepared(this.canvas);
    const across = wide - MARGIN.left - MARGIN.right, up = high - MARGIN.top - MARGIN.bottom;
    const floor = high - MARGIN.bottom;
    let top = least;
    for (const { y } of curves) for (const v of y) if (v > top) top = v;
    top *= 1.05;
    const px = (t) => MARGIN.left + (across * t) / duration, py = (v) => floor - (up * v) / top;
    c.lineWidth = 1;
    c.strokeStyle = ink("--line");
    c.fillStyle = ink("--soft");
    c.textAlign = "right";
    c.textBaseline = "middle";
    for (const tick of ticks(top, 4)) {
      const y = Math.round(py(tick)) + 0.5;
      c.beginPath();
      c.moveTo(MARGIN.left, y);
      c.lineTo(MARGIN.left + across, y);
      c.stroke();
      c.fillText(String(tick), MARGIN.left - 6, y);
    }
    c.textBaseline = "alphabetic";
    const moments = ticks(duration, across < 420 ? 4 : 8);
    for (const tick of moments) {
      const last = tick === moments[moments.length - 1];
      c.textAlign = px(tick) > wide - 24 ? "right" : "center";
      c.fillText(last ? `${tick} s` : String(tick), Math.min(px(tick), wide - 2), high - 5);
    }
    if (limit < top) this.line(c, [[MARGIN.left, py(limit)], [MARGIN.left + across, py(limit)]], ink("--soft"), [2, 3]);
    for (const curve of curves) this.curve(c, curve, px, py);
    if (cursor !== null) this.line(c, [[px(cursor), MARGIN.top], [px(cursor), floor]], ink("--ink"), []);
  }

  line(c, points, colour, dash) {
    c.beginPath();
    c.setLineDash(dash);
    c.strokeStyle = colour;
    c.moveTo(...points[0]);
    c.lineTo(...points[1]);
    c.stroke();
    c.setLineDash([]);
  }

  curve(c, { x, y, colour, dash, wide }, px, py) {
    c.beginPath();
    c.setLineDash(dash);
    c.lineWidth = wide;
    c.lineJoin = "round";
    c.strokeStyle = colour;
    let down = false;
    for (let k = 0; k < x.length; k++) {
      if (Number.isNaN(y[k])) { down = false; continue; }
      if (down) c.lineTo(px(x[k]), py(y[k]));
      else c.moveTo(px(x[k]), py(y[k]));
      down = true;
    }
    c.stroke();
    c.setLineDash([]);
  }
}
