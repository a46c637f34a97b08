"""The names of this package; each is imported when it is first used."""

from ._mask import RECORD as RECORD
from ._mask import Masked as Masked
from ._mask import MaskingRecord as MaskingRecord
from ._mask import StepEntry as StepEntry
from ._mask import mask as mask
from ._noise import AddNoise as AddNoise
from ._pram import Pram as Pram
from ._recode import BottomCode as BottomCode
from ._recode import GlobalRecode as GlobalRecode
from ._recode import RoundTo as RoundTo
from ._recode import TopCode as TopCode
from ._risk import MaskingRisk as MaskingRisk
from ._risk import interval_disclosure as interval_disclosure
from ._risk import probabilistic_linkage as probabilistic_linkage
from ._shuffle import Shuffle as Shuffle
from ._step import MaskingStep as MaskingStep
from ._swap import RankSwap as RankSwap
from ._swap import RecordSwap as RecordSwap
