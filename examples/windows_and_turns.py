"""A context over several prompts, a prompt that an API can cache, and a second turn that repeats nothing."""

from retrivex import Chunk, ChunkMetadata, RetrievalConfig, SeedHit, SpanComposer
from retrivex.composition.answers import answer_windows
from retrivex.composition.conversation import Conversation
from retrivex.composition.windows import compose_windows
from retrivex.prompts import ChatStyle

NOTES = {
    "bees": "A queen bee lays up to 2,000 eggs a day in spring.",
    "ants": "A queen of army ants lays 100,000 eggs a day.",
    "wasps": "A wasp queen lays 200 eggs a day at most.",
}
chunk_store = {(name, 0): Chunk(text, ChunkMetadata(name, 0)) for name, text in NOTES.items()}
hits = [SeedHit(chunk, 0.9) for chunk in chunk_store.values()]
composer = SpanComposer(RetrievalConfig(numbered=True, keep_top=3), tokenizer=len)  # a character is a token here
question = "How many eggs does a queen lay a day?"


def model(prompt: str) -> str:
    """Stand in for a model: keep the answer so far and cite what is new."""
    so_far = prompt.split("<answer>\n")[1].split("\n</answer>")[0] if "<answer>\n" in prompt else ""
    return f"{so_far} {' '.join(line for line in prompt.splitlines() if line.startswith('['))}".strip()


made = composer.compose(hits, chunk_store, query=question)
windows = compose_windows(made, window_tokens=850, answer_reserve=200, mode="refine")
print(f"{len(windows)} windows with the sources", *(window.numbers for window in windows))
answer = answer_windows(windows, model)
print(answer)
print([citation.doc_id for citation in made.resolve("[1-3]")])

talk = Conversation(keep_turns=5)
talk.compose(composer, hits[:2], chunk_store, query=question)
talk.answered("Up to 2,000 [1], army ants 100,000 [2].")
talk.compose(composer, hits, chunk_store, query="And wasps?")
prompt = talk.chat(api="anthropic", style=ChatStyle(cache_until="history"))
print("cached up to:", prompt.messages[1]["content"])
print("new:", [source.text for source in prompt.sources], "is source", prompt.sources[0].number)
