// Documents as strips of chunks: a cell for each chunk, and the text of the one that is open with its scores.
import { html, useEffect, useRef, useState } from "./preact.js";
import { KINDS, count, kindOf, percent } from "./words.js";

const FEW = 8; // documents that are drawn at once

function citationsIn(chunk) {
  return [...new Set((chunk.pieces || []).map((piece) => piece.number).filter((number) => number !== undefined))];
}

function describe(chunk) {
  const parts = [`Chunk ${chunk.chunk_id}`, KINDS[kindOf(chunk)]];
  const numbers = citationsIn(chunk);
  if (numbers.length) parts.push(`cited as ${numbers.map((number) => `[${number}]`).join(", ")}`);
  if (chunk.reason) parts.push(chunk.reason);
  return parts.join(": ");
}

function Cell({ chunk, open, lit, other, tabIndex, onOpen }) {
  const numbers = citationsIn(chunk);
  const differs = other && other.shown !== (chunk.outcome === "selected");
  const classes = ["cell", ...kindOf(chunk).split(" "), open && "open", differs && "differs"];
  if (lit !== null && numbers.includes(lit)) classes.push("lit");
  const name = differs ? `${describe(chunk)}; ${other.shown ? "shown" : "not shown"} with the other settings` : describe(chunk);
  return html`<button
    type="button"
    class=${classes.filter(Boolean).join(" ")}
    aria-pressed=${open}
    aria-label=${name}
    title=${name}
    tabindex=${tabIndex}
    data-chunk=${chunk.chunk_id}
    onClick=${onOpen}
    onFocus=${onOpen}
  >
    ${numbers.length ? numbers[0] : chunk.role === "seed" ? "•" : ""}
  </button>`;
}

function moveFocus(event) {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  const cells = [...event.currentTarget.querySelectorAll("button")];
  const at = cells.indexOf(document.activeElement);
  const ends = { Home: 0, End: cells.length - 1 };
  const next = event.key in ends ? ends[event.key] : step ? at + step : -1;
  if (at < 0 || !cells[next]) return;
  event.preventDefault();
  cells[next].focus();
}

function Strip({ doc, openId, lit, others, onOpen }) {
  const cells = [];
  let expected = 0;
  for (const chunk of doc.chunks) {
    const gap = chunk.chunk_id - expected;
    if (gap > 0) cells.push(html`<span class="gap" title="${count(gap, "chunk")} not looked at">⋯</span>`);
    expected = chunk.chunk_id + 1;
    cells.push(html`<${Cell}
      key=${chunk.chunk_id}
      chunk=${chunk}
      lit=${lit}
      open=${openId === chunk.chunk_id}
      other=${others && { shown: others.has(`${doc.doc_id}\n${chunk.chunk_id}`) }}
      tabIndex=${chunk.chunk_id === (openId === null ? doc.chunks[0].chunk_id : openId) ? 0 : -1}
      onOpen=${() => onOpen(chunk.chunk_id)}
    />`);
  }
  if (doc.chunk_count > expected) {
    cells.push(html`<span class="gap" title="${count(doc.chunk_count - expected, "chunk")} not looked at">⋯</span>`);
  }
  return html`<div class="strip" role="group" aria-label="Chunks of ${doc.doc_id}" onKeyDown=${moveFocus}>${cells}</div>`;
}

function level(probability) {
  return [0.05, 0.2, 0.4, 0.7].filter((bound) => probability >= bound).length;
}

function Group({ piece, group, lit, active, onActive }) {
  const words = [group.selected ? "shown" : "not shown", ...group.why].join("; ");
  const classes = `group level${level(group.probability)} ${piece.number === undefined ? "" : "shown"} ${lit ? "lit" : ""} ${active ? "active" : ""}`;
  const choose = () => onActive(piece.group);
  return html`<span
    class=${classes}
    tabindex="0"
    role="button"
    aria-pressed=${active}
    aria-label="${piece.text.trim()} (${words})"
    onMouseEnter=${choose}
    onFocus=${choose}
    onClick=${choose}
    onKeyDown=${(event) => {
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        choose();
      }
    }}
    >${piece.text}</span
  >`;
}

