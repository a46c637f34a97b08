"""Interactive queries: answers one by one, within a budget that cannot be overspent."""

from shoal.queries._accounts import Standing
from shoal.queries._answers import Accuracy, Answer
from shoal.queries._count import Count
from shoal.queries._histogram import Histogram
from shoal.queries._language import parse_query
from shoal.queries._look_up import LookUp
from shoal.queries._loss import Loss
from shoal.queries._mean import Mean
from shoal.queries._quantile import Quantile
from shoal.queries._query import Query
from shoal.queries._refusals import AccessError, BudgetSpent, FilterError, LedgerError, NotAnswered
from shoal.queries._sum import Sum
from shoal.queries.client import Client
from shoal.queries.ledger import Entry, Head, Ledger, Receipt
from shoal.queries.session import Session
from shoal.queries.vault import Vault

__all__ = [
    "AccessError",
    "Accuracy",
    "Answer",
    "BudgetSpent",
    "Client",
    "Count",
    "Entry",
    "FilterError",
    "Head",
    "Histogram",
    "Ledger",
    "LedgerError",
    "LookUp",
    "Loss",
    "Mean",
    "NotAnswered",
    "Quantile",
    "Query",
    "Receipt",
    "Session",
    "Standing",
    "Sum",
    "Vault",
    "parse_query",
]
