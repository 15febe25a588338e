// The playground: ask, and see what became of every chunk. With a recorded answer in the page it needs no service.
import { html, render, useEffect, useMemo, useRef, useState } from "./preact.js";
import { askFor, listDocuments, listIndexes, rememberKey } from "./api.js";
import { Context, Passages } from "./context.js";
import { Choice, SettingsForm, SettingsShown } from "./controls.js";
import { Code, Copyable } from "./copy.js";
import { Documents } from "./documents.js";
import { Evidence, Figures } from "./evidence.js";
import { AddDocuments } from "./upload.js";
import { count } from "./words.js";

const WAIT = 250; // milliseconds that a slider rests before it asks again

function shownChunks(answer) {
  const keys = answer.documents.flatMap((doc) =>
    doc.chunks.filter((chunk) => chunk.outcome === "selected").map((chunk) => `${doc.doc_id}\n${chunk.chunk_id}`),
  );
  return new Set(keys);
}

function LeftOut({ answer }) {
  if (!answer.left_out.length) return html`<p class="empty">No hit was left out.</p>`;
  return html`<ul class="left-out">
      ${answer.left_out.map((hit) => html`<li><bdi>${hit.doc_id}</bdi>, chunk ${hit.chunk_id}: <strong>${hit.reason}</strong> <span>(${hit.detail})</span></li>`)}
    </ul>
    ${answer.omitted.hits ? html`<p class="hint">and ${count(answer.omitted.hits, "more hit")}</p>` : null}`;
}

function Answer({ answer, name, other }) {
  const [pointed, setPointed] = useState(null);
  const [opened, setOpened] = useState(null); // stays lit when the pointer or the focus goes elsewhere
  useEffect(() => setOpened(null), [answer]);
  const lit = pointed !== null ? pointed : opened && opened.number;
  const others = useMemo(() => (other ? shownChunks(other) : null), [other]);
  const open = ({ number, doc_id, chunk_id }) => setOpened({ number, doc_id, chunk_id });
  const close = (event) => {
    if (event.key === "Escape") setOpened(null);
  };
  const own = answer.context.filter((piece) => piece.only).map((piece) => piece.text).join("").length;
  const parts = { answer, lit, onLight: setPointed, onOpen: open };
  return html`<section class="answer" aria-label=${name ? `Answer ${name}` : "Answer"} onKeyDown=${close}>
    <h2 class=${name ? "" : "unseen"}>${name || "Answer"}</h2>
    <${Figures} answer=${answer} />
    ${answer.warnings.length ? html`<ul class="warnings">${answer.warnings.map((line) => html`<li dir="auto">${line}</li>`)}</ul>` : null}
    ${other ? html`<p class="own">${own ? html`<span class="only">Underlined</span>: ${own.toLocaleString("en")} characters that ${name === "A" ? "B" : "A"} does not show.` : `Nothing that ${name === "A" ? "B" : "A"} does not show as well.`}</p>` : null}
    <div class="columns">
      <div>
        <h3>Context</h3>
        <${Context} ...${parts} compared=${Boolean(other)} />
        <h3>Passages</h3>
        ${answer.order ? html`<p class="hint">Order: ${answer.order}</p>` : null}
        <${Passages} ...${parts} />
      </div>
      <div>
        <h3>Documents</h3>
        <${Documents} answer=${answer} lit=${lit} opened=${opened} others=${others} />
      </div>
    </div>
    <details><summary>Hits left out (${(answer.left_out.length + answer.omitted.hits).toLocaleString("en")})</summary><${LeftOut} answer=${answer} /></details>
    <details><summary>The prompt</summary><${Copyable} text=${answer.prompt} label="Prompt" /></details>
  </section>`;
}

function Answers({ view }) {
  const [first, second] = view.answers;
  const paired = Boolean(second);
  return html`<div class="answers ${paired ? "paired" : ""}">
      <${Answer} answer=${first} name=${paired ? "A" : ""} other=${second} />
      ${paired ? html`<${Answer} answer=${second} name="B" other=${first} />` : null}
    </div>
    <section class="below" aria-label="Evidence and code">
      <h2 class="unseen">Evidence and code</h2>
      <div><h3>Evidence per token</h3><${Evidence} answers=${view.answers} /></div>
      <div><h3>Copy as</h3><${Code} code=${first.code} /></div>
    </section>`;
}

function KeyDialog({ refused, onKey }) {
  const dialog = useRef(null);
  const input = useRef(null);
  useEffect(() => dialog.current.showModal(), []);
  const send = (event) => {
    event.preventDefault();
    onKey(input.current.value.trim());
  };
  return html`<dialog ref=${dialog} aria-labelledby="key-title" onCancel=${(event) => event.preventDefault()}>
    <form onSubmit=${send}>
      <h2 id="key-title">This service asks for a key</h2>
      ${refused ? html`<p role="alert">${refused}</p>` : null}
      <p><label for="key">Key</label> <input id="key" ref=${input} type="password" autocomplete="off" required /></p>
      <p class="hint">It is kept until this tab is closed, and sent to this service alone.</p>
      <p><button type="submit">Use this key</button></p>
    </form>
  </dialog>`;
}

function Head({ children }) {
  return html`<header>
      <h1>RetriVex <span>playground</span></h1>
      ${children}
    </header>`;
}

