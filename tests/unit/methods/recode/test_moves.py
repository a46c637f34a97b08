from __future__ import annotations

import math

import numpy as np
import pytest

from reference import recoding as reference
from shoal.methods.recode import Generalize, Lattice
from shoal.methods.recode._judge import Judge, Limits
from shoal.methods.recode._moves import Descent
from shoal.models import DistinctLDiversity, KAnonymity, Model
from shoal.quality import Discernibility, InformationLoss, Measure
from shoal.tables import Frequencies, SensitiveAttribute


def table(*, columns: int = 6, rows: int = 400, seed: int = 1) -> Frequencies:
    """Draw a table with hierarchies of four levels, in which some columns say what others say."""
    generator = np.random.default_rng(seed)
    parents = [[0, 1, 2, 3, 4, 5, 6, 7], [0, 0, 1, 1, 2, 2, 3, 4], [0, 0, 0, 0, 0, 0, 1, 1], [0] * 8]
    hidden = generator.integers(0, 8, rows)
    codes = [np.where(generator.random(rows) < 0.3, generator.integers(0, 8, rows), hidden) for _ in range(columns)]
    codes.append(generator.integers(0, 3, rows))
    tuples, counts = np.unique(np.stack(codes, axis=1).astype(np.int32), axis=0, return_counts=True)
    return Frequencies(
        hierarchies=tuple(reference.hierarchy(f"q{j}", parents) for j in range(columns)),
        codes=np.asfortranarray(tuples[:, :columns]),
        counts=counts,
        sensitive=(SensitiveAttribute(name="s", size=3, ordered=False),),
        sensitive_codes=np.asfortranarray(tuples[:, columns:]),
    )


def searched(
    frequencies: Frequencies, models: list[Model], measure: Measure, *, suppressed: int = 10**6, looks: float = math.inf
) -> Judge:
    objective = measure.objective(frequencies)
    judge = Judge(
        Lattice(frequencies, getattr(objective, "tables", ())), objective, models, Limits(suppressed=suppressed)
    )
    descent = Descent(judge, lambda: descent.looks >= looks)
    descent.run()
    return judge


@pytest.mark.slow
@pytest.mark.parametrize("suppressed", [0, 20, 10**6])
@pytest.mark.parametrize("models", [[KAnonymity(5)], [KAnonymity(3), DistinctLDiversity("s", 2)]], ids=repr)
def test_local_search_finds_the_best_of_4096_nodes(models: list[Model], suppressed: int) -> None:
    frequencies = table()
    found = searched(frequencies, models, InformationLoss(), suppressed=suppressed)
    share = min(1.0, suppressed / frequencies.records)
    best = Generalize(suppression_limit=share).recode(frequencies, models)
    assert found.best == pytest.approx(best.value, rel=1e-12)
    assert found.solutions[0].suppressed <= suppressed


def test_measures_that_do_not_add_up_over_cells_are_searched_node_by_node() -> None:
    frequencies = table(columns=4)
    found = searched(frequencies, [KAnonymity(5)], Discernibility(), looks=2_000)
    best = Generalize(quality=Discernibility(), suppression_limit=1).recode(frequencies, [KAnonymity(5)])
    assert found.best == pytest.approx(best.value, rel=1e-12)


def test_the_same_search_finds_the_same_nodes() -> None:
    frequencies = table(columns=8)
    first, second = (searched(frequencies, [KAnonymity(5)], InformationLoss(), looks=100) for _ in range(2))
    assert first.solutions == second.solutions


def test_a_step_may_leave_levels_out() -> None:
    # level 1 of three only renames the values, so going down by one level does not pay
    steep = reference.hierarchy("q", [[0, 1, 2, 3], [0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 0, 0]])
    frequencies = Frequencies(
        hierarchies=(steep,),
        codes=np.asfortranarray(np.array([[0], [1], [2], [3]], dtype=np.int32)),
        counts=np.array([9, 9, 9, 1]),
        sensitive_codes=np.zeros((4, 0), dtype=np.int32),
    )
    assert searched(frequencies, [KAnonymity(2)], InformationLoss()).solutions[0].levels == (0,)


def test_nothing_is_found_where_even_the_top_fails() -> None:
    assert not searched(table(rows=10), [KAnonymity(11)], InformationLoss()).solutions
