// The context as the model reads it: every stretch of source text lights up its place in its document.
import { html } from "./preact.js";
import { count, percent, range } from "./words.js";

export function Context({ answer, lit, onLight, onOpen, compared }) {
  if (!answer.passages.length) {
    return html`<p class="empty">Nothing is shown: no passage is worth its tokens, or nothing was found.</p>`;
  }
  return html`<div class="context" role="region" aria-label="Context" tabindex="0" dir="auto">
    ${answer.context.map((piece) =>
      piece.number === undefined
        ? html`<span class="frame">${piece.text}</span>`
        : html`<span
            class=${`cited ${lit === piece.number ? "lit" : ""} ${compared && piece.only ? "only" : ""}`}
            onMouseEnter=${() => onLight(piece.number)}
            onMouseLeave=${() => onLight(null)}
            onClick=${() => onOpen(piece)}
            >${piece.text}</span
          >`,
    )}
  </div>`;
}

function place(passage) {
  const parts = [`chunks ${range(...passage.chunks)}`];
  if (passage.pages.length) parts.push(`page ${range(passage.pages[0], passage.pages[passage.pages.length - 1])}`);
  if (passage.characters) {
    const [start, end] = passage.characters.map((at) => at.toLocaleString("en"));
    parts.push(`characters ${start}–${end}`);
  }
  parts.push(count(passage.tokens, "token"));
  if (passage.evidence !== null) parts.push(`${percent(passage.evidence)} of the evidence expected`);
  return parts.join(", ");
}

export function Passages({ answer, lit, onLight, onOpen }) {
  return html`<ol class="passages">
    ${answer.passages.map((passage) => {
      const first = answer.context.find((piece) => piece.number === passage.number);
      const light = () => onLight(passage.number);
      const dim = () => onLight(null);
      return html`<li class=${lit === passage.number ? "lit" : ""} key=${passage.number}>
        <button
          type="button"
          class="cite"
          onMouseEnter=${light}
          onMouseLeave=${dim}
          onFocus=${light}
          onBlur=${dim}
          onClick=${() => onOpen(first)}
          disabled=${!first}
        >
          <span class="number">[${passage.number}]</span> <bdi>${passage.doc_id}</bdi>
          ${passage.heading ? html`<span class="heading" dir="auto"> ${passage.heading}</span>` : null}
        </button>
        <p class="place">${place(passage)}</p>
        <ul class="why">
          ${passage.why.map((line) => html`<li>${line}</li>`)}
        </ul>
      </li>`;
    })}
  </ol>`;
}
