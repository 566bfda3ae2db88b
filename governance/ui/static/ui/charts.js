/* Draws [data-chart] with plotly in the colours of the tokens; plotly is fetched on first need. */
(() => {
  "use strict";
  const self = document.getElementById("charts-js");
  const NARROW = 560;
  let ready = null;

  function plotly() {
    ready ??= new Promise((done, failed) => {
      const script = document.createElement("script");
      script.src = self.dataset.plotly;
      script.onload = () => done(window.Plotly);
      script.onerror = failed;
      document.head.append(script);
    });
    return ready;
  }

  /* Tokens hold light-dark() and mixes: a probe lets the browser resolve, a pixel gives rgb. */
  const probe = document.createElement("i");
  const pixel = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  function resolve(name) {
    if (name === "clear") return "rgba(0,0,0,0)";
    const [token, mixed] = name.split("+");
    probe.style.color = mixed ? `color-mix(in srgb, var(--${token}) 82%, var(--text))` : `var(--${token})`;
    pixel.fillStyle = getComputedStyle(probe).color;
    pixel.fillRect(0, 0, 1, 1);
    const [r, g, b] = pixel.getImageData(0, 0, 1, 1).data;
    return `rgb(${r},${g},${b})`;
  }
  function inked(value, known) {
    if (typeof value === "string" && /^\$[a-z][a-z+-]*$/.test(value)) return (known[value] ??= resolve(value.slice(1)));
    if (Array.isArray(value)) return value.map((v) => inked(v, known));
    if (value && typeof value === "object")
      return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, inked(v, known)]));
    return value;
  }
  function merge(base, over) {
    const out = { ...base };
    for (const [key, value] of Object.entries(over || {}))
      out[key] =
        value && typeof value === "object" && !Array.isArray(value) ? merge(base?.[key] || {}, value) : value;
    return out;
  }

  const axis = {
    gridcolor: "$line", linecolor: "$line-strong", zeroline: false, showline: true, ticks: "", fixedrange: true,
    tickfont: { color: "$muted", size: 11.5 }, title: { font: { color: "$muted", size: 12 }, standoff: 8 }, automargin: false,
  };
  const house = {
    paper_bgcolor: "$clear", plot_bgcolor: "$clear", font: { color: "$text", size: 12 }, bargap: 0.32, hovermode: "closest",
    margin: { l: 52, r: 24, t: 16, b: 34 }, showlegend: false, dragmode: false, colorway: ["$series-blue"],
    legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", font: { color: "$muted", size: 12 }, itemclick: false, traceorder: "normal", itemdoubleclick: false },
    hoverlabel: { bgcolor: "$raised", bordercolor: "$line-strong", font: { color: "$text", size: 12 } },
    xaxis: { showgrid: false }, yaxis: { showline: false },
  };

  async function draw(box) {
    const figure = JSON.parse(document.getElementById(box.dataset.chart).textContent);
    let plot;
    try {
      plot = await plotly();
    } catch {
      box.innerHTML = "";
      const line = document.createElement("p");
      line.className = "failed";
      line.textContent = self.dataset.failed;
      box.append(line);
      return;
    }
    if (!probe.isConnected) {
      probe.hidden = true;
      document.body.append(probe);
    }
    const narrow = box.clientWidth < NARROW;
    box.dataset.narrow = narrow;
    let layout = merge(house, figure.layout);
    if (narrow) layout = merge(layout, figure.narrow);
    for (const key of Object.keys(layout)) if (/^[xy]axis\d*$/.test(key)) layout[key] = merge(axis, layout[key]);
    layout.font.family = getComputedStyle(document.body).fontFamily;
    const known = {};
    await plot.react(box, inked(figure.traces, known), inked(layout, known), { displayModeBar: false, responsive: true, showTips: false });
    if (box.classList.contains("hatched")) {
      const area = box._fullLayout._size;
      box.style.backgroundRepeat = "no-repeat";
      box.style.backgroundPosition = `${area.l}px ${area.t}px`;
      box.style.backgroundSize = `${area.w}px ${area.h}px`;
    }
    box.dataset.drawn = "yes";
  }

  function drawAll(root = document) {
    root.querySelectorAll("[data-chart]").forEach(draw);
  }
  drawAll();
  document.addEventListener("htmx:afterSettle", (event) => drawAll(event.detail.elt.parentElement || document));
  document.addEventListener("toggle", (event) => {
    if (event.target.open) event.target.querySelectorAll?.("[data-chart]").forEach(draw);
  }, true);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawAll());
  addEventListener("resize", () => {
    document.querySelectorAll("[data-chart][data-drawn]").forEach((box) => {
      if (box.dataset.narrow !== String(box.clientWidth < NARROW)) draw(box);
    });
  });
})();
