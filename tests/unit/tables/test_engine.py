"""What engines raise becomes one error of ours, and names of columns that they cannot hold are refused."""

from __future__ import annotations

import errno
import logging
import os

import duckdb
import pyarrow as pa
import pytest

from shoal.errors import Cancelled, DataError, OutputError
from shoal.tables._engine import check_names, quiet


def test_the_words_of_an_engine_are_not_passed_on() -> None:
    with pytest.raises(DataError) as caught, quiet("a.csv"):
        duckdb.sql("SELECT 'Xq7canary'::INTEGER").fetchall()
    assert str(caught.value) == "a.csv: the engine failed (ConversionException)."
    assert caught.value.__suppress_context__


@pytest.mark.parametrize("number", [errno.EFBIG, errno.EIO, errno.EROFS])
def test_what_the_system_says_is_passed_on_in_its_words_alone(number: int) -> None:
    with pytest.raises(DataError) as caught, quiet("a.csv"):
        raise duckdb.IOException(f'Could not write file "Xq7canary": {os.strerror(number)}')
    assert str(caught.value) == f"a.csv: the operating system reports: {os.strerror(number).lower()}."


def test_the_error_can_be_chosen() -> None:
    with pytest.raises(OutputError), quiet("a.csv", error=OutputError):
        raise pa.ArrowInvalid("Xq7canary")


def test_errors_of_ours_pass() -> None:
    with pytest.raises(DataError, match="ours"), quiet("a.csv", error=OutputError):
        raise DataError("ours")


@pytest.mark.parametrize("raised", [KeyboardInterrupt(), RuntimeError("Query interrupted")])
def test_an_interrupt_is_a_cancellation(raised: BaseException) -> None:
    with pytest.raises(Cancelled), quiet("a.csv"):
        raise raised


@pytest.mark.parametrize("raised", [ValueError("ours"), RuntimeError("ours"), KeyError("ours")])
def test_mistakes_of_ours_are_not_hidden(raised: Exception) -> None:
    with pytest.raises(type(raised)), quiet("a.csv"):
        raise raised


@pytest.mark.parametrize("module", ["shoal", "pyarrow"])
def test_executors_without_shoal_or_what_it_needs_are_named(module: str) -> None:
    with pytest.raises(DataError, match="not installed on the machines") as caught, quiet("a frame"):
        raise pa.ArrowInvalid(f"ModuleNotFoundError: No module named '{module}'; Xq7canary")
    assert "Xq7canary" not in str(caught.value)


def test_spark_does_not_log_the_query_meanwhile() -> None:
    logger = logging.getLogger("SQLQueryContextLogger")
    record = logger.makeRecord(logger.name, logging.ERROR, "", 0, "a query", (), None)
    with quiet("a.csv"):
        assert not logger.filter(record)
    assert logger.filter(record)


def test_usual_names_pass() -> None:
    check_names(["age", "Größe", "a b", "select", 'with "quotes"'], "a.csv")


def test_all_problems_are_reported_at_once() -> None:
    with pytest.raises(DataError) as caught:
        check_names(["a", "a", "B", "b", "b"], "x")
    assert caught.value.problems == (
        "x: column `a` appears 2 times",
        "x: column `b` appears 2 times",
        "x: columns `B` and `b` differ only in case",
    )


def test_a_very_long_name_is_not_shown() -> None:
    with pytest.raises(DataError) as caught:
        check_names(["a", "secret" * 100, "a"], "x")
    assert caught.value.problems == ("x: the name of column 2 is longer than 200 characters",)
