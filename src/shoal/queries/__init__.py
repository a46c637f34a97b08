"""Interactive queries: answers one by one, within a budget that cannot be overspent."""

from shoal.errors import AccessError, BudgetSpent, LedgerError, NotAnswered
from shoal.queries._accounts import Receipt, Standing
from shoal.queries._answers import Accuracy, Answer
from shoal.queries._counts import Count, Histogram
from shoal.queries._look_up import LookUp
from shoal.queries._loss import Loss
from shoal.queries._quantile import Quantile
from shoal.queries._query import Query
from shoal.queries._questions import parse_query
from shoal.queries._store import Entry, Head
from shoal.queries._sums import Mean, Sum
from shoal.queries.client import Client
from shoal.queries.ledger import Ledger
from shoal.queries.session import Session
from shoal.queries.vault import Vault
from shoal.tables import FilterError

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
