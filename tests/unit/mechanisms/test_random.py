"""Sources of random bits."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from shoal.errors import ParameterError
from shoal.mechanisms import SYSTEM, RandomSource, SeededSource, SystemSource


@pytest.fixture(params=[SystemSource, lambda: SeededSource(3)], ids=["system", "seeded"])
def source(request: pytest.FixtureRequest) -> RandomSource:
    return request.param()  # type: ignore[no-any-return]


def test_only_the_system_source_protects_people() -> None:
    assert SYSTEM.cryptographic
    assert not SeededSource(1).cryptographic


def test_a_seed_repeats_itself_and_another_does_not() -> None:
    assert SeededSource(1).random_bytes(32) == SeededSource(1).random_bytes(32)
    assert SeededSource(1).random_bytes(32) != SeededSource(2).random_bytes(32)


@pytest.mark.parametrize("size", [0, 1, 7, 1024, 1025, 5000])
def test_draws_have_the_size_asked_for(source: RandomSource, size: int) -> None:
    assert len(source.random_bytes(size)) == size
    assert source.uint8(size).shape == source.uint64(size).shape == (size,)
    assert source.uint64(size).dtype == np.uint64


def test_no_bits_are_given_out_twice() -> None:
    source = SystemSource()
    drawn = [source.random_bytes(16) for _ in range(2000)]
    assert len(set(drawn)) == 2000


def test_threads_never_share_bits() -> None:
    source = SystemSource()
    with ThreadPoolExecutor(4) as pool:
        drawn = list(pool.map(lambda _: source.random_bytes(16), range(4000)))
    assert len(set(drawn)) == 4000


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_forgets_the_buffer_of_its_parent() -> None:
    source = SystemSource()
    source.random_bytes(1)
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writable, source.random_bytes(16))
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(readable, 16) != source.random_bytes(16)
    os.close(readable)
    os.close(writable)


def test_bits_and_below_stay_in_range(source: RandomSource) -> None:
    assert source.bits(0) == 0
    assert all(source.bits(3) < 8 for _ in range(100))
    assert {source.below(5) for _ in range(300)} == {0, 1, 2, 3, 4}
    assert source.below(1) == 0
    assert source.below(2**200) < 2**200


def test_below_needs_a_positive_bound(source: RandomSource) -> None:
    with pytest.raises(ParameterError, match="`bound` of `below` must be at least 1; got 0"):
        source.below(0)