function Reader({ chunk, groups, lit }) {
  const [active, setActive] = useState(null);
  useEffect(() => setActive(null), [chunk]);
  const shown = active === null ? null : groups[active];
  const where = [KINDS[kindOf(chunk)], chunk.page === null ? "" : `page ${chunk.page}`, chunk.heading.join(" › ")];
  return html`<div class="reader">
    <p class="place" dir="auto"><strong>Chunk ${chunk.chunk_id}</strong>: ${where.filter(Boolean).join(", ")}</p>
    ${chunk.reason ? html`<p class="reason">${chunk.reason}</p>` : null}
    ${chunk.pieces
      ? html`<div class="text" dir="auto" role="region" tabindex="0" aria-label="Text of chunk ${chunk.chunk_id}">
          ${chunk.pieces.map((piece, at) =>
            piece.group === undefined
              ? html`<span class=${`${piece.number === undefined ? "" : "shown"} ${lit === piece.number && lit !== null ? "lit" : ""}`}>${piece.text}</span>`
              : html`<${Group}
                  key=${at}
                  piece=${piece}
                  group=${groups[piece.group]}
                  lit=${lit !== null && lit === piece.number}
                  active=${active === piece.group}
                  onActive=${setActive}
                />`,
          )}
        </div>`
      : chunk.outcome === "refused"
        ? null
        : html`<p class="reason">Its text is left out here, to keep the page short.</p>`}
    <div class="score" aria-live="polite">
      ${shown
        ? html`<strong>${percent(shown.probability)}</strong> <span class="bar"><span class="level${level(shown.probability)}" style=${{ width: `${100 * shown.probability}%` }}></span></span>
            <ul>
              ${shown.why.map((line) => html`<li>${line}</li>`)}
            </ul>`
        : chunk.pieces && chunk.pieces.some((piece) => piece.group !== undefined)
          ? html`<span class="hint">Point at a sentence, or tab to it, for its score and why.</span>`
          : null}
    </div>
  </div>`;
}

function Document({ doc, groups, lit, opened, others, onOpen }) {
  const card = useRef(null);
  const own = opened && opened.doc_id === doc.doc_id ? opened : null;
  const first = doc.chunks.find((chunk) => chunk.outcome === "selected");
  const [openId, setOpenId] = useState(first ? first.chunk_id : null);
  useEffect(() => {
    if (!own) return;
    setOpenId(own.chunk_id);
    card.current.scrollIntoView({ block: "nearest" });
  }, [own]);
  useEffect(() => {
    if (own && own.chunk_id === openId) card.current.querySelector(`[data-chunk="${openId}"]`).focus();
  }, [own, openId]);
  const chunk = doc.chunks.find((one) => one.chunk_id === openId);
  const caption = doc.shown ? `shown: ${doc.shown}` : "nothing shown";
  return html`<article class="document" ref=${card}>
    <h4><bdi>${doc.doc_id}</bdi> <span class="caption">${caption}</span></h4>
    <${Strip} doc=${doc} openId=${openId} lit=${lit} others=${others} onOpen=${(id) => { setOpenId(id); if (onOpen) onOpen(); }} />
    ${chunk ? html`<${Reader} chunk=${chunk} groups=${groups} lit=${lit} />` : null}
  </article>`;
}

function Legend({ documents }) {
  const found = new Set(documents.flatMap((doc) => doc.chunks.map(kindOf)));
  return html`<ul class="legend" aria-label="Kinds of chunks">
    ${Object.entries(KINDS)
      .filter(([kind]) => found.has(kind))
      .map(([kind, words]) => html`<li><span class="cell ${kind}" aria-hidden="true">${kind.startsWith("seed") ? "•" : ""}</span> ${words}</li>`)}
  </ul>`;
}

export function Documents({ answer, lit, opened, others }) {
  const [all, setAll] = useState(false);
  const wanted = opened && answer.documents.findIndex((doc) => doc.doc_id === opened.doc_id) >= FEW;
  const drawn = all || wanted ? answer.documents : answer.documents.slice(0, FEW);
  const rest = answer.documents.length - drawn.length;
  if (!answer.documents.length) return html`<p class="empty">No document was looked at.</p>`;
  return html`<${Legend} documents=${answer.documents} />
    ${drawn.map(
      (doc) => html`<${Document} key=${doc.doc_id} doc=${doc} groups=${answer.groups} lit=${lit} opened=${opened} others=${others} />`,
    )}
    ${rest > 0 ? html`<button type="button" onClick=${() => setAll(true)}>Show ${count(rest, "more document")}</button>` : null}
    ${answer.omitted.chunks ? html`<p class="hint">${count(answer.omitted.chunks, "more chunk")} had no room on the page.</p>` : null}`;
}
