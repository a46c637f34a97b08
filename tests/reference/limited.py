"""Verify folders, each in a process of its own with little time and memory; say what came out, and the cost.

Everything is loaded before the processes part: none begins with the memory that a test has used.
"""

from __future__ import annotations

import json
import os
import resource
import select
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import duckdb  # noqa: F401
import pyarrow.parquet  # noqa: F401

import shoal
from shoal.verification import verify

#: a folder of 1 MB costs no more than this
MEMORY, SECONDS = 500 << 20, 10
# what the system gives at most; less would be given back as a refusal, and not be seen
_ADDRESSES = 8 << 30


class Outcome(NamedTuple):
    """The exit code of a verification, what it said, and the most memory that it used."""

    code: int
    words: str
    peak: int


@contextmanager
def limited_verifier(scratch: Path) -> Iterator[Callable[..., Outcome]]:
    """Give a function that verifies a folder in a process with limits, whose temporary files go to ``scratch``."""
    # processes that run out of time leave their temporary files behind
    here = dict(os.environ, TMPDIR=str(scratch))
    program = [sys.executable, __file__]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=here) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def verify_limited(folder: Path, *after: Path) -> Outcome:
            print(json.dumps([str(folder), *map(str, after)]), file=process.stdin, flush=True)
            ready, _, _ = select.select([process.stdout], [], [], 120)
            assert ready, "it hangs"
            return Outcome(*json.loads(process.stdout.readline()))

        yield verify_limited
        process.kill()


def _outcome(folder: str, *after: str) -> tuple[int, str]:
    try:
        found = verify(folder, after=after)
        return int(not found.passed), str(found)
    except shoal.ShoalError as error:
        return error.exit_code, str(error)
    except BaseException:
        return 3, traceback.format_exc()


def _say(*answer: object) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def main() -> None:
    for line in sys.stdin:
        folders = json.loads(line)
        child = os.fork()
        if not child:
            resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
            resource.setrlimit(resource.RLIMIT_AS, (_ADDRESSES, _ADDRESSES))
            code, said = _outcome(*folders)
            status = Path("/proc/self/status").read_text(encoding="ascii")
            peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
            _say(code, said, int(peak.split()[1]) * 1024)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status:
            _say(-1, f"it took too long, or died: {status}", 0)


if __name__ == "__main__":
    main()
