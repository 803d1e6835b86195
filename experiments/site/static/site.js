// The front page's list: search, filters, sort.
"use strict";

(() => {
  const list = document.getElementById("list");
  if (!list) return;
  const body = list.tBodies[0];
  const rows = [...body.rows];
  const field = (name) => document.getElementById(name);
  const shown = field("shown");

  function filter() {
    const words = field("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const paper = field("paper").value;
    let count = 0;
    for (const row of rows) {
      const data = row.dataset;
      const fits =
        words.every((word) => data.words.includes(word)) &&
        (!paper || data.paper === paper) &&
        (!field("deviates").checked || data.deviates === "1") &&
        (!field("apart").checked || Number(data.apart) > 0);
      row.hidden = !fits;
      count += fits;
    }
    shown.textContent = `${count} of ${rows.length}`;
  }

  function sort(button) {
    const name = button.dataset.sort;
    const head = button.closest("th");
    const up = name === "order" ? head.ariaSort !== "ascending" : head.ariaSort === "descending";
    for (const th of list.tHead.rows[0].cells) th.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const value = (row) => {
      const number = parseFloat(row.dataset[name]);
      return Number.isNaN(number) ? null : number;
    };
    rows.sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      if (x === null || y === null) return (x === null) - (y === null);
      return (up ? x - y : y - x) || a.dataset.order - b.dataset.order;
    });
    body.append(...rows);
  }

  field("filters").addEventListener("input", filter);
  field("filters").addEventListener("submit", (event) => event.preventDefault());
  for (const button of list.querySelectorAll("[data-sort]")) {
    button.addEventListener("click", () => sort(button));
  }
  filter();
})();
