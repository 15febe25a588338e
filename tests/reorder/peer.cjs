// Runs the npm package on cases from standard input, one JSON array; prints one answer for each.
// Functions have no JSON: a case names them, and they are looked up here.
"use strict";
const { readFileSync } = require("node:fs");
const { createRequire } = require("node:module");
const peer = createRequire(process.argv[2] + "/")("rag-chunk-reorder");

const functions = {
  words: (text) => (text.trim() ? text.trim().split(/\s+/).length : 0),
  vowels: (text) => (text.match(/[aeiou]/g) ?? []).length,
  byWeight: (a, b) => (a.metadata?.weight ?? 0) - (b.metadata?.weight ?? 0),
  // gives the scores that come with the passages, as a model would
  reranker: {
    rerank: async (chunks) => ({ chunks, scores: chunks.map((chunk) => chunk.metadata.newScore) }),
  },
};

function withFunctions(config) {
  const made = { ...config };
  for (const name of ["tokenCounter", "charCounter", "customComparator", "reranker"])
    if (name in made) made[name] = functions[made[name]];
  return made;
}

async function answer({ call = "reorder", chunks, query, config }) {
  try {
    if (call === "stream") {
      const out = [];
      for await (const chunk of new peer.Reorderer(withFunctions(config)).reorderStream(chunks.values(), query)) out.push(chunk);
      return { ids: out.map((chunk) => chunk.id) };
    }
    if (call !== "reorder") return { ids: (await peer[call](chunks, query, withFunctions(config))).map((chunk) => chunk.id) };
    const reorderer = new peer.Reorderer({ ...withFunctions(config), includeExplain: true });
    const result = await reorderer.reorderWithDiagnostics(chunks, query);
    const why = result.chunks.map((chunk) => chunk.metadata.reorderExplain);
    return { ids: result.chunks.map((chunk) => chunk.id), why, diagnostics: result.diagnostics };
  } catch (error) {
    return { error: String(error.message ?? error) };
  }
}

(async () => {
  const cases = JSON.parse(readFileSync(0, "utf8"));
  const answers = [];
  for (const one of cases) answers.push(await answer(one));
  process.stdout.write(JSON.stringify(answers));
})();
