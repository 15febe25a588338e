// Ask a running service, look up what the answer cites, and see what an error is.
import createClient from "openapi-fetch";
import type { components, paths } from "./retrivex.js";

type Problem = components["schemas"]["Problem"];

const [url = "http://127.0.0.1:8080"] = process.argv.slice(2);
const key = process.env.RETRIVEX_KEY;
const headers = key ? { Authorization: `Bearer ${key}` } : {};
const client = createClient<paths, "application/json" | "application/problem+json">({ baseUrl: url, headers });

function unwrap<T>({ data, error }: { data?: T; error?: Problem }): T {
  if (data === undefined) throw new Error(`${error?.status}: ${error?.detail}`);
  return data;
}

const question = "Which meals are paid on a business trip?";
const made = unwrap(await client.POST("/v1/query", { body: { question, config: { token_budget: 300 } } }));
console.log(made.text);
for (const citation of made.citations) {
  const found = unwrap(await client.POST("/v1/resolve", { body: citation }));
  console.log(`[${citation.number}] ${found.doc_id} (${found.title}), ${[...found.text].length} characters`);
}
const requests = [{ question: "Who signs a claim?" }, { question: "Who?", index: "archive" }];
for (const item of unwrap(await client.POST("/v1/query/batch", { body: { requests } })).answers) {
  console.log(item.answer?.citations[0]?.doc_id ?? `${item.problem?.status}: ${item.problem?.detail}`);
}
