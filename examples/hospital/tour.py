"""The library in one screen, on the bundled hospital table: python tour.py"""

import tempfile
from pathlib import Path

import shoal

HERE = Path(__file__).resolve().parent

discharges = shoal.read(HERE / "discharges.csv", schema=HERE / "discharges.schema.toml")

before = shoal.assess(discharges).reidentification
print(f"As it is: {before.unique:,} of {before.records:,} records are unique.\n")

release = shoal.anonymize(
    discharges,
    shoal.KAnonymity(5),
    method=shoal.Generalize(quality="loss", suppression_limit=0.05),
)
print(release)  # one screen: promise, what was done, loss, risk before and after
print(f"\n{release.explain()}\n")

with tempfile.TemporaryDirectory() as folder:
    written = release.write(Path(folder) / "release", csv=True)
    print(sorted(path.name for path in written.iterdir()))
    print(shoal.verify(written))
