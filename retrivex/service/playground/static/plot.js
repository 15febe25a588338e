// Lines drawn by Chart.js, in the colours of the page: they follow its width, and a change between light and dark.
import { Chart } from "./chart.js";
import { html, useEffect, useRef } from "./preact.js";

const FONT = { family: "system-ui, sans-serif", size: 13 }; // pixels of the page, as all lengths here
const LINES = [{ name: "--accent" }, { name: "--second", dash: [7, 5] }];
const DARK = matchMedia("(prefers-color-scheme: dark)");

// Read at each update, as the colours are other ones in the dark.
function ink(name) {
  return () => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function axis({ most, write, label = "", ...ticks }) {
  const text = { font: FONT, color: ink("--soft") };
  return {
    type: "linear",
    min: 0,
    max: most,
    grid: { color: ink("--line") },
    border: { display: false },
    ticks: { ...text, ...ticks, callback: (value) => write(value), includeBounds: false },
    title: { ...text, display: Boolean(label), text: label },
  };
}

function line(points, at) {
  const color = ink(LINES[at].name);
  return {
    data: points.map(([x, y]) => ({ x, y })),
    borderColor: color,
    borderWidth: 2.5,
    borderDash: LINES[at].dash,
    pointBackgroundColor: color,
    pointBorderWidth: 0,
    pointRadius: 4,
    clip: false, // points on the edge are whole
    order: -at, // the later line lies on top
  };
}

// Where the pointer is: a line from top to bottom, and its x for `onPoint`.
function pointer(onPoint) {
  const color = ink("--soft");
  let left = null;
  return {
    id: "pointer",
    afterEvent(chart, happened) {
      const { event, inChartArea } = happened;
      left = inChartArea && event.type !== "mouseout" ? event.x : null;
      happened.changed = true; // so that it is drawn again
      onPoint(left === null ? null : chart.scales.x.getValueForPixel(left));
    },
    afterDatasetsDraw({ ctx, chartArea: { top, bottom } }) {
      if (left === null) return;
      ctx.save();
      ctx.strokeStyle = color();
      ctx.setLineDash([3, 3]);
      ctx.beginPath();
      ctx.moveTo(Math.round(left) + 0.5, top); // between two points, where it is sharp
      ctx.lineTo(Math.round(left) + 0.5, bottom);
      ctx.stroke();
      ctx.restore();
    },
  };
}

// `lines` are lists of [x, y] with y in [0, 1]; `says` is the plot in words, `onPoint` gets the x pointed at, or null.
export function Plot({ lines, label, writeX, writeY, says, onPoint }) {
  const canvas = useRef(null);
  useEffect(() => {
    onPoint(null); // where fingers point, nothing says that they left
    const most = Math.max(1, ...lines.flat().map(([x]) => x));
    const chart = new Chart(canvas.current, {
      type: "line",
      data: { datasets: lines.map(line) },
      options: {
        animation: false,
        maintainAspectRatio: false, // as high as its place
        layout: { padding: { right: 12 } },
        scales: {
          x: axis({ most, write: writeX, label, maxRotation: 0, autoSkipPadding: 12 }),
          y: axis({ most: 1.02, write: writeY, stepSize: 0.25 }),
        },
        hover: { mode: null },
        plugins: { legend: { display: false }, tooltip: { enabled: false } },
      },
      plugins: [pointer(onPoint)],
    });
    const redraw = () => chart.update("none");
    DARK.addEventListener("change", redraw);
    return () => {
      DARK.removeEventListener("change", redraw);
      chart.destroy();
    };
  }, [lines]);
  return html`<div class="plot" role="img" aria-label=${says}><canvas ref=${canvas}></canvas></div>`;
}
