// Documents of the index, and new ones: dropped, chosen or pasted.
import { html, useEffect, useRef, useState } from "./preact.js";
import { addFile } from "./api.js";
import { count } from "./words.js";

export function AddDocuments({ listed, index, onMore, onAdded, onProblem, open }) {
  const [said, setSaid] = useState("");
  const [over, setOver] = useState(false);
  const text = useRef(null);
  const name = useRef(null);

  const add = async (files) => {
    let added = 0;
    for (const file of files) {
      setSaid(`Reading ${file.name} …`);
      try {
        await addFile(file, index.name);
        added += 1;
      } catch (error) {
        setSaid(`${file.name}: ${error.message}`);
        if (error.status === 401) onProblem(error);
        await onAdded();
        return;
      }
    }
    setSaid(`${count(added, "document")} added`);
    await onAdded();
  };

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
    add([new File([text.current.value], `${title}.txt`, { type: "text/plain" })]);
    text.current.value = "";
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