function Recorded({ view }) {
  const [first] = view.answers;
  return html`<${Head}><p class="asked" dir="auto">${first.question}</p></${Head}>
    <main>
      <${SettingsShown} settings=${first.settings} />
      <${Answers} view=${view} />
      <p class="hint">A recorded answer, written by <code>retrivex query --html</code>. Nothing of it leaves this page.</p>
    </main>`;
}

function useAnswers(question, index, settings, compared, onProblem) {
  const [view, setView] = useState(null);
  const [busy, setBusy] = useState(false);
  const running = useRef(null);
  const ask = async () => {
    if (!question.trim()) return;
    if (running.current) running.current.abort();
    const control = new AbortController();
    running.current = control;
    setBusy(true);
    try {
      const request = { question, ...(index ? { index: index.name } : {}), settings, ...(compared ? { compare: compared } : {}) };
      const found = await askFor(request, control.signal);
      performance.mark("reply");
      setView(found);
      onProblem(null);
      requestAnimationFrame(() => requestAnimationFrame(() => performance.mark("painted")));
    } catch (error) {
      if (error.name === "AbortError") return;
      onProblem(error);
    }
    if (running.current === control) setBusy(false);
  };
  return { view, busy, ask };
}

function Live() {
  const [question, setQuestion] = useState("");
  const [settings, setSettings] = useState({});
  const [compared, setCompared] = useState(null);
  const [indexes, setIndexes] = useState([]);
  const [chosen, setChosen] = useState(null);
  const [documents, setDocuments] = useState(null);
  const [problem, setProblem] = useState(null);
  const index = indexes.find(({ name }) => name === chosen) || indexes[0];
  const { view, busy, ask } = useAnswers(question, index, settings, compared, setProblem);
  const effective = view ? view.answers.map((answer) => answer.settings) : [];

  const attempt = async (work) => {
    try {
      await work();
    } catch (error) {
      setProblem(error);
    }
  };
  const load = () => attempt(async () => setIndexes(await listIndexes()));
  const current = useRef(null);
  current.current = index;
  const refresh = (after = "") =>
    attempt(async () => {
      const found = index && index.keeps_documents ? await listDocuments(index.name, after) : null;
      if (current.current !== index) return;
      setDocuments((before) => (after ? { ...found, documents: [...before.documents, ...found.documents] } : found));
    });
  useEffect(() => {
    load();
  }, []);
  useEffect(() => {
    setDocuments(null);
    refresh();
  }, [index]);
  useEffect(() => {
    if (!view) return undefined;
    const timer = setTimeout(ask, WAIT);
    return () => clearTimeout(timer);
  }, [settings, compared, index]);

  const send = (event) => {
    event.preventDefault();
    ask();
  };
  const useKey = async (key) => {
    rememberKey(key);
    setProblem(null);
    await load();
    if (question) ask();
  };
  const locked = problem && problem.status === 401;
  const empty = documents !== null && !documents.documents.length;
  return html`<${Head}>
      <form class="ask" role="search" onSubmit=${send}>
        <label for="question">Question</label>
        <input id="question" type="search" dir="auto" autocomplete="off" placeholder="In your own words" value=${question}
          onInput=${(event) => setQuestion(event.target.value)} />
        <button type="submit" disabled=${!question.trim()}>Ask</button>
      </form>
    </${Head}>
    <main aria-busy=${busy}>
      ${indexes.length > 1 ? html`<${Choice} id="index" label="Index" value=${index.name} options=${indexes.map(({ name }) => name)} onChange=${setChosen} write=${String} />` : null}
      <div class="setting-rows">
        <${SettingsForm} name=${compared ? "A" : ""} turned=${settings} effective=${effective[0]} onTurn=${setSettings} />
        ${compared ? html`<${SettingsForm} name="B" turned=${compared} effective=${effective[1]} onTurn=${setCompared} />` : null}
      </div>
      <p class="compare">
        <label><input type="checkbox" checked=${Boolean(compared)} onChange=${(event) => setCompared(event.target.checked ? { ...settings } : null)} /> Compare two settings</label>
      </p>
      ${index && index.keeps_documents ? html`<${AddDocuments} listed=${documents} index=${index} onMore=${() => refresh(documents.next)} onAdded=${async () => { await refresh(); if (view) ask(); }} onProblem=${setProblem} open=${empty} />` : null}
      <p role="status" class="busy">${busy ? "Asking …" : view ? html`<span class="unseen">Answered: ${count(view.answers[0].passages.length, "passage")}</span>` : ""}</p>
      ${problem && !locked ? html`<p role="alert" class="problem" dir="auto">${problem.message}</p>` : null}
      ${locked ? html`<${KeyDialog} refused=${sessionStorage.getItem("retrivex-key") ? problem.message : ""} onKey=${useKey} />` : null}
      ${view ? html`<${Answers} view=${view} />` : html`<p class="empty">${empty ? "Nothing to ask yet." : "Ask something: the passages that a model would read, and why, appear here."}</p>`}
    </main>`;
}

const recorded = document.getElementById("recorded");
const root = document.getElementById("app");
root.replaceChildren();
render(recorded ? html`<${Recorded} view=${JSON.parse(recorded.textContent)} />` : html`<${Live} />`, root);
