"""The runner: sets x retrievers x composers x orders x budgets x seeds, measured without any model."""

from retrivex.evaluation.running.context import ORDERS
from retrivex.evaluation.running.index import Index
from retrivex.evaluation.running.measures import MEASURES
from retrivex.evaluation.running.plan import Plan
from retrivex.evaluation.running.runner import evaluate, write_run
from retrivex.evaluation.running.sets import sets_of
from retrivex.evaluation.running.summary import summarise

__all__ = ["MEASURES", "ORDERS", "Index", "Plan", "evaluate", "sets_of", "summarise", "write_run"]
