// What is asked, and with which settings: only what somebody turned is sent, the rest is the service's own.
import { html } from "./preact.js";

export const ORDERS = [
  "edge_balanced", "front_first", "back_first", "score_desc", "best_last", "document", "document_edges",
  "chronological", "relevance_groups", "alternating", "position_weighted", "auto",
];
export const EFFORTS = ["lean", "standard", "full"];
export const SCORERS = ["auto", "calibrated", "weighted"];
const USUAL = { token_budget: 2000, window: null, effort: "standard", order: "edge_balanced", scoring: "auto" };

const asWords = (name) => name.replaceAll("_", " ");

export function Choice({ id, label, value, options, onChange, write = asWords }) {
  const known = options.includes(value) ? options : [...options, value];
  return html`<p class="field">
    <label for=${id}>${label}</label>
    <select id=${id} value=${value} onChange=${(event) => onChange(event.target.value)}>
      ${known.map((option) => html`<option value=${option} selected=${option === value}>${write(option)}</option>`)}
    </select>
  </p>`;
}

export function SettingsForm({ name, turned, effective, onTurn }) {
  const now = { ...USUAL, ...effective, ...turned };
  const turn = (change) => onTurn({ ...turned, ...change });
  const id = (part) => `${part}-${name}`;
  const fixed = now.window !== null;
  return html`<fieldset class="settings">
    <legend>${name ? `Settings ${name}` : "Settings"}</legend>
    <p class="field wide">
      <label for=${id("budget")}>Token budget <output>${now.token_budget.toLocaleString("en")}</output></label>
      <input id=${id("budget")} type="range" min="100" max=${Math.max(8000, now.token_budget)} step="100" value=${now.token_budget}
        onInput=${(event) => turn({ token_budget: Number(event.target.value) })} />
    </p>
    <p class="field wide">
      <label for=${id("window")}>Window <output>${fixed ? `${now.window} on each side` : "as wide as needed"}</output></label>
      <input id=${id("window")} type="range" min="-1" max="10" step="1" value=${fixed ? now.window : -1}
        aria-valuetext=${fixed ? `${now.window} neighbours on each side` : "as wide as needed"}
        onInput=${(event) => turn({ window: event.target.value === "-1" ? null : Number(event.target.value) })} />
    </p>
    <${Choice} id=${id("effort")} label="Effort" value=${now.effort} options=${EFFORTS} onChange=${(effort) => turn({ effort })} />
    <${Choice} id=${id("order")} label="Order" value=${now.order} options=${ORDERS} onChange=${(order) => turn({ order })} />
    <${Choice} id=${id("scoring")} label="Scorer" value=${now.scoring} options=${SCORERS} onChange=${(scoring) => turn({ scoring })} />
  </fieldset>`;
}

export function SettingsShown({ settings }) {
  const window = settings.window === null ? "as wide as needed" : settings.window;
  const shown = { budget: `${settings.token_budget.toLocaleString("en")} tokens`, window, effort: settings.effort,
    order: asWords(settings.order), scorer: settings.scoring };
  return html`<dl class="recorded-settings">
    ${Object.entries(shown).map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}
  </dl>`;
}
