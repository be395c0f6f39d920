// Draws the figures of a page, in the colours of its mode, and again when the mode changes.
document.addEventListener("DOMContentLoaded", () => {
  const root = document.documentElement;
  const figures = [...document.querySelectorAll(".plotly-figure")].map((place) => {
    const script = place.querySelector("script");
    const both = JSON.parse(script.textContent);
    script.remove();
    return { place, both };
  });
  const draw = () => {
    const mode = root.dataset.theme === "dark" ? "dark" : "light";
    for (const { place, both } of figures) {
      const { data, layout } = structuredClone(both[mode]);
      Plotly.react(place, data, layout, { responsive: true, displaylogo: false, displayModeBar: false });
    }
  };
  draw();
  new MutationObserver(draw).observe(root, { attributeFilter: ["data-theme"] });
});
