// Runs cases from stdin through rag-chunk-reorder, which is installed in the folder named by the argument.
const { createRequire } = require("node:module");
const { readFileSync } = require("node:fs");

const peer = createRequire(process.argv[2] + "/")("rag-chunk-reorder");

const answer = (asked) => {
  const { passages, threshold, keep, weight, penalty, points, relevant, k, references } = asked;
  const texts = passages.map((passage) => passage.text);
  const scored = passages.map((passage, at) => ({ ...passage, priorityScore: passage.score, originalIndex: at }));
  const settings = { enabled: true, lambda: weight, sourceDiversityWeight: penalty, sourceField: "sourceId" };
  return {
    kept: peer.deduplicateChunks(passages, { threshold, keep }).map((passage) => passage.id),
    diverse: peer.rerankWithDiversity(scored, settings).map((passage) => passage.id),
    measures: {
      recall: peer.keyPointRecall(points, texts),
      precision: peer.keyPointPrecision(points, texts),
      ndcg: peer.ndcg(passages.map((passage) => passage.score)),
      positions: peer.positionEffectiveness(scored),
      recallAtK: peer.retrievalRecallAtK(passages, relevant, k),
      exactMatch: peer.exactMatch(asked.answer, references),
      f1: peer.tokenF1(asked.answer, references),
      answerability: peer.answerabilityMatch(asked.answer, references),
      citation: peer.citationCoverage(asked.answer, texts),
      faithfulness: peer.faithfulness(asked.answer, texts),
    },
  };
};

console.log(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map(answer)));
