"""The Adult data set with the hierarchies of ARX: the optima that ARX 3.9 finds, and what local recoding adds."""

from __future__ import annotations

import csv
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from reference import recoding as reference
from shoal.hierarchies import Hierarchy, build, leaf_codes
from shoal.methods.recode import Generalize, Mondrian, SearchResult, Specialize
from shoal.models import (
    BetaLikeness,
    Classes,
    EntropyLDiversity,
    KAnonymity,
    Model,
    SampleUniqueness,
    TCloseness,
)
from shoal.quality import InformationLoss
from shoal.schema import Attribute, FromFile
from shoal.tables import Frequencies, SensitiveAttribute


@pytest.fixture(scope="module")
def records(shared_data: Path) -> dict[str, list[str]]:
    path = shared_data / "adult" / "adult.csv"
    if not path.is_file():
        pytest.skip("needs the Adult data set: adult/adult.csv in the folder of data sets")
    with path.open(encoding="utf-8") as file:
        head, *rows = csv.reader(file, delimiter=";")
    return dict(zip(head, map(list, zip(*rows, strict=True)), strict=True))


@pytest.fixture(scope="module")
def hierarchies(shared_data: Path, records: dict[str, list[str]]) -> dict[str, Hierarchy]:
    return {
        name: build(
            Attribute(name=name, hierarchy=FromFile(path=f"adult_hierarchy_{name}.csv")),
            pa.array(sorted(set(values))),
            folder=shared_data / "adult",
        )
        for name, values in records.items()
    }


def frequencies(
    records: dict[str, list[str]], hierarchies: dict[str, Hierarchy], names: list[str], sensitive: str | None = None
) -> Frequencies:
    columns = [leaf_codes(hierarchies[name], pa.array(records[name])) for name in names]
    described = ()
    if sensitive is not None:
        values = sorted(set(records[sensitive]))
        columns.append(np.array([values.index(value) for value in records[sensitive]], dtype=np.int32))
        described = (SensitiveAttribute(name=sensitive, size=len(values), ordered=False),)
    tuples, counts = np.unique(np.stack(columns, axis=1), axis=0, return_counts=True)
    return Frequencies(
        hierarchies=tuple(hierarchies[name] for name in names),
        codes=np.asfortranarray(tuples[:, : len(names)]),
        counts=counts,
        sensitive=described,
        sensitive_codes=np.asfortranarray(tuples[:, len(names) :]),
    )


@pytest.fixture(scope="module")
def adult(records: dict[str, list[str]], hierarchies: dict[str, Hierarchy]) -> Frequencies:
    return frequencies(records, hierarchies, list(records))


def check(found: SearchResult, table: Frequencies, models: list[Model]) -> None:
    classes = Classes.of(table, found.recoding.classes, number=found.recoding.number)
    assert all(model.holds(classes) for model in models)
    assert found.suppressed == int(table.counts[found.recoding.classes < 0].sum())


def test_the_table_is_the_one_of_the_papers(adult: Frequencies) -> None:
    assert adult.records == 30_162
    assert len(adult.counts) == 19_502
    assert np.prod([height + 1 for height in adult.heights]) == 12_960


def test_5_anonymity_has_the_optimum_of_arx(adult: Frequencies) -> None:
    found = Generalize(suppression_limit=1).recode(adult, [KAnonymity(5)])
    assert found.levels == (0, 3, 0, 0, 2, 1, 1, 1, 0)
    assert found.suppressed == 2_553
    assert found.value == pytest.approx(0.22770032325681816, rel=1e-14)
    assert found.optimal
    check(found, adult, [KAnonymity(5)])


@pytest.mark.parametrize("k", [2, 5, 20])
def test_the_optimum_is_that_of_scoring_every_node(adult: Frequencies, k: int) -> None:
    gains = np.append(np.zeros(k), float(k))
    costs = tuple(tuple(shares / 9 for shares in hierarchy.shares) for hierarchy in adult.hierarchies)
    scores = reference.score_lattice(adult, gains, costs, slope=1.0)
    best = tuple(int(level) for level in np.unravel_index(np.argmax(scores), scores.shape))
    found = Generalize(suppression_limit=1).recode(adult, [KAnonymity(k)])
    assert found.levels == best
    assert found.value == pytest.approx(1 - scores.max() / adult.records, rel=1e-12)


@pytest.mark.parametrize(
    ("sensitive", "limit"),
    [(None, Fraction(0)), (None, Fraction(1, 20)), (None, Fraction(1)), ("occupation", Fraction(1, 20))],
)
def test_the_optimum_of_four_attributes_is_that_of_brute_force(
    records: dict[str, list[str]], hierarchies: dict[str, Hierarchy], sensitive: str | None, limit: Fraction
) -> None:
    names = ["sex", "race", "marital-status", "education"]
    table = frequencies(records, hierarchies, names, sensitive)
    models: list[Model] = [KAnonymity(50)]
    if sensitive is not None:
        models += [TCloseness(sensitive, 0.3), EntropyLDiversity(sensitive, 4)]
    expected = reference.best(table, models, InformationLoss(), limit)
    found = Generalize(suppression_limit=limit).recode(table, models)
    assert expected is not None
    assert found.levels == expected[0]
    assert found.value == pytest.approx(expected[1], rel=1e-12)
    check(found, table, models)


@pytest.mark.parametrize(
    ("models", "at_most"),
    [
        (
            [TCloseness("occupation", 0.2)],
            0.65338,
        ),  # all at once: 0.66297, with k = 5 as well 0.65916
        ([TCloseness("occupation", 0.1)], 0.73750),  # all at once: 0.7592
        ([KAnonymity(5), BetaLikeness("occupation", 1)], 0.61759),  # all at once: 0.65167
    ],
)
def test_the_worst_classes_are_removed_first_where_that_loses_less(
    records: dict[str, list[str]], hierarchies: dict[str, Hierarchy], models: list[Model], at_most: float
) -> None:
    names = [name for name in records if name != "occupation"]
    table = frequencies(records, hierarchies, names, "occupation")
    found = Generalize(suppression_limit=1).recode(table, models)
    assert found.value <= at_most
    assert "proved for one rule of removing classes" in found.explain()
    check(found, table, models)


def test_of_classes_of_equal_size_the_dearest_are_removed(adult: Frequencies) -> None:
    found = Generalize(suppression_limit=1).recode(adult, [SampleUniqueness(0.01)])
    assert found.value <= 0.15785  # in the order of the classes: 0.15808
    check(found, adult, [SampleUniqueness(0.01)])


def test_local_recoding_loses_less_than_the_best_of_arx(adult: Frequencies) -> None:
    # ARX's best local recoding has loss 0.0591 with nothing suppressed
    found = Specialize(suppression_limit=0, foresight=20).recode(adult, [KAnonymity(5)])
    assert found.value < 0.055
    assert found.suppressed == 0
    check(found, adult, [KAnonymity(5)])


def test_mondrian_is_kept_under_sensitive_models(
    records: dict[str, list[str]], hierarchies: dict[str, Hierarchy]
) -> None:
    names = [name for name in records if name != "occupation"]
    table = frequencies(records, hierarchies, names, "occupation")
    models: list[Model] = [KAnonymity(5), EntropyLDiversity("occupation", 3)]
    found = Mondrian(relaxed=True).recode(table, models)
    assert found.value < Generalize().recode(table, models).value
    check(found, table, models)
