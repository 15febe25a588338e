"""A prompt as messages, as blocks that an API cites by itself, and its citations led back to the document."""

from itertools import pairwise

from retrivex import Chunk, ChunkMetadata, RetrievalConfig, SeedHit, SpanComposer
from retrivex.prompts import ChatStyle

DOCUMENT = "Bees live in hives. A hive has one queen. She lays up to 2,000 eggs a day in spring. Drones do nothing."
cuts = [0, 20, 42, 85, len(DOCUMENT)]
chunks = [
    Chunk(DOCUMENT[start:end], ChunkMetadata("bees.pdf", i, start, end, page=1 + i // 2))
    for i, (start, end) in enumerate(pairwise(cuts))
]
chunk_store = {chunk.key: chunk for chunk in chunks}
question = "How many eggs does a queen lay?"
composer = SpanComposer(RetrievalConfig(window=0, token_budget=100))
made = composer.compose([SeedHit(chunks[0], 0.4), SeedHit(chunks[2], 0.9)], chunk_store, query=question)

for message in made.chat(style=ChatStyle(calibrated=True), max_tokens=400, answer_reserve=100).messages:
    print(f"{message['role']}: {message['content']}\n")

prompt = made.chat(api="anthropic")  # messages=prompt.messages, system=prompt.system
for part in prompt.messages[-1]["content"]:
    print(part)

# what the API might answer
citation = {"type": "char_location", "document_index": 0, "start_char_index": 9, "end_char_index": 31}
for place in prompt.places([{"type": "text", "text": "Up to 2,000.", "citations": [citation]}]):
    for cited in made.resolve(place):
        print(f"{cited.doc_id}, page {cited.page}: {DOCUMENT[cited.char_start : cited.char_end]!r}")
