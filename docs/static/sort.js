// Tables that can be sorted: a click on a heading of the last header row sorts by its column. Words
// typed above a long table leave the rows that have one of them in their first cell.
"use strict";
(() => {
  const LONG = 12; // rows

  function value(cell) {
    const text = (cell?.textContent ?? "").trim();
    if (text.startsWith("never")) return Infinity;
    const number = parseFloat(text.replace(/^[≥≤]\s*/, ""));
    return Number.isNaN(number) ? text : number;
  }

  function compare(a, b) {
    if (typeof a === typeof b) return typeof a === "number" ? a - b : a.localeCompare(b);
    return typeof a === "number" ? -1 : 1; // numbers before words
  }

  // The cells of a row by column: a cell over several columns is in each.
  function columns(row) {
    return [...row.cells].flatMap((cell) => Array(cell.colSpan).fill(cell));
  }

  // The headings by column: the lowest header cell above it.
  function headings(table) {
    const found = [];
    [...table.tHead.rows].forEach((row) => {
      let column = 0;
      for (const cell of row.cells) {
        while (found[column]?.until > row.rowIndex) column += 1;
        for (let k = 0; k < cell.colSpan; k += 1, column += 1) {
          found[column] = { cell, until: row.rowIndex + cell.rowSpan };
        }
      }
    });
    return found.map((each) => each.cell);
  }

  function sort(table, column, heading) {
    const up = heading.getAttribute("aria-sort") !== "ascending";
    table.querySelectorAll("[aria-sort]").forEach((each) => each.removeAttribute("aria-sort"));
    heading.setAttribute("aria-sort", up ? "ascending" : "descending");
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row) => [value(columns(row)[column]), row]);
    const last = (a, b) => (a[0] === "") - (b[0] === ""); // empty cells, either way
    rows.sort((a, b) => last(a, b) || (up ? 1 : -1) * compare(a[0], b[0]));
    body.append(...rows.map((each) => each[1]));
  }

  function choose(table, words) {
    const wanted = words.toLowerCase().split(/[\s,]+/).filter(Boolean);
    for (const row of table.tBodies[0].rows) {
      const name = row.cells[0].textContent.toLowerCase();
      row.hidden = wanted.length > 0 && !wanted.some((word) => name.includes(word));
    }
  }

  function addFilter(table) {
    const box = document.createElement("input");
    box.type = "search";
    box.placeholder = "names, e.g. vegas bbr";
    box.setAttribute("aria-label", "show only rows with these names");
    box.addEventListener("input", () => choose(table, box.value));
    table.before(box);
  }

  function prepare(table) {
    if (!table.tHead || table.dataset.sortable) return;
    table.dataset.sortable = "yes";
    if (table.tBodies[0].rows.length > LONG) addFilter(table);
    headings(table).forEach((heading, column) => {
      if (heading.colSpan > 1) return;
      heading.tabIndex = 0;
      heading.title ||= "sort by this column";
      heading.addEventListener("click", () => sort(table, column, heading));
      heading.addEventListener("keydown", (event) => {
        if (event.key === "Enter") sort(table, column, heading);
      });
    });
  }

  const all = () => document.querySelectorAll(".variants table").forEach(prepare);
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", all);
  else all();
})();
