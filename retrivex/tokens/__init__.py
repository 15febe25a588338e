"""Text in, numbers of tokens out."""

from retrivex.tokens.stored import StoredCount
from retrivex.tokens.tokenizer import Tokenizer, TokenizerSpec, get_tokenizer

__all__ = ["StoredCount", "Tokenizer", "TokenizerSpec", "get_tokenizer"]
