"""The runner: sets x retrievers x systems x orders x budgets x seeds, measured without any model."""

from retrivex.evaluation.run.context import ORDERS, Case
from retrivex.evaluation.run.index import Index
from retrivex.evaluation.run.measures import MEASURES
from retrivex.evaluation.run.plan import Plan
from retrivex.evaluation.run.runner import evaluate, write_run
from retrivex.evaluation.run.sets import sets_of
from retrivex.evaluation.run.summary import summarise

__all__ = ["MEASURES", "ORDERS", "Case", "Index", "Plan", "evaluate", "sets_of", "summarise", "write_run"]
