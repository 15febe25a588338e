// Times rag-chunk-reorder's deduplication of the passages on stdin: {"passages": [...], "threshold": t, "keep": k}.
// Prints one line of JSON: {"ms": processor time, "kept": ids}.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";

const { deduplicateChunks } = createRequire(process.argv[2] + "/")("rag-chunk-reorder");
const { passages, threshold, keep } = JSON.parse(readFileSync(0, "utf8"));
deduplicateChunks(passages.slice(0, 20), { threshold, keep }); // compiled before it is timed
const began = process.cpuUsage();
const kept = deduplicateChunks(passages, { threshold, keep });
const { user, system } = process.cpuUsage(began);
console.log(JSON.stringify({ ms: (user + system) / 1000, kept: kept.map((passage) => passage.id) }));
