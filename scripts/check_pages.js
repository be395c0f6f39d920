// Returns what a reader would stumble over in the open page, as a list of sentences.
(async () => {
  const LEAST_TEXT_PX = 11;
  const LEAST_PARAGRAPH_PX = 14;
  const LEAST_CONTRAST = 4.5; // WCAG 2.2, level AA
  const LEAST_CONTRAST_OF_LARGE = 3;
  const WIDE_PX = 1400; // code needs no scrolling here
  const PATIENCE_MS = 5000;
  const problems = new Set();
  const root = document.documentElement;
  const all = (selector) => [...document.querySelectorAll(selector)].filter(isVisible);
  const style = (element) => getComputedStyle(element);
  const sizeOf = (element) => Number.parseFloat(style(element).fontSize);

  // Texts for screen readers alone are a pixel large, or far away.
  function isVisible(element) {
    const { width, height, right, bottom } = element.getBoundingClientRect();
    return element.checkVisibility({ opacityProperty: true, visibilityProperty: true })
      && width > 1 && height > 1 && right > 0 && bottom > 0;
  }
  const named = (element) => {
    const name = element.id ? `#${element.id}` : [...element.classList].slice(0, 2).map((one) => `.${one}`).join("");
    const text = element.textContent.trim().replace(/\s+/g, " ").slice(0, 40);
    return `${element.localName}${name} “${text}”`;
  };

  // Figures are drawn some time after they come near.
  const figures = [...document.querySelectorAll(".plotly-figure, .drawing")].filter((one) => one.checkVisibility());
  const isDrawn = (figure) => (figure.querySelector("svg.main-svg")?.getBoundingClientRect().height ?? 0) > 50;
  for (const figure of figures) {
    figure.scrollIntoView({ behavior: "instant" });
    const end = performance.now() + PATIENCE_MS;
    while (!isDrawn(figure) && performance.now() < end) await new Promise((go) => setTimeout(go, 20));
    if (!isDrawn(figure)) problems.add(`a figure is not drawn: ${named(figure)}`);
  }
  scrollTo({ top: 0, behavior: "instant" });
  await document.fonts.ready;
  await Promise.all(document.getAnimations().map((one) => one.finished));
  for (const image of all("img")) if (!image.naturalWidth) problems.add(`a picture is not shown: ${image.src}`);

  // Widths
  if (root.scrollWidth > root.clientWidth) {
    problems.add(`the page is ${root.scrollWidth} px wide, the window ${root.clientWidth}`);
  }
  // What is cut off: wider than the window, or than what hides the rest, and not to be scrolled.
  const isCut = (element) => {
    let box = element.getBoundingClientRect();
    for (let around = element.parentElement; around && around !== document.body; around = around.parentElement) {
      const frame = around.getBoundingClientRect();
      const flow = style(around).overflowX;
      if (["auto", "scroll"].includes(flow)) box = frame;
      else if (["hidden", "clip"].includes(flow) && box.right > frame.right + 1) return true;
    }
    return box.right > root.clientWidth + 1 || box.left < -1;
  };
  for (const element of all("table, figure, img, svg.main-svg, pre, math, iframe, h1, h2, h3, h4, p")) {
    if (isCut(element)) problems.add(`cut off: ${named(element)}`);
  }
  if (root.clientWidth >= WIDE_PX) {
    for (const block of all("pre")) {
      if (block.scrollWidth > block.clientWidth + 1) problems.add(`code needs scrolling: ${named(block)}`);
    }
  }

  // Sizes: of text, and of headings, each level larger than the next.
  const levels = ["h1", "h2", "h3", "h4", "p"]
    .map((level) => [level, all(level).filter((one) => !one.closest("nav, header, footer") || one.matches("h1")).map(sizeOf)])
    .filter(([, sizes]) => sizes.length);
  levels.slice(1).forEach(([lower, sizes], i) => {
    const [upper, above] = levels[i];
    if (Math.min(...above) <= Math.max(...sizes)) {
      problems.add(`${upper} of ${Math.min(...above)} px, not larger than ${lower} of ${Math.max(...sizes)} px`);
    }
  });
  for (const paragraph of all("p")) {
    if (sizeOf(paragraph) < LEAST_PARAGRAPH_PX) problems.add(`text of ${sizeOf(paragraph)} px: ${named(paragraph)}`);
  }

  // Contrast
  const pen = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true });
  const known = new Map();
  const rgba = (color) => {
    if (!known.has(color)) {
      pen.clearRect(0, 0, 1, 1);
      pen.fillStyle = color;
      pen.fillRect(0, 0, 1, 1);
      const [red, green, blue, alpha] = pen.getImageData(0, 0, 1, 1).data;
      known.set(color, [red, green, blue, alpha / 255]);
    }
    return known.get(color);
  };
  const over = ([r, g, b, a], [red, green, blue]) => [r * a + red * (1 - a), g * a + green * (1 - a), b * a + blue * (1 - a)];
  const luminance = (color) => {
    const [r, g, b] = color.map((x) => (x / 255 <= 0.04045 ? x / 255 / 12.92 : ((x / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const around = (element) => (element ? [element, ...around(element.parentElement)] : []);
  // A page that gives no colour has the one of the browser.
  const canvas = style(root).colorScheme.includes("dark") && matchMedia("(prefers-color-scheme: dark)").matches ? [18, 18, 18] : [255, 255, 255];
  const backgroundOf = (element) =>
    around(element).reverse().reduce((below, one) => over(rgba(style(one).backgroundColor), below), canvas);
  const contrastOf = (element) => {
    const below = backgroundOf(element);
    const [r, g, b, a] = rgba(element instanceof SVGElement ? style(element).fill : style(element).color);
    const opacity = around(element).reduce((product, one) => product * style(one).opacity, 1);
    const [high, low] = [luminance(over([r, g, b, a * opacity], below)), luminance(below)].sort((x, y) => y - x);
    return (high + 0.05) / (low + 0.05);
  };
  // Of a figure, what stands on its paper: labels on bars have the bar below them.
  const ofPaper = ".xtick text, .ytick text, .gtitle, .xtitle, .ytitle, .legendtext";
  const withText = all("body *").filter((one) =>
    one instanceof SVGElement
      ? one.matches(ofPaper)
      : [...one.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim()),
  );
  for (const element of withText) {
    const size = sizeOf(element);
    // Indices of formulas are small everywhere.
    if (size < LEAST_TEXT_PX && !element.closest("math")) problems.add(`text of ${size} px: ${named(element)}`);
    const isLarge = size >= 24 || (size >= 18.66 && style(element).fontWeight >= 700);
    const contrast = contrastOf(element);
    if (contrast < (isLarge ? LEAST_CONTRAST_OF_LARGE : LEAST_CONTRAST)) {
      problems.add(`contrast of ${contrast.toFixed(1)}: ${named(element)}`);
    }
  }
  return [...problems];
})();
