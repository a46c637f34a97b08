"""The records of a release in the format that its input has."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from shoal.cli import _output
from shoal.errors import ShoalError
from shoal.writing import check_file


@dataclass(frozen=True, slots=True)
class SameFormat:
    """Where the records go in the format of the input: into the folder as CSV, or into a file beside it.

    Parameters
    ----------
    source
        The file that is anonymised.
    csv
        Whether the folder also holds ``data.csv``.
    copy
        The file beside the folder; None where the folder has the format, or the input is no file that can be written.
    """

    source: str
    csv: bool
    copy: Path | None

    @classmethod
    def choose(cls, source: str, output: Path, csv: bool | None) -> SameFormat:
        """Return what is written for a source; ``csv`` is what the user says of ``data.csv``.

        Raises
        ------
        OutputError
            If the file beside the folder is there already.
        """
        from shoal.tables import written_ending

        ending = written_ending(source)
        beside = None if ending in (None, ".csv", ".parquet") else output.with_name(f"{output.name}{ending}")
        if beside is not None:
            check_file(beside)
        return cls(source=source, csv=ending == ".csv" if csv is None else csv, copy=beside)

    def write(self, output: Path) -> Path | None:
        """Write the file beside a release; return it, or None where there is none."""
        import shoal
        from shoal.tables import elsewhere

        release = shoal.released(output)
        if self.copy is None or len(release.tables) != 1:
            return None
        has_labels = self.copy.suffix in (".sav", ".dta") and not elsewhere(self.source)
        try:
            release.write(self.copy, like=self.source if has_labels else None)
        except ShoalError as error:
            _output.warning(f"{self.copy.name} was not written: {'; '.join(error.problems)}.")
            return None
        return self.copy
