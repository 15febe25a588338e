"""Adapters to frameworks, one flat module each, imported as `retrivex.adapters.<name>`.

A module here imports its framework at the top, translates, and calls the core. Import only the one you need: each needs
the extra of the same name, as in `pip install 'retrivex-rag[langchain]'`. What a module outgrew stands in files that
begin with its name, and is public only through it.
"""
