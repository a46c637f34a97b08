"""Run ``shoal`` many times without starting Python anew: a process that has imported everything forks for each run.

A run is a process of its own, with its own folder, output and exit code; only the imports, most of the time of a short
command, are shared. Requests come as lines of JSON; the answer is the exit code. With ``after`` a run is
sent ``signal`` that many seconds later.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
import time
import traceback


def main() -> None:
    """Answer requests until there are none."""
    import duckdb
    import pyarrow.parquet

    import shoal

    for name in shoal.__all__:
        getattr(shoal, name)
    del duckdb, pyarrow
    for line in sys.stdin:
        request = json.loads(line)
        number, after = request.pop("signal", None), request.pop("after", 0.0)
        child = os.fork()
        if not child:
            _run(**request)
        if number is not None:
            time.sleep(after)
            os.kill(child, number)  # not waited for yet, so the number is still its own
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)  # noqa: T201


def _run(arguments: list[str], folder: str, output: str, errors: str) -> None:
    """Be the program: never returns."""
    os.chdir(folder)
    for target, place, flags in (
        (0, os.devnull, os.O_RDONLY),
        (1, output, os.O_WRONLY),
        (2, errors, os.O_WRONLY),
    ):
        if place != "closed":
            os.dup2(os.open(place, flags), target)
    if output == "closed":  # only now: what is opened takes the lowest number that is free
        os.close(1)
    sys.argv = ["shoal", *arguments]
    code = 0
    try:
        runpy.run_module("shoal", run_name="__main__", alter_sys=True)
    except SystemExit as stopped:
        code = stopped.code if isinstance(stopped.code, int) else 1 if stopped.code else 0
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
