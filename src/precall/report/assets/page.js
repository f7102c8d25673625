"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  const several = data.models.length > 1;
  const symbols = ["circle", "square", "triangle-up", "cross"];
  const dashes = ["solid", "dash", "dot", "dashdot", "longdash", "longdashdot"];
  const config = { displayModeBar: false, responsive: true };
  const systemDark = window.matchMedia("(prefers-color-scheme: dark)");
  let chosenTheme = "as the system";
  let isPrinting = false;

  const variable = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  const nColours = 8;
  const colour = (i) => variable(`--c${i % nColours}`);
  const round = (i) => Math.floor(i / nColours); // how often the colours have been used up before
  // Plotly reads a few HTML tags, and %{…} in templates: names must stay text.
  const entities = { "&": "&amp;", "<": "&lt;", ">": "&gt;", "%": "&#37;" };
  const text = (s) => s.replace(/[&<>%]/g, (c) => entities[c]);
  const short = (s, most) => (s.length > most ? `${s.slice(0, most - 1)}…` : s);
  const clear = (hex) => `${hex}2b`; // a sixth opaque

  const isNarrow = (chart) => chart.clientWidth < 460;

  function layout(extra) {
    const axis = { gridcolor: variable("--grid"), linecolor: variable("--line"), zeroline: false };
    return {
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { color: variable("--ink"), family: "system-ui, 'DejaVu Sans', sans-serif", size: 13 },
      showlegend: false,
      hoverlabel: { align: "left" },
      ...extra,
      xaxis: { ...axis, ...extra.xaxis },
      yaxis: { ...axis, ...extra.yaxis },
    };
  }

  // --- curves -----------------------------------------------------------------------------------
  const curveNames = [...new Set(data.models.flatMap((m) => m.curves.map((c) => c.name)))];
  const isShown = { models: data.models.map(() => true), curves: {}, bands: true };
  const firstNames = new Set(data.models.filter((m) => m.curves.length).map((m) => m.curves[0].name));
  curveNames.forEach((name) => { isShown.curves[name] = !several || firstNames.has(name); });

  function lines() {
    return data.models.flatMap((model, i) => model.curves.map((curve) => {
      const j = curveNames.indexOf(curve.name);
      const isBest = !several && curve.name === "best" && model.curves.length > 1;
      return {
        curve,
        title: several ? `${model.name}: ${curve.name}` : curve.name,
        colour: several ? colour(i) : isBest ? variable("--ink") : colour(j),
        dash: several ? dashes[(j + round(i)) % dashes.length] : "solid",
        width: isBest ? 3.5 : 2.2,
        shown: isShown.models[i] && isShown.curves[curve.name],
      };
    }));
  }

  function curveTraces(chosen) {
    const traces = [];
    for (const line of chosen) {
      if (!line.curve.band || !isShown.bands) continue;
      traces.push({
        x: line.curve.band.recall, y: line.curve.band.precision, mode: "none", fill: "toself",
        fillcolor: clear(line.colour), hoverinfo: "skip", visible: line.shown, showlegend: false,
      });
    }
    for (const line of chosen) {
      traces.push({
        x: line.curve.recall, y: line.curve.precision, mode: "lines", visible: line.shown,
        customdata: data.tradeOffs, name: text(short(line.title, 40)),
        line: { color: line.colour, dash: line.dash, width: line.width },
        hovertemplate:
          `<b>${text(short(line.title, 40))}</b><br>λ = %{customdata}` +
          "<br>precision %{y:.3f}<br>recall %{x:.3f}<extra></extra>",
      });
    }
    const at = Number(document.getElementById("trade-off").value);
    const shown = chosen.filter((line) => line.shown);
    traces.push({
      x: shown.map((line) => line.curve.recall[at]),
      y: shown.map((line) => line.curve.precision[at]),
      mode: "markers", hoverinfo: "skip", showlegend: false, visible: !isPrinting,
      marker: { size: 10, color: shown.map((line) => line.colour), line: { color: variable("--card"), width: 2 } },
    });
    return traces;
  }

  function drawCurves() {
    const chart = document.getElementById("curves");
    if (!chart) return;
    const chosen = lines();
    const axis = { range: [0, 1.015], constrain: "domain", dtick: 0.2 };
    Plotly.react(chart, curveTraces(chosen), layout({
      margin: { l: 56, r: 10, t: 8, b: 50 },
      hovermode: "closest",
      showlegend: isPrinting, // on paper nobody can point at a line
      legend: { orientation: "h", y: -0.14 },
      xaxis: { ...axis, title: { text: isNarrow(chart) ? "recall" : "recall: how much of real is covered" } },
      yaxis: {
        ...axis, scaleanchor: "x",
        title: { text: isNarrow(chart) ? "precision" : "precision: how much of generated is realistic" },
      },
    }), config);
    readOff(chosen.filter((line) => line.shown));
  }

  function readOff(shown) {
    const at = Number(document.getElementById("trade-off").value);
    document.getElementById("lambda").textContent = data.tradeOffs[at];
    document.getElementById("trade-off").setAttribute("aria-valuetext", `lambda ${data.tradeOffs[at]}`);
    const body = document.querySelector("#reading tbody");
    body.replaceChildren(...shown.map((line) => {
      const row = document.createElement("tr");
      const cells = [line.title, line.curve.precision[at].toFixed(3), line.curve.recall[at].toFixed(3)];
      cells.forEach((value, i) => {
        const cell = document.createElement(i ? "td" : "th");
        if (!i) {
          cell.scope = "row";
          cell.style.borderLeft = `4px solid ${line.colour}`;
          cell.style.paddingLeft = "8px";
        }
        cell.textContent = value;
        row.append(cell);
      });
      return row;
    }));
  }

  function addSwitch(fieldset, name, isOn, change) {
    const label = document.createElement("label");
    const box = document.createElement("input");
    box.type = "checkbox";
    box.checked = isOn;
    box.addEventListener("change", () => { change(box.checked); drawCurves(); });
    label.append(box, document.createTextNode(name));
    fieldset.append(label);
  }

  function addControls() {
    const chart = document.getElementById("curves");
    if (!chart) return;
    const [models, curves] = ["models", "curve-names"].map((id) => document.getElementById(id));
    data.models.forEach((model, i) => {
      addSwitch(models, model.name, true, (on) => { isShown.models[i] = on; });
    });
    curveNames.forEach((name) => {
      addSwitch(curves, name, isShown.curves[name], (on) => { isShown.curves[name] = on; });
    });
    if (data.models.some((model) => model.curves.some((curve) => curve.band))) {
      addSwitch(curves, "intervals, shaded", true, (on) => { isShown.bands = on; });
    }
    document.getElementById("trade-off").addEventListener("input", drawCurves);
    chart.closest("section").querySelector("form").addEventListener("submit", (e) => e.preventDefault());
  }

  // --- scores -----------------------------------------------------------------------------------
  function marks(names, of, read, symbol, what, offset) {
    const found = of.scores.filter((s) => s.isShare && read(s) !== null);
    return {
      x: found.map(read), y: found.map((s) => names.indexOf(s.name) + offset), mode: "markers",
      marker: { symbol, size: 12, color: variable("--ink"), line: { width: 2, color: variable("--ink") } },
      hovertemplate: `${what}: %{x:.3f}<extra></extra>`,
    };
  }

  function drawScores() {
    const chart = document.getElementById("scores");
    if (!chart) return;
    const shares = data.models.flatMap((m) => m.scores.filter((s) => s.isShare).map((s) => s.name));
    const names = [...new Set(shares)];
    const step = 0.7 / data.models.length;
    const traces = data.models.map((model, i) => {
      const found = model.scores.filter((s) => s.isShare);
      const offset = several ? (i - (data.models.length - 1) / 2) * step : 0;
      const side = (s, end) => (s.interval ? Math.abs(s.interval[end] - s.value) : 0);
      return {
        x: found.map((s) => s.value), y: found.map((s) => names.indexOf(s.name) + offset),
        mode: "markers", marker: { size: 11, color: colour(i), symbol: symbols[round(i) % symbols.length] },
        error_x: {
          type: "data", symmetric: false, color: colour(i), thickness: 3, width: 0,
          array: found.map((s) => side(s, 1)), arrayminus: found.map((s) => side(s, 0)),
        },
        customdata: found.map((s) => text(several ? `${short(model.name, 40)}: ${s.name}` : s.name)),
        hovertemplate: "%{customdata}: %{x:.3f}<extra></extra>",
      };
    });
    for (const model of data.models.slice(0, several ? 1 : undefined)) {
      traces.push(marks(names, model, (s) => s.expected, "line-ns-open", "if P = Q", 0));
      traces.push(marks(names, model, (s) => s.ceiling, "diamond-open", "real against real", 0));
    }
    const height = 70 + names.length * Math.max(30, 16 * data.models.length);
    chart.style.height = `${height}px`;
    Plotly.react(chart, traces, layout({
      height, margin: { l: 10, r: 10, t: 6, b: 34 }, hovermode: "closest",
      xaxis: { rangemode: "tozero" },
      yaxis: {
        tickvals: names.map((_, i) => i), ticktext: names.map(text), automargin: true,
        range: [names.length - 0.4, -0.6],
      },
    }), config);
  }

  // --- modes ------------------------------------------------------------------------------------
  function drawModes(chart) {
    const { modes } = data.models[Number(chart.dataset.model)];
    const labels = modes.map((mode, i) => text(`${i + 1}: ${mode.finding}`));
    const bars = (role, i) => ({
      type: "bar", orientation: "h", name: role, y: labels, marker: { color: colour(i) },
      x: modes.map((mode) => 100 * mode[role]),
      error_x: {
        type: "data", symmetric: false, color: variable("--ink"), thickness: 1.2, width: 3,
        array: modes.map((mode) => 100 * Math.max(0, mode[`${role}Interval`][1] - mode[role])),
        arrayminus: modes.map((mode) => 100 * Math.max(0, mode[role] - mode[`${role}Interval`][0])),
      },
      hovertemplate: `${role}: %{x:.1f} %<extra></extra>`,
    });
    const height = 90 + (modes.length > 10 ? 28 : 38) * modes.length;
    chart.style.height = `${height}px`;
    Plotly.react(chart, [bars("generated", 1), bars("real", 0)], layout({
      height, barmode: "group", bargap: 0.25, showlegend: true,
      legend: { orientation: "h", x: 0, y: 1, yanchor: "bottom", traceorder: "reversed" },
      margin: { l: 10, r: 10, t: 30, b: 44 },
      xaxis: {
        title: { text: isNarrow(chart) ? "share, %" : "share of samples in the mode, %" }, rangemode: "tozero",
      },
      yaxis: { automargin: true, autorange: "reversed" },
    }), config);
  }

  // --- all of it --------------------------------------------------------------------------------
  function draw() {
    const isDark = chosenTheme === "as the system" ? systemDark.matches : chosenTheme === "dark";
    root.dataset.theme = isDark && !isPrinting ? "dark" : "light";
    document.querySelectorAll(".swatch").forEach((swatch) => {
      swatch.style.background = colour(Number(swatch.dataset.model));
    });
    drawCurves();
    drawScores();
    document.querySelectorAll(".chart.modes").forEach((chart) => {
      const hidden = chart.closest("details:not([open])"); // no width to draw in
      if (!hidden) drawModes(chart);
    });
    root.dataset.drawn = "true";
  }

  function addThemeButton() {
    const button = document.getElementById("theme");
    const themes = ["as the system", "light", "dark"];
    button.hidden = false;
    button.addEventListener("click", () => {
      chosenTheme = themes[(themes.indexOf(chosenTheme) + 1) % themes.length];
      button.textContent = `Theme: ${chosenTheme}`;
      draw();
    });
    systemDark.addEventListener("change", draw);
  }

  function print(on) {
    isPrinting = on;
    document.querySelectorAll("details").forEach((part) => {
      if (on) {
        part.dataset.wasOpen = part.open;
        part.open = true;
      } else {
        part.open = part.dataset.wasOpen === "true";
      }
    });
    draw();
  }

  document.querySelectorAll("details.holds-chart").forEach((part) => {
    part.addEventListener("toggle", () => { if (part.open) part.querySelectorAll(".chart").forEach(drawModes); });
  });
  addControls();
  addThemeButton();
  window.addEventListener("beforeprint", () => print(true));
  window.addEventListener("afterprint", () => print(false));
  draw();
})();
