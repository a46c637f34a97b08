"""The names of this package; each is imported when it is first used."""

from ._rehearse import REHEARSALS as REHEARSALS
from ._rehearse import Rehearsal as Rehearsal
from ._rehearse import combine_rehearsals as combine_rehearsals
from ._rehearse import rehearsal_kind as rehearsal_kind
from ._rehearse import rehearse as rehearse
from ._rehearse import sample_classes as sample_classes
from ._trial import MARGIN as MARGIN
from ._trial import Exposure as Exposure
from ._words import ROWS as ROWS
from ._words import HollowRelease as HollowRelease
from ._words import rehearsal_line as rehearsal_line
from ._words import rehearsal_rows as rehearsal_rows
