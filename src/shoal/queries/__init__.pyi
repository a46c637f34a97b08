"""The names of this package; each is imported when it is first used."""

from ._accounts import Receipt as Receipt
from ._accounts import Standing as Standing
from ._answers import Accuracy as Accuracy
from ._answers import Answer as Answer
from ._counts import Count as Count
from ._counts import Histogram as Histogram
from ._filters import FilterError as FilterError
from ._look_up import LookUp as LookUp
from ._loss import Loss as Loss
from ._quantile import Quantile as Quantile
from ._query import Query as Query
from ._questions import parse_query as parse_query
from ._store import Entry as Entry
from ._store import Head as Head
from ._sums import Mean as Mean
from ._sums import Sum as Sum
from ._unit import Unit as Unit
from .client import AccessError as AccessError
from .client import BudgetSpent as BudgetSpent
from .client import Client as Client
from .client import LedgerError as LedgerError
from .client import NotAnswered as NotAnswered
from .ledger import Ledger as Ledger
from .session import Session as Session
from .vault import Vault as Vault
