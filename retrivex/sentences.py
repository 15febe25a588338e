from retrivex.chunking.sentences import sentence_ranges  # noqa
