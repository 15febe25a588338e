"""Flat passages of any retriever: near-duplicates out, the best at the edges, within a budget, with reasons."""

from retrivex import Reorderer

passages = [
    {"id": "p1", "text": "Bees spend the winter in a cluster.", "score": 0.91, "metadata": {"source_id": "bees.txt"}},
    {"id": "p2", "text": "Bees spend the winter in a cluster!", "score": 0.90, "metadata": {"source_id": "copy.txt"}},
    {"id": "p3", "text": "Wasps do not; only young queens survive.", "score": 0.74, "metadata": {"source_id": "wasps"}},
    {"id": "p4", "text": "A cluster keeps warm by shivering.", "score": 0.83, "metadata": {"source_id": "bees.txt"}},
    {"id": "p5", "text": "Hives are painted in light colours.", "score": 0.35, "metadata": {"source_id": "hives"}},
]

reorderer = Reorderer(strategy="edge_balanced", deduplicate=True, deduplicate_threshold=0.9, min_score=0.3)
for passage in reorderer.reorder(passages, "How do bees get through the winter?"):
    print(passage["id"], passage["text"])

result = reorderer.reorder_with_diagnostics(passages, max_tokens=20, tokenizer=lambda text: len(text.split()))
for passage, why in zip(result.passages, result.explanations, strict=True):
    print(f"{passage['id']}: rank {why.priority_rank}, at the {why.placement}")
for dropped in result.diagnostics.dropped:
    print(f"{dropped.id} left out: {dropped.reason} {dropped.duplicate_of or ''}")
