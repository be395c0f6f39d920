// Draws the figures of a page, as wide as the page is, in the colours of its mode. Draws them again
// when either changes.
document.addEventListener("DOMContentLoaded", () => {
  const TITLE_PX = 17;
  const LINE_PX = 22; // of a line of the title
  const NARROW_PX = 640; // a legend stands below in less
  const FADE_PX = 48; // see wefe.css
  const root = document.documentElement;
  const pen = document.createElement("canvas").getContext("2d");
  const decoder = document.createElement("textarea");

  // Width of a text in px, markup apart.
  const widthOf = (text, size, family) => {
    decoder.innerHTML = text.replace(/<[^>]*>/g, "");
    pen.font = `${size}px ${family}`;
    return pen.measureText(decoder.value).width;
  };

  // A title in lines no wider than so many px. Lines within a span (the notes) are small.
  const wrapped = (title, most, family) => {
    let size = TITLE_PX;
    let used = 0;
    let text = "";
    // The lines of a note are made anew, if one of them is too wide.
    const joined = title.replace(/<span[^>]*font-size:(\d+)px[^>]*>.*?<\/span>/g, (note, px) =>
      note.split("<br>").some((line) => widthOf(line, Number(px), family) > most)
        ? note.replaceAll("<br>", " ")
        : note,
    );
    for (const part of joined.split(/(<[^>]*>|\s+)/)) {
      if (/^<br/.test(part)) used = 0;
      else if (/^<span/.test(part)) size = Number(/font-size:(\d+)px/.exec(part)?.[1] ?? size);
      else if (/^<\/span/.test(part)) size = TITLE_PX;
      else if (!part.startsWith("<")) {
        const width = widthOf(part, size, family);
        if (part.trim() && used && used + width > most) {
          text = `${text.trimEnd()}<br>`;
          used = 0;
        }
        used += width;
      }
      text += part;
    }
    return text;
  };

  const countLines = (text) => text.split("<br>").length;

  const wrapTitle = (layout, width, family) => {
    const title = layout.title?.text;
    if (!title) return;
    const pad = layout.template?.layout?.title?.pad?.l ?? 16;
    layout.title.text = wrapped(title, width - 2 * pad, family);
    const more = countLines(layout.title.text) - countLines(title);
    if (!more) return;
    // A title of several lines is set higher by the height of a capital.
    if (countLines(title) === 1 && layout.title.pad) layout.title.pad.t = 28;
    layout.margin.t += more * LINE_PX;
    layout.height += more * LINE_PX;
  };

  // Puts a legend that would stand on the right below the figure; returns the width that it took.
  const legendBelow = (data, layout, family) => {
    const legend = layout.legend ?? {};
    const names = data.filter((one) => one.name && one.showlegend !== false).map((one) => one.name);
    const shown = layout.showlegend ?? names.length > 1;
    if (!shown || !names.length || legend.orientation === "h" || legend.x !== undefined) return 0;
    const lines = names.flatMap((name) => name.split("<br>"));
    const below = 24 + 4 * names.length + 16 * lines.length;
    const longest = Math.max(...lines.map((line) => widthOf(line, 12, family)));
    // A horizontal legend keeps no margin free beside it; its entries stand below each other.
    const entries = { orientation: "h", entrywidth: 1, entrywidthmode: "fraction" };
    const place = { x: 0.02, xref: "container", xanchor: "left", y: 0, yref: "container", yanchor: "bottom" };
    layout.legend = { ...legend, ...entries, ...place, title: { ...legend.title, side: "top" } };
    layout.margin.b += below;
    layout.height += below;
    return 50 + longest;
  };

  // Says at which edges more of a figure is to be seen.
  const markEdges = (frame) => {
    const hidden = frame.scrollWidth - frame.clientWidth;
    frame.classList.toggle("more-before", frame.scrollLeft > 2);
    frame.classList.toggle("more-after", frame.scrollLeft < hidden - 2);
  };

  const figures = [...document.querySelectorAll(".plotly-figure")].map((place) => {
    const script = place.querySelector("script");
    const both = JSON.parse(script.textContent);
    script.remove();
    const frame = place.parentElement;
    frame.addEventListener("scroll", () => markEdges(frame), { passive: true });
    return { place, frame, both, least: Number.parseFloat(place.style.minWidth) || 0, width: 0 };
  });

  const draw = (figure) => {
    const { place, frame, both, least } = figure;
    figure.width = frame.clientWidth;
    if (!figure.width) return; // not to be seen yet
    const mode = root.dataset.theme === "dark" ? "dark" : "light";
    const { data, layout } = structuredClone(both[mode]);
    const family = layout.template?.layout?.font?.family ?? "sans-serif";
    if (layout.height && layout.margin) {
      const freed = figure.width < NARROW_PX ? legendBelow(data, layout, family) : 0;
      const wanted = Math.max(0, least - freed);
      if (least) place.style.minWidth = `${wanted}px`;
      // Lines of the title are seen without scrolling, and end before a figure fades.
      wrapTitle(layout, figure.width - (wanted > figure.width ? FADE_PX : 0), family);
      place.style.height = `${layout.height}px`;
    }
    Plotly.react(place, data, layout, { responsive: true, displaylogo: false, displayModeBar: false });
    markEdges(frame);
  };

  const resized = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const figure = figures.find(({ frame }) => frame === target);
      if (figure && figure.width !== target.clientWidth) draw(figure);
    }
  });
  for (const figure of figures) {
    draw(figure);
    resized.observe(figure.frame);
  }
  new MutationObserver(() => figures.forEach(draw)).observe(root, { attributeFilter: ["data-theme"] });
});
