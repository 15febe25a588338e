"""One call of the Reorderer: its steps in order, with a log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any, Generic, NamedTuple, TypeVar

from retrivex.errors import quoted
from retrivex.ordering.strategy import Packing
from retrivex.reorder.arrangement import arrange, choose_strategy
from retrivex.reorder.budget import Budget
from retrivex.reorder.diagnostics import CallLog, Explanation, ReorderDiagnostics, ReorderResult, annotate
from retrivex.reorder.options import ReorderOptions
from retrivex.reorder.packing import fit, resolve_packing
from retrivex.reorder.passage import Candidate, Placed
from retrivex.reorder.ranking import filter_candidates, limit, rank
from retrivex.reorder.reading import InputReport, PassageReader
from retrivex.rerank import RerankReply, RerankRequest

T = TypeVar("T")

_MAX_NAMED = 5  # passages that a warning names


class _Packed(NamedTuple, Generic[T]):
    """The passages that stay, in order, with the strategy and packing that were used."""

    kept: list[Placed[T]]
    strategy: str
    reason: str
    packing: Packing
    budget: Budget


class Call(Generic[T]):
    """The steps of one call, from the passages given to those returned.

    Validate, limit, rerank, clamp, filter by score, deduplicate, rank, diversify, choose a strategy (`auto`), group,
    order, pack into the budget, cut to `top_k`. The reranker is asked by the caller of `request` and `rescore`, as it
    may have to be awaited.
    """

    def __init__(self, passages: Iterable[T], query: str | None, options: ReorderOptions) -> None:
        self.options = options
        self.query = query
        self.log = CallLog()
        self._rerank: dict[str, Any] = {}
        with self.log.step("read"):
            reader = PassageReader[T](options.fields, options.validation)
            candidates = reader.read(passages)
            self._report: InputReport = reader.report
            self.log.dropped.extend(reader.report.dropped)
            self.log.warnings.extend(reader.report.warnings())
            self.candidates = limit(candidates, options, self.log)
        self._used_count = len(self.candidates)

    def request(self) -> RerankRequest | None:
        """Return what a reranker is to score; None without a reranker, a query or passages."""
        if self.options.reranker is None:
            return None
        if self.query is None or not self.query.strip():
            self._rerank["rerank_skipped"] = True
            self.log.warnings.append("passages were not reranked: a reranker reads the query; pass query=...")
            return None
        return RerankRequest(self.query, tuple(one.text for one in self.candidates)) if self.candidates else None

    def rescore(self, reply: RerankReply) -> None:
        """Take a reranker's scores, or keep the original ones where it failed."""
        self._rerank["rerank_ms"] = self.log.step_ms.get("rerank")
        if reply.problem is not None or reply.scores is None:
            self._rerank["rerank_failed"] = True
            self.log.warnings.append(f"passages were not reranked and keep their scores: {reply.problem}")
            return
        self._rerank["reranked"] = True
        scored = zip(self.candidates, reply.scores.tolist(), strict=True)
        self.candidates = [one._replace(score=score) for one, score in scored]
        if reply.cut:
            named = ", ".join(quoted(self.candidates[place].id) for place in reply.cut[:_MAX_NAMED])
            self.log.warnings.append(
                f"the reranker read only the beginning of {len(reply.cut)} passages, as they are longer than it can "
                f"read: {named}{', ...' if len(reply.cut) > _MAX_NAMED else ''}"
            )

    def passages(self) -> list[T]:
        """Do the other steps and return what stays; explanations and diagnostics are made only for who reads them.

        Raises
        ------
        OrderingError
            If an order cannot be made of these passages.
        """
        if self._is_noted() or self.options.on_diagnostics is not None:
            return self.finish().passages
        return [one.ranked.candidate.item for one in self._pack().kept]

    def finish(self) -> ReorderResult[T]:
        """Do the other steps, with a log of them; otherwise as `passages`."""
        done = self._pack()
        whys = tuple(_explain(one, place, done.strategy, self.options) for place, one in enumerate(done.kept))
        passages = [self._note(one.ranked.candidate, why) for one, why in zip(done.kept, whys, strict=True)]
        return ReorderResult(passages, whys, self._diagnostics(done))

    def _pack(self) -> _Packed[T]:
        log = self.log
        with log.step("filter"):
            left = filter_candidates(self.candidates, self.options, log)
        budget = Budget.of(self.options)
        with log.step("rank"):
            ranked = rank(left, self.options)
        with log.step("choose"):
            strategy, reason, options = choose_strategy(ranked, self.query, self.options, budget)
        with log.step("order"):
            placed = arrange(ranked, strategy, options)
        with log.step("pack"):
            packed = fit(placed, strategy, options, budget)
            log.drop((placed[at].ranked.candidate for at in packed.over_budget), "budget")
            log.drop((placed[at].ranked.candidate for at in packed.over_top_k), "top_k")
        return _Packed([placed[at] for at in packed.kept], strategy, reason, resolve_packing(options, strategy), budget)

    def _is_noted(self) -> bool:
        return self.options.include_priority_score or self.options.include_explanation

    def _diagnostics(self, done: _Packed[T]) -> ReorderDiagnostics:
        used = self._report_use([one.ranked.candidate for one in done.kept], done.budget)
        diagnostics = ReorderDiagnostics(
            input_count=self._report.input_count,
            used_count=self._used_count,
            output_count=len(done.kept),
            strategy=done.strategy,
            reason=done.reason,
            packing=done.packing,
            coerced_scores=self._report.coerced_scores,
            dropped_fields=dict(self._report.dropped_fields),
            input_truncated=self.log.count("max_input") > 0,
            below_min_score=self.log.count("min_score"),
            deduplication=_name_deduplication(self.options),
            duplicates_removed=self.log.count("duplicate"),
            query_length=None if self.query is None else len(self.query),
            pruned_by_budget=self.log.count("budget", "top_k"),
            dropped=tuple(sorted(self.log.dropped, key=lambda one: one.index)),
            warnings=(*self.log.warnings, *done.budget.warnings),
            step_ms=self.log.step_ms,
            **self._rerank,
            **used,
        )
        if self.options.on_diagnostics is not None:
            self.options.on_diagnostics(diagnostics)
        return diagnostics

    def _report_use(self, kept: Sequence[Candidate[T]], budget: Budget) -> dict[str, Any]:
        if budget.limit is None:
            return {"budget_unit": "none"}
        used = sum(map(budget.cost, kept))
        if used > budget.limit:
            self.log.warnings.append(
                f"the output takes {used:g} {budget.unit}, more than {budget.limit:g}: min_top_k="
                f"{self.options.min_top_k} keeps that many passages all the same"
            )
        if budget.unit == "chars":
            return {"budget_unit": "chars", "chars_used": used}
        cached = sum(one.token_count for one in kept if one.token_count is not None)
        return {"budget_unit": "tokens", "tokens_used": used, "cached_tokens_used": cached}

    def _note(self, candidate: Candidate[T], why: Explanation) -> T:
        if not self._is_noted():
            return candidate.item
        notes: dict[str, Any] = {}
        if self.options.include_priority_score:
            notes["priority_score"] = why.priority_score
        if self.options.include_explanation:
            notes["explanation"] = asdict(why)
        return annotate(candidate, notes, self.options.fields)


def _name_deduplication(options: ReorderOptions) -> Any:
    return "none" if not options.deduplicate else "near" if options.deduplicate_threshold < 1 else "exact"


def _explain(placed: Placed[Any], position: int, strategy: str, options: ReorderOptions) -> Explanation:
    ranked = placed.ranked
    return Explanation(
        strategy=strategy,
        placement=placed.placement,
        position=position,
        priority_rank=ranked.rank,
        priority_score=ranked.priority,
        score=ranked.candidate.score,
        group=placed.group,
        timestamp=ranked.candidate.timestamp if strategy == "chronological" else None,
        diversity_applied=options.diversity is not None,
    )
