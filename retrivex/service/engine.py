"""What every interface calls: requests as plain JSON types in, compositions and plain JSON types out.

HTTP, MCP and the conventions of others translate to and from this class. It knows nothing of them, checks each request
against the limits and the scopes of who asks, and raises a kind of `RetrivexError` for each thing that can go wrong.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from retrivex.composer.composer import SpanComposer
from retrivex.composer.requests import compose_request, read_request
from retrivex.composer.texts import Floats, score_embedded, text_composer
from retrivex.composition.composition import Composition
from retrivex.config import RetrievalConfig
from retrivex.encoders.queries import encode_beside
from retrivex.model.chunk import Scope, allowed_scopes
from retrivex.model.question import name_question
from retrivex.prompts import Prompt
from retrivex.reorder import Reorderer
from retrivex.service.access import Access
from retrivex.service.answers import Added
from retrivex.service.bodies import (
    DEFAULT_INDEX,
    DeduplicateBody,
    PromptBody,
    QueryBody,
    ReorderBody,
    ResolveBody,
    ViewBody,
    read_body,
)
from retrivex.service.bounds import Bounds, check_nesting
from retrivex.service.collection import CollectionIndex
from retrivex.service.cutting import read_and_cut
from retrivex.service.errors import AccessError, NotFoundError
from retrivex.service.index import Index
from retrivex.service.playground.settings import to_options, without_files, write_calls
from retrivex.service.playground.view import Answer, write_view
from retrivex.service.uploads import check_name, place
from retrivex.similarity.deduplicate import find_duplicates
from retrivex.stores.sqlite.inspection import DocumentInfo
from retrivex.tokens.tokenizer import FILE_SUFFIX, Tokenizer, resolve_tokenizer

AnyIndex: TypeAlias = Index | CollectionIndex

ANYONE = Access()
"""Who asks where no keys are needed: sees every scope that it names."""


class Engine:
    """Composes, asks, orders and keeps documents, within limits; safe to share between threads.

    Parameters
    ----------
    indexes : that questions go to
    config : options that requests start from
    bounds : the most that one request may ask for
    tokenizer : counts tokens; None takes that of the config

    Examples
    --------
    >>> engine = Engine()
    >>> hits = [{"doc_id": "bees", "chunk_id": 0, "score": 0.8, "text": "Bees sleep."}]
    >>> engine.compose({"question": "Do bees sleep?", "hits": hits}).text
    '[1] Bees sleep.'
    """

    def __init__(
        self,
        indexes: Iterable[AnyIndex] = (),
        config: RetrievalConfig | None = None,
        *,
        bounds: Bounds | None = None,
        tokenizer: Tokenizer | None = None,
    ) -> None:
        self.indexes = {index.name: index for index in indexes}
        self.config = config or RetrievalConfig()
        self.bounds = bounds or Bounds()
        self.tokenizer = tokenizer or resolve_tokenizer(self.config.tokenizer)[0]
        self._composer = SpanComposer(self.config, tokenizer=self.tokenizer)
        self._text_composer = text_composer(self.config.coefficients, self.tokenizer)

    def close(self) -> None:
        """Close the indexes."""
        for index in self.indexes.values():
            index.close()

    def index(self, name: str = DEFAULT_INDEX) -> AnyIndex:
        """Return an index.

        Raises
        ------
        NotFoundError
            If there is none of that name.
        """
        if name not in self.indexes:
            raise NotFoundError(f"there is no index {name!r}: this service has {', '.join(self.indexes) or 'none'}")
        return self.indexes[name]

    # -- contexts

    def compose(self, record: Mapping[str, Any], access: Access = ANYONE) -> Composition:
        """Return the context that hits and chunks of a request make.

        Parameters
        ----------
        record : by `schemas/compose-request-1.json`
        access : who asks. Chunks come with the request: without a scope it sees those of the key and those without one

        Raises
        ------
        RetrivexError
            If it cannot be composed.
        """
        record = name_question(record, "question")
        self._check_compose(record)
        overrides = record.get("config") or {}
        strict = overrides.get("strict", self.config.strict) if isinstance(overrides, dict) else False
        request = read_request(record, {}, strict=strict is True)
        scope = access.narrow(request.scope)
        if request.scope is None and access.scopes is not None:
            scope = access.scopes | {None}
        made = compose_request(self._composer, request, scope)
        self.bounds.check_composition(made)
        return made

    def query(self, record: Mapping[str, Any], access: Access = ANYONE) -> Composition:
        """Return the context for a question to an index.

        Parameters
        ----------
        record : by `bodies.QueryBody`
        access : who asks

        Raises
        ------
        RetrivexError
            If the request is wrong, or the index fails.
        """
        body = read_body(QueryBody, record)
        asked = body.sub_questions or ()
        self.bounds.check_questions(asked)
        self.bounds.check_count("hits", body.k * max(1, len(asked)), self.bounds.hits)
        self.bounds.check_texts([body.question])
        self.bounds.check_options({"whole_documents": body.whole_documents}, self._tokenizers)
        self._check_config(body.config)
        return self._ask(self.index(body.index), body, access.narrow(body.scope))

    def view(self, record: Mapping[str, Any], access: Access = ANYONE, *, address: str = "") -> dict[str, Any]:
        """Return the answer to a question as the page shows it, or two of them side by side.

        Parameters
        ----------
        record : by `bodies.ViewBody`
        access : who asks
        address : of the service, for what is copied from the page

        Raises
        ------
        RetrivexError
            If the request is wrong, or the index fails.
        """
        body = read_body(ViewBody, record)
        self.bounds.check_texts([body.question])
        index, scope = self.index(body.index), access.narrow(body.scope)
        asks: dict[str, Any] = {
            "base": without_files(self.config),
            "address": address,
            "index": None if body.index == DEFAULT_INDEX else body.index,
            "scope": body.scope,
            "keyed": access.key is not None,
        }
        answers = []
        for given in (body.settings, *([] if body.compare is None else [body.compare])):
            options = to_options(given)
            self._check_config(options)
            made = self._ask(index, read_body(QueryBody, {"question": body.question, "config": options}), scope)
            shown = without_files(self.config.override(**options))
            code = write_calls(body.question, shown, **asks) if address else {}
            answers.append(Answer(made, shown, index.fetch_chunks(made, scope), code))
        return write_view(answers)

    def prompt(self, record: Mapping[str, Any], access: Access = ANYONE) -> tuple[Prompt, Composition]:
        """Return the messages of a prompt, and the composition that they show.

        Parameters
        ----------
        record : by `bodies.PromptBody`
        access : who asks

        Raises
        ------
        RetrivexError
            If the request is wrong, or does not fit its tokens.
        """
        body = read_body(PromptBody, record)
        self.bounds.check_options({"max_tokens": body.max_tokens}, self._tokenizers)
        self.bounds.check_texts([body.question])
        self.bounds.check_total("history", (text for turn in body.history for text in turn.values()))
        made = self._composition_of(body, access)
        self.bounds.check_total("passages of the composition", _shown_texts(made))
        prompt = made.chat(
            body.question,
            api=body.api,
            history=body.history,
            max_tokens=body.max_tokens,
            answer_reserve=body.answer_reserve,
            tokenizer=self.tokenizer,  # and not the one that a composition names, which might be a file
        )
        return prompt, made

    # -- passages

    def reorder(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Return passages in order, and what was done to them.

        Parameters
        ----------
        record : by `bodies.ReorderBody`

        Raises
        ------
        RetrivexError
            If the request is wrong.
        """
        body = read_body(ReorderBody, record)
        self._check_passages(body.passages)
        self.bounds.check_options(body.options, self._tokenizers)
        options = {"tokenizer": self.tokenizer, **body.options}
        if options["tokenizer"] in self._tokenizers:
            options["tokenizer"] = self.tokenizer
        reorderer = Reorderer(**options) if body.preset is None else Reorderer.preset(body.preset, **options)
        self.bounds.check_options({"max_tokens": reorderer.options.max_tokens}, self._tokenizers)
        made = reorderer.reorder_with_diagnostics(body.passages, body.question)
        return {"passages": made.passages, "diagnostics": dataclasses.asdict(made.diagnostics)}

    def deduplicate(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Return passages without repetitions, and which were left out.

        Parameters
        ----------
        record : by `bodies.DeduplicateBody`

        Raises
        ------
        RetrivexError
            If the request is wrong.
        """
        body = read_body(DeduplicateBody, record)
        self._check_passages(body.passages)
        found = find_duplicates(body.passages, body.threshold, body.keep, compare_with=body.compare_with)
        gone = {duplicate.position for duplicate in found}
        return {
            "passages": [passage for position, passage in enumerate(body.passages) if position not in gone],
            "duplicates": [dataclasses.asdict(duplicate) for duplicate in found],
        }

    def score_texts(self, question: str, texts: Sequence[str]) -> tuple[Floats, str]:
        """Return the log-odds of each text that it holds evidence, and the name of the encoder that read them.

        Parameters
        ----------
        question : as asked
        texts : to be ranked

        Raises
        ------
        NotFoundError
            If the index `default` has no encoder.
        RetrivexError
            If there is too much of something, or the encoder fails.
        """
        self.bounds.check_count("texts", len(texts), self.bounds.hits)
        self.bounds.check_texts([question, *texts])
        encoder = self.index().encoder
        if encoder is None:
            raise NotFoundError(
                f"the index {DEFAULT_INDEX!r} has no encoder, which ranks texts: start the service with --embed MODEL"
            )
        vectors = encode_beside(encoder, question, texts)
        return score_embedded(self._text_composer, question, texts, vectors), encoder.name

    # -- documents

    def list_documents(
        self,
        access: Access = ANYONE,
        *,
        index: str = DEFAULT_INDEX,
        scope: str | list[str | None] | None = None,
        after: str = "",
        most: int = 100,
    ) -> list[DocumentInfo]:
        """Return the documents that who asks may see, by name: at most `most`, behind the name `after`.

        Raises
        ------
        RetrivexError
            If there is no such index, `most` is too many, or the scope is none of the key's.
        """
        self.bounds.check_count("documents", most, self.bounds.listed)
        everything = access.scopes is None and scope is None
        visible = None if everything else allowed_scopes(access.narrow(scope))
        return self._keeper(index).list_documents(visible, after, most)

    def add_file(
        self, raw: bytes, name: str, access: Access = ANYONE, *, index: str = DEFAULT_INDEX, scope: str | None = None
    ) -> list[Added]:
        """Read an uploaded file and write its documents, each in one transaction.

        Parameters
        ----------
        raw : its bytes
        name : of the file; folders in it do not count
        access : who asks
        index : where it goes
        scope : that it gets; may be left out where the key carries one

        Raises
        ------
        RetrivexError
            If it cannot be read, may not be written, or the index fails.
        """
        target, owner = self._writable(index), access.owner(scope)
        found = read_and_cut(raw, check_name(name), self.tokenizer, self._tokenizer_spec, self.bounds)
        # all of them before the first is written
        placed = [place(cut, owner, apart=access.scopes is not None) for cut in found]
        return [Added(cut.document.doc_id, *target.add(cut)) for cut in placed]

    def delete_document(
        self,
        doc_id: str,
        access: Access = ANYONE,
        *,
        index: str = DEFAULT_INDEX,
        scope: str | list[str | None] | None = None,
    ) -> None:
        """Delete a document.

        Raises
        ------
        NotFoundError
            If there is none that who asks may see.
        """
        self._writable(index).delete(doc_id, access.narrow(scope))

    def resolve(self, record: Mapping[str, Any], access: Access = ANYONE) -> dict[str, Any]:
        """Return what a citation points to, with the text around it.

        Parameters
        ----------
        record : by `bodies.ResolveBody`
        access : who asks

        Raises
        ------
        NotFoundError
            If there is no such document or chunk, or none that who asks may see.
        RequestError
            If the citation points outside its document.
        """
        body = read_body(ResolveBody, record)
        if body.char_start is not None and body.char_end is not None:
            self.bounds.check_count("characters", body.char_end - body.char_start, self.bounds.characters)
        return self.index(body.index).resolve(body, access.narrow(body.scope))

    # -- inner workings

    def _keeper(self, name: str) -> Index:
        index = self.index(name)
        if not isinstance(index, Index):
            raise NotFoundError(f"{name!r} is a collection of a vector store: it has no list of documents; ask it")
        return index

    def _writable(self, name: str) -> Index:
        index = self.index(name)
        if not isinstance(index, Index) or index.read_only:
            raise AccessError(f"{name!r} is read-only: documents are added where it is made, or filled")
        return index

    def _ask(self, index: AnyIndex, body: QueryBody, scope: Scope) -> Composition:
        made = index.ask(self._composer, body, scope)
        self.bounds.check_composition(made)
        return made

    @property
    def _tokenizers(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(("auto", "estimate", self.config.tokenizer, self.tokenizer.name)))

    @property
    def _tokenizer_spec(self) -> str:
        """What makes the tokenizer in another process: its name, or the path of its file."""
        given = self.config.tokenizer
        return given if given.endswith(FILE_SUFFIX) else self.tokenizer.name

    def _composition_of(self, body: PromptBody, access: Access) -> Composition:
        if body.query is not None:
            return self.query(body.query, access)
        if body.compose is not None:
            return self.compose(body.compose, access)
        assert body.composition is not None  # the body was checked
        return Composition.from_dict(body.composition)

    def _check_compose(self, record: Mapping[str, Any]) -> None:
        check_nesting(record)
        bounds = self.bounds
        flat = [hit for part in _items(record.get("hits")) for hit in (part if isinstance(part, list) else [part])]
        given = [*_items(record.get("chunks")), *_items(record.get("parents"))]
        bounds.check_count("hits", len(flat), bounds.hits)
        bounds.check_count("chunks and parents", len(given), bounds.chunks)
        bounds.check_texts([record.get("question")])
        bounds.check_questions(record["hits"] if isinstance(record.get("hits"), dict) else ())
        bounds.check_options({"whole_documents": record.get("whole_documents")}, self._tokenizers)
        bounds.check_texts(item.get("text") if isinstance(item, dict) else item for item in (*flat, *given))
        objects = [item for item in (*flat, *given) if isinstance(item, dict)]
        bounds.check_names(item.get(name) for item in objects for name in ("doc_id", "chunk_id"))
        self._check_config(record.get("config"))

    def _check_config(self, given: Any) -> None:
        """Refuse options beyond the bounds: as they are given, and as they are read, since "9" is 9 to a config."""
        self.bounds.check_options(given, self._tokenizers)
        if isinstance(given, Mapping) and all(isinstance(name, str) for name in given):
            made = self.config.override(**given)
            changed = {name: value for name, value in made if value != getattr(self.config, name)}
            self.bounds.check_options(changed, self._tokenizers)

    def _check_passages(self, passages: list[Any]) -> None:
        self.bounds.check_count("passages", len(passages), self.bounds.hits)
        self.bounds.check_texts(item.get("text") if isinstance(item, dict) else item for item in passages)


def _items(value: Any) -> list[Any]:
    """Return the items of a list, or the values of an object; what is neither is left to whoever reads it."""
    return value if isinstance(value, list) else [*value.values()] if isinstance(value, dict) else []


def _shown_texts(made: Composition) -> Iterator[str]:
    """Yield what a prompt shows of passages, the headings above them as well."""
    for span in made.spans:
        yield from (span.text, span.prefix or "", *(span.chunks[0].metadata.heading_path or ()))
