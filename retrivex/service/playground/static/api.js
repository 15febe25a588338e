// What the page asks of the service. Addresses are relative, so that it also works behind a prefix.

const KEY = "retrivex-key";

export class Problem extends Error {
  constructor(status, message, type) {
    super(message);
    this.status = status;
    this.kind = String(type || "").split(":").pop();
  }
}

export function rememberKey(key) {
  sessionStorage.setItem(KEY, key);
}

async function call(path, options = {}) {
  const key = sessionStorage.getItem(KEY);
  const headers = { ...options.headers, ...(key ? { Authorization: `Bearer ${key}` } : {}) };
  let response;
  try {
    response = await fetch(path, { ...options, headers });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, "The service does not answer. Is it still running?");
  }
  const body = await response.json().catch(() => null);
  if (!response.ok) {
    const said = body && (body.detail || body.title);
    throw new Problem(response.status, said || `The service answered ${response.status}.`, body && body.type);
  }
  return body;
}

export function askFor(request, signal) {
  const body = JSON.stringify(request);
  return call("v1/view", { method: "POST", headers: { "Content-Type": "application/json" }, body, signal });
}

export async function listIndexes() {
  const found = await call("v1/indexes");
  return found.indexes;
}

// A page of them, behind the name `after`: `documents`, and `next`, null on the last page.
export function listDocuments(index, after = "") {
  return call(`v1/documents?${new URLSearchParams({ index, after })}`);
}

export function addFile(file, index, scope) {
  const form = new FormData();
  form.append("index", index);
  if (scope) form.append("scope", scope);
  form.append("file", file, file.name);
  return call("v1/documents", { method: "POST", body: form });
}
