// Draws figures when they come near, sorts tables, and prepares printing.
"use strict";
(() => {
  const darkScheme = window.matchMedia("(prefers-color-scheme: dark)");
  let printing = false;

  // Figures

  const themes = JSON.parse(document.getElementById("themes").textContent);
  const plots = [...document.querySelectorAll(".drawing")];
  const read = (plot) => JSON.parse(plot.parentElement.querySelector("script").textContent);
  const draw = (plot) => {
    const { data, layout } = read(plot);
    layout.template = darkScheme.matches && !printing ? themes.dark : themes.light;
    // No buttons that would send something anywhere.
    const config = {
      responsive: true,
      displaylogo: false,
      modeBarButtons: [["toImage", "zoom2d", "pan2d", "resetScale2d"]],
    };
    // On paper there is nothing to scroll.
    if (printing && !layout.width) layout.width = 680;
    plot.querySelector(".waiting")?.remove();
    plot.dataset.drawn = "yes";
    return Plotly.react(plot, data, layout, config);
  };
  const isDrawn = (plot) => plot.dataset.drawn === "yes";

  const NEAR_PX = 600;
  const drawOnce = (plot) => {
    near.unobserve(plot);
    if (!isDrawn(plot)) draw(plot);
  };
  const near = new IntersectionObserver(
    (entries) => entries.filter((each) => each.isIntersecting).forEach((each) => drawOnce(each.target)),
    { rootMargin: `${NEAR_PX}px 0px` }
  );
  plots.forEach((plot) => near.observe(plot));
  // What is near from the start does not wait for a frame, which a hidden page may never have.
  setTimeout(() => {
    const isNear = ({ top, height }) => height > 0 && top < window.innerHeight + NEAR_PX;
    plots.filter((plot) => isNear(plot.getBoundingClientRect())).forEach(drawOnce);
  });
  darkScheme.addEventListener("change", () => plots.filter(isDrawn).forEach(draw));

  // Printing: everything drawn, on white, and what is folded opened.

  let opened = [];
  window.addEventListener("beforeprint", () => {
    printing = true;
    opened = [...document.querySelectorAll("details:not([open])")];
    opened.forEach((details) => (details.open = true));
    plots.forEach(draw);
  });
  window.addEventListener("afterprint", () => {
    printing = false;
    opened.forEach((details) => (details.open = false));
    // Drawn anew, as a figure does not leave a width that it was given.
    plots.forEach((plot) => {
      Plotly.purge(plot);
      draw(plot);
    });
  });

  // Tables

  const valueOf = (row, column) => {
    const text = (row.cells[column]?.textContent ?? "").trim();
    const number = Number.parseFloat(text.replace(/^[<>≤] /, ""));
    return Number.isNaN(number) ? text : number;
  };
  const compare = (a, b) => {
    if (typeof a === "number" && typeof b === "number") return a - b;
    // What has no number comes last.
    if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
    return a.localeCompare(b);
  };
  const makeSortable = (table) => {
    const headings = [...table.tHead.rows[table.tHead.rows.length - 1].cells];
    headings.forEach((heading, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...heading.childNodes);
      heading.append(button);
      button.addEventListener("click", () => {
        const falls = heading.getAttribute("aria-sort") === "ascending";
        headings.forEach((other) => other.removeAttribute("aria-sort"));
        heading.setAttribute("aria-sort", falls ? "descending" : "ascending");
        const rows = [...table.tBodies[0].rows].map((row) => [valueOf(row, column), row]);
        rows.sort(([a], [b]) => compare(a, b) * (falls ? -1 : 1));
        table.tBodies[0].append(...rows.map(([, row]) => row));
      });
    });
  };

  // Long tables can be filtered by what stands in a row.
  const LONG = 40;
  const makeFilter = (table) => {
    let rows;
    const field = document.createElement("input");
    field.type = "search";
    field.placeholder = "Filter rows";
    field.setAttribute("aria-label", `Filter rows: ${table.parentElement.getAttribute("aria-label")}`);
    field.addEventListener("input", () => {
      rows ??= [...table.tBodies[0].rows].map((row) => [row, row.textContent.toLowerCase()]);
      const wanted = field.value.toLowerCase();
      rows.forEach(([row, text]) => (row.hidden = !text.includes(wanted)));
    });
    table.parentElement.before(field);
  };
  document.querySelectorAll("table.sortable").forEach((table) => {
    makeSortable(table);
    if (table.tBodies[0].rows.length > LONG) makeFilter(table);
  });

  document.documentElement.dataset.ready = "yes";
})();
