// Lines drawn by uPlot, in the colours of the page: they follow its width, and a change between light and dark.
import { html, useEffect, useRef } from "./preact.js";
import { uPlot } from "./uplot.js";

const HEIGHT = 250; // pixels of the page, as all lengths here
const FONT = "13px system-ui, sans-serif";
const LINES = [{ ink: "--accent" }, { ink: "--second", dash: [7, 5] }];
const DARK = matchMedia("(prefers-color-scheme: dark)");

// Read at each drawing, as the colours are other ones in the dark.
function ink(name) {
  return () => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function axis({ label, write, ...rest }) {
  const frame = { stroke: ink("--line"), width: 1 };
  const values = (_, splits) => splits.map(write);
  return { label, labelFont: FONT, font: FONT, stroke: ink("--soft"), grid: frame, ticks: frame, values, ...rest };
}

function line({ ink: name, dash }) {
  return { stroke: ink(name), width: 2.5, dash, spanGaps: true, points: { show: true, size: 8, fill: ink(name) } };
}

// `lines` are lists of [x, y] with y in [0, 1]; `says` is the plot in words, `onPoint` is told the x pointed at, or null.
export function Plot({ lines, label, writeX, writeY, says, onPoint }) {
  const place = useRef(null);
  useEffect(() => {
    const options = {
      width: place.current.clientWidth,
      height: HEIGHT,
      scales: { x: { time: false, range: (_, least, most) => [0, Math.max(most, 1)] }, y: { range: [0, 1.02] } },
      axes: [
        axis({ label, write: writeX, labelSize: 22, size: 34 }),
        axis({ write: writeY, size: 60, splits: [0, 0.25, 0.5, 0.75, 1] }),
      ],
      series: [{}, ...lines.map((_, at) => line(LINES[at]))],
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
      hooks: { setCursor: [(plot) => onPoint(plot.cursor.left < 0 ? null : plot.posToVal(plot.cursor.left, "x"))] },
    };
    const data = uPlot.join(lines.map((points) => [points.map(([x]) => x), points.map(([, y]) => y)]));
    const plot = new uPlot(options, data, place.current);
    const fit = new ResizeObserver(([{ contentRect }]) => plot.setSize({ width: contentRect.width, height: HEIGHT }));
    const redraw = () => plot.redraw(false);
    fit.observe(place.current);
    DARK.addEventListener("change", redraw);
    return () => {
      fit.disconnect();
      DARK.removeEventListener("change", redraw);
      plot.destroy();
    };
  }, [lines]);
  return html`<div class="plot" ref=${place} role="img" aria-label=${says}></div>`;
}
