// Documents of the index, and new ones: dropped, chosen or pasted.
import { html, useEffect, useRef, useState } from "./preact.js";
import { addFile } from "./api.js";
import { count } from "./words.js";

export function AddDocuments({ listed, index, onMore, onAdded, onProblem, open }) {
  const [said, setSaid] = useState("");
  const [over, setOver] = useState(false);
  const [scoped, setScoped] = useState(false); // whether the key has several scopes, of which a document gets one
  const [waiting, setWaiting] = useState(null); // files that were refused for their scope, and what follows them
  const text = useRef(null);
  const name = useRef(null);
  const scope = useRef(null);

  const add = async (files, done = () => {}) => {
    let added = 0;
    for (const file of files) {
      setSaid(`Reading ${file.name} …`);
      try {
        await addFile(file, index.name, scope.current ? scope.current.value.trim() : "");
        added += 1;
      } catch (error) {
        setSaid(`${file.name}: ${error.message}`);
        if (error.status === 401) onProblem(error);
        const asks = error.kind === "scope";
        if (asks) setScoped(true);
        setWaiting(asks || (scope.current && error.status === 403) ? { files: files.slice(added), done } : null);
        await onAdded();
        return;
      }
    }
    setWaiting(null);
    done();
    setSaid(`${count(added, "document")} added`);
    await onAdded();
  };

  useEffect(() => {
    if (waiting) scope.current.focus();
  }, [waiting]);
  useEffect(() => {
    if (index.read_only) return undefined;
    const stop = (event) => {
      if (!event.dataTransfer.types.includes("Files")) return;
      event.preventDefault();
      setOver(event.type === "dragover");
    };
    const drop = (event) => {
      stop(event);
      if (event.dataTransfer.files.length) add([...event.dataTransfer.files]);
    };
    const listeners = { dragover: stop, dragleave: stop, drop };
    for (const [type, listener] of Object.entries(listeners)) document.addEventListener(type, listener);
    return () => {
      for (const [type, listener] of Object.entries(listeners)) document.removeEventListener(type, listener);
    };
  });

  const paste = (event) => {
    event.preventDefault();
    const title = (name.current.value.trim() || "pasted").replace(/\.(txt|md)$/, "");
    const pasted = text.current.value;
    add([new File([pasted], `${title}.txt`, { type: "text/plain" })], () => {
      if (text.current && text.current.value === pasted) text.current.value = "";
    });
  };
  const retry = (event) => {
    event.preventDefault();
    if (waiting) add(waiting.files, waiting.done);
  };

  const documents = listed ? listed.documents : [];
  const names = documents.length
    ? html`<ul class="names" tabindex="0" aria-label="Documents in the index">${documents.map((doc) => html`<li><bdi>${doc.doc_id}</bdi></li>`)}</ul>
        ${listed.next ? html`<p><button type="button" onClick=${onMore}>Show more documents</button></p>` : null}`
    : null;
  const title = documents.length ? `${count(documents.length, "document")}${listed.next ? " or more" : ""} in the index` : null;
  if (index.read_only) return html`<details class="add"><summary>${title || "Documents"}</summary>${names}</details>`;
  return html`<details class="add ${over ? "over" : ""}" open=${open || over}>
    <summary>${title || (listed === null ? "Documents" : "The index is empty: add a document")}</summary>
    <div class="add-parts">
      <div>
        <p><label for="files">Choose files, or drop them anywhere on this page</label></p>
        <input id="files" type="file" multiple onChange=${(event) => { add([...event.target.files]); event.target.value = ""; }} />
        <p role="status" class="said" dir="auto">${said}</p>
        ${scoped ? html`<form onSubmit=${retry}>
          <p><label for="scope">Scope of new documents, one of your key</label> <input id="scope" ref=${scope} type="text" autocomplete="off" dir="auto" required /></p>
          ${waiting ? html`<p><button type="submit">Add with this scope</button></p>` : null}
        </form>` : null}
        ${names}
      </div>
      <form onSubmit=${paste}>
        <p><label for="paste-name">Or paste a text, under the name</label> <input id="paste-name" ref=${name} type="text" placeholder="pasted" /></p>
        <textarea id="paste" ref=${text} rows="4" dir="auto" aria-label="Text to add" required></textarea>
        <p><button type="submit">Add the text</button></p>
      </form>
    </div>
  </details>`;
}
