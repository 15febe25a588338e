// Times rag-chunk-reorder's reorderSync (scoreSpread) on the numbers of passages on stdin, sorted best first.
// Prints one line of JSON: {number of passages: median microseconds of processor time}.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";

const { Reorderer } = createRequire(process.argv[2] + "/")("rag-chunk-reorder");
const reorderer = new Reorderer({ strategy: "scoreSpread" });
const times = {};
for (const size of JSON.parse(readFileSync(0, "utf8"))) {
  const chunks = Array.from({ length: size }, (_, i) => ({ id: String(i), text: String(i), score: 1 - i / size }));
  const calls = Math.max(3, Math.floor(100000 / size));
  const found = [];
  for (let round = 0; round < 9; round++) {
    const began = process.cpuUsage();
    for (let call = 0; call < calls; call++) reorderer.reorderSync(chunks);
    const { user, system } = process.cpuUsage(began);
    found.push((user + system) / calls);
  }
  times[size] = found.sort((a, b) => a - b)[4]; // the first rounds compile
}
console.log(JSON.stringify(times));
