"""What all tests share: the path to the reference implementations and to the data sets beside the project."""

from __future__ import annotations

import gc
import os
import platform
import signal
import sys
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# Linear algebra rounds differently on different processors, and golden releases would differ with it. NumPy reads this
# when it is imported, in all processes that tests start, too.
if platform.machine() in ("x86_64", "AMD64"):
    os.environ.setdefault("OPENBLAS_CORETYPE", "Haswell")

from shoal.mechanisms import SYSTEM, SeededSource

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))


# No test depends on how busy the machine is, and two runs of the same code try the same examples.
settings.register_profile(
    "default", deadline=None, derandomize=True, max_examples=25, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("default")
#: new examples in every run, many of them: `make explore`
settings.register_profile("explore", settings.get_profile("default"), derandomize=False, max_examples=500)
#: for the developer loop: pytest --hypothesis-profile=quick
settings.register_profile("quick", settings.get_profile("default"), max_examples=10)

# What ignores a signal, as under nohup, hands that on to all that it starts; what has a handler does not.
for _number in {signal.SIGINT, getattr(signal, "SIGHUP", signal.SIGINT)}:
    if signal.getsignal(_number) == signal.SIG_IGN:
        signal.signal(_number, lambda *_: None)

#: what takes longest, or mostly waits, begins first: no worker has a long file left when the others are done
FIRST = (
    *("e2e", "conformance/test_local_cluster.py", "spark", "web", "reliability/", "forgeries/", "statistical/"),
    *("cli/", "papers/", "unit/examples/", "docs/"),
)
#: how files end of which all tests use Spark
SPARK = ("_by_block.py", "_by_profile.py")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Leave what shares a server, a browser or releases to one worker; marks of groups are lost on pytest 9.2."""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return _group(nodeid)

    config.option.loadscopereorder = False  # the order of the tests is the one of `pytest_collection_modifyitems`
    return Scheduling(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave deep tests out, but for `make deep`; put what takes longest first, where several workers share the work."""
    if not os.environ.get("SHOAL_DEEP"):
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("deep")])
        items[:] = [item for item in items if not item.get_closest_marker("deep")]
    if hasattr(config, "workerinput"):
        sizes = Counter(_group(item.nodeid) for item in items)
        items.sort(key=lambda item: _turn(_group(item.nodeid), sizes))


def _turn(group: str, sizes: Counter[str]) -> tuple[int, int, str]:
    """Return when a group of tests has its turn: those that are listed, then the largest."""
    listed = [turn for turn, prefix in enumerate(FIRST) if group.startswith(prefix)]
    return (*listed, len(FIRST))[0], -sizes[group], group


def _group(nodeid: str) -> str:
    """Return what the tests have in common that one worker runs: an engine, a running app, or else their file."""
    path = nodeid.partition("::")[0].removeprefix(f"{HERE.name}/")
    folder = path.partition("/")[0]
    if folder in ("e2e", "web"):
        return folder
    if folder != "conformance":
        return path
    if path.endswith(SPARK):
        return "spark"
    engines = [engine for engine in ("spark", "postgres") if engine in nodeid.lower()]
    return (*engines, path)[0]


gc.disable()  # what collection makes stays


def pytest_collection_finish() -> None:
    """Never search the modules and thousands of tests for garbage, and the rest less often: that takes much time."""
    gc.freeze()
    gc.set_threshold(10_000)
    gc.enable()


def pytest_unconfigure() -> None:
    gc.unfreeze()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Let two runs of the same code draw the same noise, but for what OpenDP and other processes draw."""
    if item.config.getoption("--hypothesis-profile") != "explore":
        drawn = SeededSource(zlib.crc32(item.nodeid.encode())).random_bytes
        SYSTEM.random_bytes = drawn  # type: ignore[method-assign]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    tried = {
        outcome: sum(
            int(number)
            for report in terminalreporter.getreports(outcome)
            for name, number in getattr(report, "user_properties", ())
            if name == "forgeries tried"
        )
        for outcome in ("passed", "failed")
    }
    if any(tried.values()):
        outcome = "in tests that failed" if tried["failed"] else "none passed verification"
        terminalreporter.write_line(f"{sum(tried.values()):,} forgeries tried, {outcome}")
    for report in terminalreporter.getreports("passed"):
        for name, number in getattr(report, "user_properties", ()):
            if name in ("kinds of forgery", "honest releases"):
                terminalreporter.write_line(f"{name}: {number}")


@pytest.fixture(scope="session", autouse=True)
def _one_duckdb() -> Iterator[None]:
    """Start DuckDB once for many tests; processes that tests start have their own, as users have."""
    from reference.shared_duckdb import shared_duckdb

    with shared_duckdb():
        yield


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder of real data sets, or skip: they are not ours to ship."""
    folder = Path(os.environ.get("SHOAL_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"needs the data sets in {folder.name}/ beside the project; set SHOAL_DATA to their folder")
    return folder
