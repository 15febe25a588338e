// Evidence per token: how much of the evidence each passage is expected to bring, best passages first.
import { html } from "./preact.js";
import { count, percent } from "./words.js";

const WIDTH = 640;
const HEIGHT = 230;
const LEFT = 68;
const BOTTOM = 44;
const TOP = 12;
const RIGHT = 14;

function niceStep(most) {
  const rough = Math.max(most, 1) / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  return Math.max(1, [1, 2, 5, 10].find((factor) => factor * power >= rough) * power);
}

export function Curve({ answers }) {
  const most = Math.max(1, ...answers.flatMap((answer) => answer.curve.map((point) => point.tokens)));
  const x = (tokens) => LEFT + (tokens / most) * (WIDTH - LEFT - RIGHT);
  const y = (share) => HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP);
  const step = niceStep(most);
  const ticks = Array.from({ length: Math.floor(most / step) + 1 }, (_, at) => at * step);
  const says = answers.map((answer, at) => `${answers.length > 1 ? `${"AB"[at]}: ` : ""}${lastOf(answer)}`).join("; ");
  return html`<svg class="curve" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="Share of the evidence by tokens spent. ${says}">
    ${[0, 0.25, 0.5, 0.75, 1].map(
      (share) => html`<g>
        <line class="grid" x1=${LEFT} x2=${WIDTH - RIGHT} y1=${y(share)} y2=${y(share)} />
        <text class="tick" x=${LEFT - 6} y=${y(share) + 4} text-anchor="end">${percent(share)}</text>
      </g>`,
    )}
    ${ticks.map((tokens) => html`<text class="tick" x=${x(tokens)} y=${HEIGHT - BOTTOM + 18} text-anchor="middle">${tokens.toLocaleString("en")}</text>`)}
    <text class="tick" x=${WIDTH - RIGHT} y=${HEIGHT - 3} text-anchor="end">tokens, richest passages first</text>
    ${answers.map((answer, at) => {
      const points = [{ tokens: 0, evidence: 0 }, ...answer.curve];
      return html`<g class="series${at}">
        <polyline points=${points.map((point) => `${x(point.tokens)},${y(point.evidence)}`).join(" ")} />
        ${answer.curve.map(
          (point) => html`<circle cx=${x(point.tokens)} cy=${y(point.evidence)} r="4">
            <title>[${point.number}] ${percent(point.evidence)} after ${count(point.tokens, "token")}</title>
          </circle>`,
        )}
      </g>`;
    })}
  </svg>`;
}

function lastOf(answer) {
  const last = answer.curve[answer.curve.length - 1];
  return last ? `${percent(last.evidence)} in ${count(last.tokens, "token")}` : "nothing";
}

export function Evidence({ answers }) {
  const known = answers.filter((answer) => answer.curve.length);
  if (!known.length) {
    return html`<p class="empty">Not known: the ${answers[0].figures.scorer} scorer gives no probabilities, or nothing is shown.</p>`;
  }
  return html`<${Curve} answers=${answers} />
    ${answers.length > 1 ? html`<p class="keys"><span class="key0">A</span> <span class="key1">B</span></p>` : null}
    <details>
      <summary>As a table</summary>
      ${answers.map(
        (answer, at) => html`<table>
          <caption>
            ${answers.length > 1 ? `Settings ${"AB"[at]}` : "Passages, those with most evidence per token first"}
          </caption>
          <thead>
            <tr><th scope="col">passage</th><th scope="col">tokens so far</th><th scope="col">evidence so far</th></tr>
          </thead>
          <tbody>
            ${answer.curve.map((point) => html`<tr><th scope="row">[${point.number}]</th><td>${point.tokens.toLocaleString("en")}</td><td>${percent(point.evidence, 1)}</td></tr>`)}
          </tbody>
        </table>`,
      )}
    </details>
    <p class="hint">Passages with most evidence per token come first. The share is of the evidence that the candidates hold, as the scorer expects it.</p>`;
}

export function Figures({ answer }) {
  const { figures } = answer;
  const shown = [
    ["tokens", `${figures.tokens.toLocaleString("en")} of ${figures.token_budget.toLocaleString("en")}`, figures.tokenizer],
    ["passages", figures.passages, `of ${count(figures.documents, "document")}`],
    ["confidence", figures.confidence === null ? "–" : percent(figures.confidence), "that the hits hold the answer at all"],
    ["expected recall", figures.expected_recall === null ? "–" : percent(figures.expected_recall), "of the evidence is shown"],
    [
      "per 100 tokens",
      figures.evidence_per_100_tokens === null ? "–" : percent(figures.evidence_per_100_tokens, 1),
      "of the candidates' evidence",
    ],
  ];
  return html`<dl class="figures">
    ${shown.map(([name, value, note]) => html`<div><dt>${name}</dt><dd><strong>${value}</strong> <span>${note}</span></dd></div>`)}
  </dl>`;
}
