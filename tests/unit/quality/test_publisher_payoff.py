from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import shoal
from reference.example import MIDDLE, PEOPLE
from reference.quality import node_recoding
from shoal.errors import ParameterError
from shoal.quality import PublisherPayoff


def test_classes_of_4_1_and_3_records_are_attacked_where_that_pays() -> None:
    """Each of them covers 4 of 16 tuples: half of the information is lost."""
    recoding = node_recoding(PEOPLE, MIDDLE, np.ones(3, dtype=np.bool_))
    for gain, attacked in ((300, 3), (16, 2), (12, 1), (4.0001, 1), (4, 0), (0, 0)):
        found = PublisherPayoff(gain=gain).value(recoding, PEOPLE.frequencies())
        assert found == pytest.approx(0.5 + attacked * 300 / 1200 / 8)
    free = PublisherPayoff(gain=1, cost=0).value(recoding, PEOPLE.frequencies())
    assert free == pytest.approx(0.5 + 3 * 300 / 1200 / 8)


def test_a_search_groups_people_as_soon_as_attacks_cost_more_than_information() -> None:
    table = pa.table({"age": [str(20 + row) for row in range(40)]})
    column = shoal.Attribute(
        name="age", role="quasi-identifier", kind="numeric", hierarchy=shoal.schema.Intervals(widths=(10, 20))
    )
    people = shoal.read(table).with_schema(shoal.Schema(attributes=(column,)))
    for loss, released in ((1, "20"), (3000, "[20, 30)")):
        payoff = {"name": "publisher-payoff", "benefit": 1000, "loss": loss, "gain": 300, "cost": 30}
        method = shoal.Generalize(quality=payoff, suppression_limit=0)
        release = shoal.anonymize(people, shoal.KAnonymity(1), method=method)
        assert str(release.table.to_arrow()["age"].to_pylist()[0]) == released


def test_amounts_that_cannot_be_are_refused_together() -> None:
    with pytest.raises(ParameterError) as caught:
        PublisherPayoff(benefit=0, loss=-1, cost=float("nan"))
    for name in ("benefit", "loss", "cost"):
        assert f"`{name}` of `Publisher payoff`" in str(caught.value)
