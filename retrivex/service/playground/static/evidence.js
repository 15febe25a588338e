// Evidence per token: how much of the evidence each passage is expected to bring, best passages first.
import { Plot } from "./plot.js";
import { html, useMemo, useState } from "./preact.js";
import { count, percent } from "./words.js";

function lastOf(answer) {
  const last = answer.curve[answer.curve.length - 1];
  return last ? `${percent(last.evidence)} in ${count(last.tokens, "token")}` : "nothing";
}

// What a budget of so many tokens would bring.
function reachedBy(answer, tokens) {
  const spent = answer.curve.filter((point) => point.tokens <= tokens);
  const last = spent[spent.length - 1];
  return last ? `[${last.number}] ${percent(last.evidence)} after ${count(last.tokens, "token")}` : "nothing yet";
}

function Curve({ answers }) {
  const [pointed, setPointed] = useState(null); // tokens
  const lines = useMemo(
    () => answers.map(({ curve }) => [[0, 0], ...curve.map(({ tokens, evidence }) => [tokens, evidence])]),
    [answers],
  );
  const name = (at) => (answers.length > 1 ? `${"AB"[at]}: ` : "");
  const join = (say) => answers.map((answer, at) => `${name(at)}${say(answer)}`).join("; ");
  return html`<${Plot} lines=${lines} label="tokens, richest passages first" writeX=${(tokens) => tokens.toLocaleString("en")}
      writeY=${(share) => percent(share)} says="Share of the evidence by tokens spent. ${join(lastOf)}" onPoint=${setPointed} />
    <p class="pointed" aria-hidden="true">${join((answer) => (pointed === null ? lastOf(answer) : reachedBy(answer, pointed)))}</p>`;
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
