"""Adapters to frameworks and vector stores, one folder each, imported as `retrivex.adapters.<name>`.

An adapter imports its framework, translates in, calls the core, and translates out. Import only the one you need: each
needs the extra of the same name, as in `pip install 'retrivex-rag[langchain]'`. `base` holds what all of them share.
"""
