"""The names of this package; each is imported when it is first used."""

from ._method import Truthful as Truthful
from ._promises import DifferentialPrivacy as DifferentialPrivacy
from ._promises import released as released
from ._promises import unreleased as unreleased
from ._scheme import Drawn as Drawn
from ._scheme import Tuples as Tuples
from ._sets_listed import HIDDEN as HIDDEN
from ._sets_listed import HiddenCounts as HiddenCounts
from ._sets_listed import read_hidden as read_hidden
from ._sets_margins import ReleasedTable as ReleasedTable
from ._sets_margins import margins_of as margins_of
from ._sets_method import TruthfulTables as TruthfulTables
from ._sets_split import JointTrimmed as JointTrimmed
from ._sets_split import TablesTrimmed as TablesTrimmed
from ._steps import Sampled as Sampled
from ._steps import Trimmed as Trimmed
