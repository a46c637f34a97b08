"""A record of what was done to a masked file: anybody can say it again, and compare it with the file."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from shoal.errors import VerificationError
from shoal.masking._noise import AddNoise
from shoal.masking._pram import Pram
from shoal.masking._rank_swap import RankSwap
from shoal.masking._recode import BottomCode, GlobalRecode, RoundTo, TopCode
from shoal.masking._record_swap import RecordSwap
from shoal.masking._shuffle import Shuffle
from shoal.masking._step import MaskingStep
from shoal.writing import digest

RECORD = ".record.json"
"""What the name of a record adds to that of its file."""

STEPS: dict[str, type[MaskingStep]] = {
    step.name: step
    for step in (GlobalRecode, RoundTo, TopCode, BottomCode, Pram, RankSwap, Shuffle, AddNoise, RecordSwap)
}
"""All steps by their names in records."""

NOTICE = "This file is masked, not anonymous. Nothing is promised beyond what the steps say; this is no certificate."


@dataclass(frozen=True, slots=True, kw_only=True)
class StepEntry:
    """One step of a record.

    Parameters
    ----------
    step, parameters, detail
        The name, what was asked for, and what the table decided and readers may know.
    description, promise
        What was done, and what can be proved of it.
    """

    step: str
    parameters: Mapping[str, object]
    detail: Mapping[str, object]
    description: str
    promise: str

    @classmethod
    def of(cls, step: MaskingStep, detail: Mapping[str, object]) -> StepEntry:
        """Write a step down."""
        return cls(
            step=step.name,
            parameters=step.parameters(),
            detail=dict(detail),
            description=step.describe(),
            promise=step.promise(detail),
        )

    def read(self) -> MaskingStep:
        """Make the step again."""
        return STEPS[self.step].from_parameters(self.parameters)


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskingRecord:
    """What was done to a masked file, and which file that is; it holds nothing that was measured on the original.

    Parameters
    ----------
    file, sha256, bytes
        The file beside the record, and its fingerprint.
    records, columns
        How many records it has, and its columns.
    steps
        What was done, in order.
    """

    file: str
    sha256: str
    bytes: int
    records: int
    columns: tuple[str, ...]
    steps: tuple[StepEntry, ...]

    @classmethod
    def of(cls, path: Path, records: int, columns: Sequence[str], steps: Sequence[StepEntry]) -> MaskingRecord:
        """Write down what is true of a file."""
        sha256, size = digest(path)
        return cls(
            file=path.name,
            sha256=sha256,
            bytes=size,
            records=records,
            columns=tuple(columns),
            steps=tuple(steps),
        )

    def dumps(self) -> str:
        """Return the record as JSON."""
        return (
            json.dumps({"shoal": 1, "notice": NOTICE, **dataclasses.asdict(self)}, indent=2, ensure_ascii=False) + "\n"
        )

    @classmethod
    def loads(cls, text: str) -> MaskingRecord:
        """Read a record; one that says more or less, or says it otherwise, is refused.

        Raises
        ------
        VerificationError
            If it is no record as Shoal writes it.
        """
        try:
            found = json.loads(text)
            steps = tuple(StepEntry(**step) for step in found.pop("steps"))
            columns = tuple(found.pop("columns"))
            del found["shoal"], found["notice"]
            record = cls(**found, columns=columns, steps=steps)
            same = record.dumps() == text
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            same = False
        if not same:
            raise VerificationError("this is not a record of a masked file as Shoal writes it")
        return record
