// The prompt and the code that gives the same answer, each to be copied.
import { html, useState } from "./preact.js";

const LABELS = { python: "Python", curl: "curl", json: "JSON", command: "Command line" };

export function Copyable({ text, label }) {
  const [said, setSaid] = useState("");
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setSaid("Copied");
    } catch {
      setSaid("Not allowed here: select the text and copy it");
    }
  };
  return html`<div class="copyable">
    <p><button type="button" onClick=${copy}>Copy</button> <span role="status">${said}</span></p>
    <pre tabindex="0" role="region" aria-label=${label} dir="auto">${text}</pre>
  </div>`;
}

export function Code({ code }) {
  const [chosen, setChosen] = useState("python");
  const names = Object.keys(LABELS).filter((name) => code[name]);
  const move = (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = names[(names.indexOf(chosen) + step + names.length) % names.length];
    setChosen(next);
    event.currentTarget.querySelector(`[data-name="${next}"]`).focus();
  };
  return html`<div role="tablist" aria-label="Copy as" onKeyDown=${move}>
      ${names.map(
        (name) => html`<button type="button" role="tab" id="tab-${name}" data-name=${name} aria-selected=${name === chosen} aria-controls="code-panel" tabindex=${name === chosen ? 0 : -1} onClick=${() => setChosen(name)}>
          ${LABELS[name]}
        </button>`,
      )}
    </div>
    <div role="tabpanel" id="code-panel" aria-labelledby="tab-${chosen}">
      <${Copyable} key=${chosen} text=${code[chosen]} label="The same as ${LABELS[chosen]}" />
    </div>`;
}
