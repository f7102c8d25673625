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
  const colourName = (i) => `--c${i % nColours}`;
  const colour = (i) => variable(colourName(i));
  const round = (i) => Math.floor(i / nColours); // how often the colours have been used up before
  // Plotly reads a few HTML tags, and %{…} in templates: names must stay text.
  const entities = { "&": "&amp;", "<": "&lt;", ">": "&gt;", "%": "&#37;" };
  const text = (s) => s.replace(/[&<>%]/g, (c) => entities[c]);
  const short = (s, most) => (s.length > most ? `${s.slice(0, most - 1)}…` : s);
  const clear = (hex) => `${hex}2b`; // a sixth opaque

  const isNarrow = (chart) => chart.clientWidth < 460;
  const legendRow = 21; // pixels
  const gapOfScales = 34; // for the numbers below a scale, pixels
  const edge = (chart) => (isNarrow(chart) ? 0.08 : 0.03); // beyond the ends of a scale, in units of its length

  function layout(extra) {
    const axis = { gridcolor: variable("--grid"), linecolor: variable("--line"), zeroline: false };
    const axes = Object.keys(extra).filter((key) => /^[xy]axis/.test(key));
    return {
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { color: variable("--ink"), family: "system-ui, 'DejaVu Sans', sans-serif", size: 13 },
      showlegend: false,
      hoverlabel: { align: "left" },
      ...extra,
      ...Object.fromEntries(axes.map((key) => [key, { ...axis, ...extra[key] }])),
    };
  }

  // On paper nobody can point at a line, nor read it in a list beside: a legend below the chart.
  function withLegend(figure, width, height, nEntries) {
    const below = legendRow * nEntries + 16;
    const { t, b } = figure.layout.margin;
    Object.assign(figure.layout, {
      width, height: height + below, showlegend: true,
      margin: { ...figure.layout.margin, b: b + below },
      legend: {
        x: 0, xanchor: "left", yanchor: "top", y: -(b + 6) / (height - t - b), tracegroupgap: 0, itemsizing: "constant",
      },
    });
    return figure;
  }

  // --- keys: what a line or a mark looks like -----------------------------------------------------
  const strokes = { solid: "", dash: "6 4", dot: "2 3", dashdot: "7 3 2 3", longdash: "10 4", longdashdot: "10 3 2 3" };
  const outlines = {
    circle: "M12 5 m-5 0 a5 5 0 1 0 10 0 a5 5 0 1 0 -10 0",
    square: "M7.5 .5 h9 v9 h-9 z",
    "triangle-up": "M12 -.5 l6 10 h-12 z",
    cross: "M10 0 h4 v3 h3 v4 h-3 v3 h-4 v-3 h-3 v-4 h3 z",
    "line-ns-open": "M12 -2 v14",
    "diamond-open": "M12 -1 l6 6 l-6 6 l-6 -6 z",
    bar: "M0 5 h24",
    "triangle-right": "M7 0 l9 5 l-9 5 z",
  };

  function key(path, style) {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    const drawn = document.createElementNS("http://www.w3.org/2000/svg", "path");
    Object.entries({ class: "key", width: 24, height: 10, "aria-hidden": true }).forEach((of) => svg.setAttribute(...of));
    drawn.setAttribute("d", path);
    Object.assign(drawn.style, { fill: "none", strokeWidth: "2.5", ...style });
    svg.append(drawn);
    return svg;
  }

  const lineKey = (name, dash) => key(outlines.bar, { stroke: `var(${name})`, strokeDasharray: strokes[dash] });
  const pointKey = (name, symbol) => key(outlines[symbol], { fill: `var(${name})` });

  // --- curves -----------------------------------------------------------------------------------
  const curveNames = [...new Set(data.models.flatMap((m) => m.curves.map((c) => c.name)))];
  const isShown = { models: data.models.map(() => true), curves: {}, bands: true };
  const firstNames = new Set(data.models.filter((m) => m.curves.length).map((m) => m.curves[0].name));
  curveNames.forEach((name) => { isShown.curves[name] = firstNames.has(name); });

  // Of several models each has a colour, and each kind of curve a dash; of one model its curves have colours.
  function lineStyle(i, j) {
    const isBest = !several && j === 0 && curveNames.length > 1;
    return {
      variable: several ? colourName(i) : isBest ? "--ink" : colourName(j),
      dash: several ? dashes[(j + round(i)) % dashes.length] : "solid",
      width: isBest ? 3.5 : 2.2,
    };
  }

  function lines() {
    return data.models.flatMap((model, i) => model.curves.map((curve) => {
      const style = lineStyle(i, curveNames.indexOf(curve.name));
      return {
        curve,
        ...style,
        title: several ? `${model.name}: ${curve.name}` : curve.name,
        colour: variable(style.variable),
        shown: isShown.models[i] && isShown.curves[curve.name],
      };
    }));
  }

  const tradeOff = () => Number(document.getElementById("trade-off").value);

  function curveTraces(chosen, onPaper) {
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
        customdata: data.tradeOffs, name: text(short(line.title, 60)),
        line: { color: line.colour, dash: line.dash, width: line.width },
        hovertemplate:
          `<b>${text(short(line.title, 40))}</b><br>λ = %{customdata}` +
          "<br>precision %{y:.3f}<br>recall %{x:.3f}<extra></extra>",
      });
    }
    const shown = chosen.filter((line) => line.shown);
    traces.push({
      x: shown.map((line) => line.curve.recall[tradeOff()]),
      y: shown.map((line) => line.curve.precision[tradeOff()]),
      mode: "markers", hoverinfo: "skip", showlegend: false, visible: !onPaper, cliponaxis: false,
      marker: { size: 10, color: shown.map((line) => line.colour), line: { color: variable("--card"), width: 2 } },
    });
    return traces;
  }

  function curveFigure(chart, onPaper) {
    const chosen = lines();
    const axis = { range: [0, 1.015], constrain: "domain", dtick: 0.2 };
    const figure = {
      data: curveTraces(chosen, onPaper),
      layout: layout({
        margin: { l: 56, r: 10, t: 8, b: 50 },
        hovermode: "closest",
        xaxis: { ...axis, title: { text: isNarrow(chart) ? "recall β at λ" : "recall β at λ: how much of real is covered" } },
        yaxis: {
          ...axis, scaleanchor: "x",
          title: { text: isNarrow(chart) ? "precision α at λ" : "precision α at λ: how much of generated is realistic" },
        },
      }),
    };
    const side = Math.min(chart.clientWidth, 640);
    return onPaper ? withLegend(figure, side, side, chosen.filter((line) => line.shown).length) : figure;
  }

  function drawCurves() {
    const chart = document.getElementById("curves");
    if (!chart) return;
    const figure = curveFigure(chart, isPrinting);
    chart.style.height = isPrinting ? `${figure.layout.height}px` : "";
    drawn(chart, figure);
    const shown = lines().filter((line) => line.shown);
    readOff(shown);
    const bands = document.getElementById("bands");
    if (bands) bands.disabled = !shown.some((line) => line.curve.band);
  }

  function readOff(shown) {
    const at = tradeOff();
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

  function addSwitch(fieldset, name, picture, isOn, change) {
    const label = document.createElement("label");
    const box = document.createElement("input");
    box.type = "checkbox";
    box.checked = isOn;
    box.addEventListener("change", () => { change(box.checked); drawCurves(); });
    label.append(box, ...picture, document.createTextNode(name));
    fieldset.append(label);
    return box;
  }

  function addControls() {
    const chart = document.getElementById("curves");
    if (!chart) return;
    const [models, curves] = ["models", "curve-names"].map((id) => document.getElementById(id));
    data.models.forEach((model, i) => {
      const { variable: of, dash } = lineStyle(i, 0);
      addSwitch(models, model.name, [lineKey(of, dash)], true, (on) => { isShown.models[i] = on; });
    });
    curveNames.forEach((name, j) => {
      const { variable: of, dash } = lineStyle(0, j);
      const picture = lineKey(several ? "--soft" : of, dash);
      addSwitch(curves, name, [picture], isShown.curves[name], (on) => { isShown.curves[name] = on; });
    });
    if (data.models.some((model) => model.curves.some((curve) => curve.band))) {
      addSwitch(curves, "intervals, shaded", [], true, (on) => { isShown.bands = on; }).id = "bands";
    }
    document.getElementById("trade-off").addEventListener("input", drawCurves);
    chart.closest("section").querySelector("form").addEventListener("submit", (e) => e.preventDefault());
  }

  // --- scores -----------------------------------------------------------------------------------
  // Each scale has axes of its own, one below the other; a value off its scale is an arrow with its number.
  const markSymbols = { "if P = Q": "line-ns-open", "real against real": "diamond-open" };
  const markWords = { "if P = Q": "if both distributions were the same", "real against real": "real against other real samples" };
  const allScores = data.scales.flatMap((scale) => scale.models.flat());
  const rowHeight = Math.max(30, 16 * data.models.length);
  const modelSymbol = (i) => symbols[round(i) % symbols.length];
  const anchor = (n) => (n ? String(n + 1) : "");

  function scoreTrace(chart, scale, n, i, onScale) {
    const found = scale.models[i].filter((score) => (score.side === 0) === onScale);
    const [low, high] = scale.ends;
    const offset = (i - (data.models.length - 1) / 2) * (0.8 / data.models.length);
    const name = data.models[i].name;
    const pad = edge(chart) * (high - low);
    const told = (s) => `${several ? `${short(name, 40)}: ` : ""}${scale.names[s.row]} ${s.text}${s.intervalText ? ` (${s.intervalText})` : ""}`;
    return {
      x: found.map((s) => (onScale ? s.value : s.side > 0 ? high + pad : low - pad)),
      y: found.map((s) => s.row + offset), xaxis: `x${anchor(n)}`, yaxis: `y${anchor(n)}`,
      mode: onScale ? "markers" : "markers+text", cliponaxis: false,
      name: text(short(name, 60)), legendgroup: `model ${i}`, showlegend: false,
      marker: {
        size: 11, color: colour(i),
        symbol: onScale ? modelSymbol(i) : found.map((s) => (s.side > 0 ? "triangle-right" : "triangle-left")),
      },
      error_x: {
        type: "data", symmetric: false, color: colour(i), thickness: 3, width: 0, visible: onScale,
        array: found.map((s) => (s.interval ? Math.max(0, s.interval[1] - s.value) : 0)),
        arrayminus: found.map((s) => (s.interval ? Math.max(0, s.value - s.interval[0]) : 0)),
      },
      text: found.map((s) => s.text), textposition: "middle right", textfont: { size: 11 },
      customdata: found.map((s) => text(told(s))), hovertemplate: "%{customdata}<extra></extra>",
    };
  }

  function markTrace(scale, n, mark) {
    const symbol = markSymbols[mark.name];
    const size = symbol === "line-ns-open" ? Math.min(0.55 * rowHeight, 60) : 12;
    return {
      x: mark.values, y: mark.rows, xaxis: `x${anchor(n)}`, yaxis: `y${anchor(n)}`, mode: "markers",
      cliponaxis: false, name: markWords[mark.name], legendgroup: mark.name, legendrank: 2000, showlegend: false,
      marker: { symbol, size, color: variable("--ink"), line: { width: 2, color: variable("--ink") } },
      hovertemplate: `${markWords[mark.name]}: %{x:.4~g}<extra></extra>`,
    };
  }

  function scoreAxes(chart, height, margin) {
    const inside = height - margin.t - margin.b;
    const narrow = isNarrow(chart);
    const axes = {};
    let top = 0;
    data.scales.forEach((scale, n) => {
      const [low, high] = scale.ends;
      const span = high - low;
      const isBelow = scale.models.flat().some((s) => s.side < 0);
      const of = rowHeight * scale.names.length;
      axes[`xaxis${anchor(n)}`] = {
        range: [low - edge(chart) * (isBelow ? 2 : 0.5) * span, high + edge(chart) * span], anchor: `y${anchor(n)}`,
        tickangle: 0,
        ...(scale.isDistance ? { nticks: narrow ? 3 : 6, exponentformat: "power" } : { dtick: narrow ? 0.5 : 0.2 }),
      };
      axes[`yaxis${anchor(n)}`] = {
        tickvals: scale.names.map((_, i) => i), ticktext: scale.names.map(text), automargin: true,
        range: [scale.names.length - 0.5, -0.5], anchor: `x${anchor(n)}`,
        domain: [1 - (top + of) / inside, 1 - top / inside].map((y) => Math.min(1, Math.max(0, y))),
      };
      top += of + gapOfScales;
    });
    return axes;
  }

  function scoreFigure(chart, onPaper) {
    const rows = data.scales.reduce((n, scale) => n + scale.names.length, 0);
    const margin = { l: 10, r: allScores.some((s) => s.side > 0) ? 62 : 14, t: 6, b: 30 };
    const height = margin.t + margin.b + rows * rowHeight + (data.scales.length - 1) * gapOfScales;
    const traces = data.scales.flatMap((scale, n) => [
      ...scale.marks.map((mark) => markTrace(scale, n, mark)),
      ...data.models.flatMap((_, i) => [true, false].map((on) => scoreTrace(chart, scale, n, i, on))),
    ]).filter((trace) => trace.x.length);
    const figure = {
      data: traces, layout: layout({ height, margin, hovermode: "closest", ...scoreAxes(chart, height, margin) }),
    };
    if (!onPaper || isPrinting) return figure; // the list of keys above is printed, too
    const groups = new Set();
    traces.forEach((trace) => {
      trace.showlegend = !groups.has(trace.legendgroup) && (several || !trace.legendgroup.startsWith("model"));
      groups.add(trace.legendgroup);
    });
    const entries = traces.filter((trace) => trace.showlegend).length;
    return entries ? withLegend(figure, chart.clientWidth, height, entries) : figure;
  }

  function addScoreLegend() {
    const list = document.getElementById("score-legend");
    if (!list) return;
    const add = (picture, words) => {
      const item = document.createElement("li");
      item.append(picture, document.createTextNode(words));
      list.append(item);
    };
    if (several) data.models.forEach((model, i) => add(pointKey(colourName(i), modelSymbol(i)), model.name));
    const ink = { stroke: "var(--ink)", strokeWidth: "2" };
    if (allScores.some((s) => s.interval)) add(key(outlines.bar, { stroke: "var(--soft)", strokeWidth: "3" }), "interval");
    Object.keys(markSymbols).forEach((name) => {
      const isDrawn = data.scales.some((scale) => scale.marks.some((mark) => mark.name === name));
      if (isDrawn) add(key(outlines[markSymbols[name]], ink), markWords[name]);
    });
    if (allScores.some((s) => s.side)) add(key(outlines["triangle-right"], { fill: "var(--soft)" }), "off the scale, with its number");
  }

  function drawScores() {
    const chart = document.getElementById("scores");
    if (!chart) return;
    const figure = scoreFigure(chart, isPrinting);
    chart.style.height = `${figure.layout.height}px`;
    drawn(chart, figure);
  }

  // --- modes ------------------------------------------------------------------------------------
  function modeFigure(chart) {
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
    return {
      data: [bars("generated", 1), bars("real", 0)],
      layout: layout({
        height: 90 + (modes.length > 10 ? 28 : 38) * modes.length,
        barmode: "group", bargap: 0.25, showlegend: true,
        legend: { orientation: "h", x: 0, y: 1, yanchor: "bottom", traceorder: "reversed" },
        margin: { l: 10, r: 10, t: 30, b: 44 },
        xaxis: {
          title: { text: isNarrow(chart) ? "share, %" : `share of samples in the ${chart.dataset.kind}, %` }, rangemode: "tozero",
        },
        yaxis: { automargin: true, autorange: "reversed" },
      }),
    };
  }

  function drawModes(chart) {
    const figure = modeFigure(chart);
    chart.style.height = `${figure.layout.height}px`;
    drawn(chart, figure);
  }

  // --- results over time ------------------------------------------------------------------------
  const timeLine = data.timeLine && precallTimeLine(data, { variable, colour, clear, text, short, layout, isNarrow, drawn });

  // --- all of it --------------------------------------------------------------------------------
  function drawn(chart, figure) {
    if (isPrinting) figure.layout.width ??= chart.clientWidth; // Plotly measures only when a window changes
    Plotly.react(chart, figure.data, figure.layout, config);
  }

  function inLight(make) {
    const theme = root.dataset.theme;
    root.dataset.theme = "light";
    const made = make();
    root.dataset.theme = theme;
    return made;
  }

  function addSaving(chart, name, makeFigure) {
    const line = document.createElement("p");
    line.className = "save";
    line.append("Save as");
    ["png", "svg"].forEach((format) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = format.toUpperCase();
      button.setAttribute("aria-label", `Save the chart of ${name} as ${format.toUpperCase()}`);
      button.addEventListener("click", () => {
        const figure = inLight(() => makeFigure(chart, true));
        Object.assign(figure.layout, { paper_bgcolor: "#ffffff", plot_bgcolor: "#ffffff" });
        const { width = chart.clientWidth, height = chart.clientHeight } = figure.layout;
        const scale = format === "png" ? 3 : 1; // fine enough for print
        Plotly.downloadImage(figure, { format, width, height, scale, filename: name.replaceAll(" ", "-") });
      });
      line.append(button);
    });
    chart.after(line);
  }

  function addAllSaving() {
    [["curves", curveFigure], ["scores", scoreFigure]].forEach(([name, makeFigure]) => {
      const chart = document.getElementById(name);
      if (chart) addSaving(chart, name, makeFigure);
    });
    document.querySelectorAll(".chart.modes").forEach((chart) => {
      addSaving(chart, several ? `modes of model ${Number(chart.dataset.model) + 1}` : "modes", modeFigure);
    });
  }

  function draw() {
    const isDark = chosenTheme === "as the system" ? systemDark.matches : chosenTheme === "dark";
    root.dataset.theme = isDark && !isPrinting ? "dark" : "light";
    document.querySelectorAll(".swatch").forEach((swatch) => {
      swatch.style.background = `var(${colourName(Number(swatch.dataset.model))})`;
    });
    drawCurves();
    drawScores();
    document.querySelectorAll(".chart.modes").forEach((chart) => {
      const hidden = chart.closest("details:not([open])"); // no width to draw in
      if (!hidden) drawModes(chart);
    });
    if (timeLine) timeLine.draw();
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
    root.classList.toggle("printing", on);
    document.querySelectorAll("details").forEach((part) => {
      if (on) {
        part.dataset.wasOpen = part.open;
        part.open = true;
      } else {
        part.open = part.dataset.wasOpen === "true";
      }
    });
    draw();
    if (!on) document.querySelectorAll(".chart.js-plotly-plot").forEach((chart) => Plotly.Plots.resize(chart));
  }

  document.querySelectorAll("details.holds-chart").forEach((part) => {
    part.addEventListener("toggle", () => { if (part.open) part.querySelectorAll(".chart").forEach(drawModes); });
  });
  addControls();
  addScoreLegend();
  addAllSaving();
  addThemeButton();
  window.addEventListener("beforeprint", () => print(true));
  window.addEventListener("afterprint", () => print(false));
  draw();
})();
