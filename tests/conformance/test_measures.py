"""Every quality measure goes through the same checks."""

from __future__ import annotations

import inspect
import itertools
import math
import pickle

import numpy as np
import pytest

from reference.example import MIDDLE, PEOPLE
from reference.quality import Column, Table, node_classes, node_recoding
from shoal import quality
from shoal.quality import Measure

each_measure = pytest.mark.parametrize("measure", [measure() for measure in quality.MEASURES.values()], ids=str)
each_node = pytest.mark.parametrize("levels", [(0, 0), (0, 1), MIDDLE, (2, 0), (2, 2)])


@each_measure
@each_node
def test_the_figure_of_the_report_is_the_objective_of_the_search(measure: Measure, levels: tuple[int, ...]) -> None:
    classes, _ = node_classes(PEOPLE, levels)
    for kept in (np.ones(len(classes), dtype=np.bool_), classes.sizes > 1, np.zeros(len(classes), dtype=np.bool_)):
        figure = measure.value(node_recoding(PEOPLE, levels, kept), PEOPLE.frequencies())
        objective = measure.objective(PEOPLE.frequencies())
        assert objective.value(levels, classes, kept) == pytest.approx(figure, abs=1e-12)
        assert math.isfinite(figure)
        assert isinstance(figure, float)


@each_measure
def test_more_generalisation_is_no_better(measure: Measure) -> None:
    chain = [(0, 0), (0, 1), MIDDLE, (2, 1), (2, 2)]
    values = [
        measure.value(
            node_recoding(PEOPLE, levels, np.ones(len(node_classes(PEOPLE, levels)[0]), dtype=np.bool_)),
            PEOPLE.frequencies(),
        )
        for levels in chain
    ]
    assert all(fine <= coarse + 1e-12 for fine, coarse in itertools.pairwise(values))
    assert values[0] < values[-1]


@each_measure
def test_an_empty_table_and_one_record_have_a_figure(measure: Measure) -> None:
    column = Column(((0, 1), (0, 0)))
    for records in ((), (((1,), 2),)):
        table = Table((column,), records)
        recoding = node_recoding(table, (1,), np.ones(len(records), dtype=np.bool_))
        assert math.isfinite(measure.value(recoding, table.frequencies()))
        assert math.isfinite(measure.objective(table.frequencies()).floor((0,)))


@each_measure
def test_a_measure_is_a_value_that_its_parameters_give_back(measure: Measure) -> None:
    assert type(measure)(**measure.parameters()) == measure  # type: ignore[arg-type]
    assert pickle.loads(pickle.dumps(measure)) == measure  # noqa: S301


@each_measure
def test_the_docstring_has_the_formula_the_cost_and_an_example(measure: Measure) -> None:
    text = inspect.getdoc(type(measure)) or ""
    assert "value = " in text
    assert "Cost of a value O(" in " ".join(text.split())
    assert "\nExamples\n--------\n" in text
