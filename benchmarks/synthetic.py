"""Synthetic records of MST and AIM, by dpmm in a Python of its own; every file is made once and stored.

Default settings but for two: 1,000 iterations of inference, which is the default of AIM, and 80 MB for the model of
AIM, the default of its paper, instead of any size. The domains are those of the records, which is a favour. A fit that
takes longer than ``LIMIT`` processor seconds ends, and that is stored as well.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pc

#: Python of an environment that has dpmm.
PYTHON = os.environ.get("SHOAL_PEERS")
RESULTS = Path(os.environ.get("SHOAL_RESULTS", Path(tempfile.gettempdir()) / "shoal-benchmarks"))
NAMES = ("MST", "AIM")
LIMIT = 600
ITERATIONS = 1000

SCRIPT = """
import sys, time, pandas as pd
from dpmm.pipelines import AIMPipeline, MSTPipeline
name, epsilon, delta, seed, source, target = sys.argv[1:7]
table = pd.read_csv(source, dtype=str, keep_default_na=False)
kinds = {"MST": MSTPipeline, "AIM": AIMPipeline}
limit = {"max_model_size": 80} if name == "AIM" else {}
iterations = {"n_iters": int(sys.argv[7])}
made = kinds[name](epsilon=float(epsilon), delta=float(delta), n_jobs=1, gen_kwargs=iterations, **limit)
made.fit(table.astype("category"), random_state=int(seed))
made.generate(n_records=len(table)).to_csv(target, index=False)
print(time.process_time())
"""


def synthetic(
    label: str, rows: pa.Table, name: str, *, epsilon: str, delta: str, seed: int
) -> tuple[Path, float] | None:
    """Return the file of synthetic records of a table and the seconds that it took; None where it is not done."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    target = RESULTS / f"{label}-{epsilon}-{name}-{seed}.csv"
    seconds = target.with_suffix(".seconds.json")
    if not seconds.exists() and PYTHON is not None:
        source = target.with_suffix(".source.csv")
        pc.write_csv(rows, source)
        arguments = [name, epsilon, delta, str(seed), str(source), str(target), str(ITERATIONS)]
        run = subprocess.run([PYTHON, "-c", SCRIPT, *arguments], capture_output=True, text=True, preexec_fn=_limit)
        if run.returncode > 0:
            raise RuntimeError(run.stderr)
        seconds.write_text(json.dumps(float(run.stdout.split()[-1]) if not run.returncode else None), encoding="utf-8")
        source.unlink()
    spent = json.loads(seconds.read_text(encoding="utf-8")) if seconds.exists() else None
    return None if spent is None else (target, spent)


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT))
