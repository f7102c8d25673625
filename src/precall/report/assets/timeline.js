"use strict";
// Results over time: one chart a number, and the curve of the result that a slider chooses.
function precallTimeLine(data, { variable, colour, clear, text, short, layout, isNarrow, drawn }) {
  const { labels, numbers, tracks, curves, best, refreshSeconds } = data.timeLine;
  const x = numbers || labels.map((_, i) => i);
  const slider = document.getElementById("checkpoint");
  const quietAfter = 20000; // milliseconds since somebody touched the page
  let touched = 0;

  function axis(chart) {
    const most = isNarrow(chart) ? 4 : 8;
    if (numbers) {
      const isShort = Math.max(...numbers) - Math.min(...numbers) < most; // no ticks between integers
      return { tickformat: "d", ...(isShort ? { dtick: 1 } : { nticks: most }) };
    }
    const step = Math.ceil(labels.length / (isNarrow(chart) ? 3 : 6));
    const shown = x.filter((i) => i % step === 0);
    return { tickvals: shown, ticktext: shown.map((i) => text(short(labels[i], 14))) };
  }

  function points(track, of) {
    const chosen = x.map((_, i) => i).filter(of.which);
    return {
      x: chosen.map((i) => x[i]), y: chosen.map((i) => track.values[i]), mode: "markers", cliponaxis: false,
      customdata: chosen.map((i) => text(`${labels[i]}: ${track.texts[i]}`)), hovertemplate: "%{customdata}<extra></extra>",
      marker: of.marker,
    };
  }

  function trackFigure(chart) {
    const track = tracks[Number(chart.dataset.track)];
    const ink = colour(Number(chart.dataset.track));
    const isWorse = new Set(track.worse);
    const known = x.map((_, i) => i).filter((i) => track.low[i] !== null);
    const size = labels.length > 60 ? 5 : 8;
    const traces = [{
      x: [...known.map((i) => x[i]), ...known.toReversed().map((i) => x[i])],
      y: [...known.map((i) => track.low[i]), ...known.toReversed().map((i) => track.high[i])],
      mode: "none", fill: "toself", fillcolor: clear(ink), hoverinfo: "skip",
    }, {
      x, y: track.values, mode: "lines", line: { color: ink, width: 2 }, hoverinfo: "skip",
    },
    points(track, { which: (i) => isWorse.has(i), marker: { size, color: variable("--card"), line: { color: ink, width: 1.5 } } }),
    points(track, { which: (i) => !isWorse.has(i) && i !== track.best, marker: { size, color: ink } }),
    points(track, { which: (i) => i === track.best, marker: { size: 15, symbol: "star", color: ink, line: { color: variable("--card"), width: 1 } } }),
    ];
    return {
      data: traces.filter((trace) => trace.x.length),
      layout: layout({
        height: 250, margin: { l: 46, r: 12, t: 12, b: 34 }, hovermode: "closest",
        xaxis: axis(chart), yaxis: { nticks: 5 },
      }),
    };
  }

  function curveFigure(chart, i) {
    const range = { range: [0, 1.015], constrain: "domain", dtick: 0.2 };
    const line = (curve, style) => ({
      x: curve.recall, y: curve.precision, mode: "lines", line: style, customdata: data.tradeOffs,
      hovertemplate: `<b>${text(short(curve.label, 40))}</b><br>λ = %{customdata}<br>precision %{y:.3f}<br>recall %{x:.3f}<extra></extra>`,
    });
    const traces = [];
    const { band } = curves[i];
    if (band) traces.push({ x: band.recall, y: band.precision, mode: "none", fill: "toself", fillcolor: clear(colour(0)), hoverinfo: "skip" });
    if (best !== null && best !== i) traces.push(line(curves[best], { color: variable("--soft"), width: 1.8, dash: "dash" }));
    traces.push(line(curves[i], { color: colour(0), width: 2.8 }));
    return {
      data: traces,
      layout: layout({
        margin: { l: 56, r: 10, t: 8, b: 50 }, hovermode: "closest",
        xaxis: { ...range, title: { text: isNarrow(chart) ? "recall β at λ" : "recall β at λ: how much of real is covered" } },
        yaxis: {
          ...range, scaleanchor: "x",
          title: { text: isNarrow(chart) ? "precision α at λ" : "precision α at λ: how much of generated is realistic" },
        },
      }),
    };
  }

  function readOff(i) {
    document.getElementById("checkpoint-name").textContent = labels[i];
    slider.setAttribute("aria-valuetext", labels[i]);
    document.querySelector("#checkpoint-reading tbody").replaceChildren(...tracks.map((track) => {
      const row = document.createElement("tr");
      const name = document.createElement("th");
      const value = document.createElement("td");
      name.scope = "row";
      name.textContent = track.title;
      value.textContent = track.texts[i].replace(" (", "\n(");
      row.append(name, value);
      return row;
    }));
    const entries = [["var(--c0)", "", labels[i]]];
    if (best !== null && best !== i) entries.push(["var(--soft)", "6 4", `${labels[best]}, the best`]);
    document.getElementById("checkpoint-legend").replaceChildren(...entries.map(([stroke, dash, words]) => {
      const item = document.createElement("li");
      const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
      const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
      Object.entries({ class: "key", width: 24, height: 10, "aria-hidden": true }).forEach((of) => svg.setAttribute(...of));
      path.setAttribute("d", "M0 5 h24");
      Object.assign(path.style, { fill: "none", stroke, strokeWidth: "2.5", strokeDasharray: dash });
      svg.append(path);
      item.append(svg, document.createTextNode(words));
      return item;
    }));
  }

  function drawCurves() {
    const chart = document.getElementById("checkpoint-curves");
    if (!chart) return;
    const i = Number(slider.value);
    drawn(chart, curveFigure(chart, i));
    readOff(i);
  }

  // While results are written the page is, too: look again, unless somebody is reading closely.
  function keepFresh() {
    const key = `precall ${document.title}`;
    const isLast = () => slider && Number(slider.value) === labels.length - 1;
    const kept = Number(sessionStorage.getItem(key) ?? -1);
    if (slider && kept >= 0 && kept < labels.length) slider.value = kept;
    setInterval(() => {
      if (document.hidden || Date.now() - touched < quietAfter) return;
      sessionStorage.setItem(key, !slider || isLast() ? -1 : slider.value);
      location.reload();
    }, 1000 * refreshSeconds);
    ["pointerdown", "keydown", "wheel", "touchstart"].forEach((kind) => {
      addEventListener(kind, () => { touched = Date.now(); }, { passive: true });
    });
  }

  if (slider) {
    slider.addEventListener("input", drawCurves);
    slider.closest("form").addEventListener("submit", (e) => e.preventDefault());
  }
  if (refreshSeconds) keepFresh();
  return {
    draw() {
      document.querySelectorAll(".chart.timeline").forEach((chart) => drawn(chart, trackFigure(chart)));
      drawCurves();
    },
  };
}
