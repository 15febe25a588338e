"""Text in, numbers of tokens out."""

from retrivex.tokens.tokenizer import Tokenizer, TokenizerSpec, get_tokenizer

__all__ = ["Tokenizer", "TokenizerSpec", "get_tokenizer"]
