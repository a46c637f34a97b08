"""The risk of a survey, estimated with the sampling weights of its records."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal import tables
from shoal.kernels import Codes, Counts, Floats
from shoal.risk._population import LogLinearRisk, individual_risk, log_linear_risk
from shoal.risk._reidentification import UnitRisk, unit_risk
from shoal.tables import Table


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sample:
    """The records of a table, in the order of the source."""

    #: The quasi-identifiers.
    keys: tuple[str, ...]
    #: One row per record, one column per key; -1 stands for a missing value.
    codes: Codes
    #: How many people of the population each record stands for; None where the schema names no weight, or somebody has
    #: several records: a weight is that of a person.
    weights: Floats | None = None
    #: A number per record that says whose household it is; None where the schema names no household.
    homes: Counts | None = None

    def __len__(self) -> int:
        return len(self.codes)

    def classes(self) -> tuple[Counts, Counts]:
        """Return the class of every record and the records of every class; a missing value is one of its own."""
        labels, firsts = tables.group(self.codes + 1)
        return labels, np.bincount(labels, minlength=len(firsts))

    def people(self, labels: Counts, sizes: Counts) -> Floats:
        """Return the estimated people of every class: the sum of its weights, and at least its records."""
        assert self.weights is not None  # noqa: S101 - asked for where there are weights
        return np.maximum(np.bincount(labels, weights=self.weights, minlength=len(sizes)), sizes)


def sample(table: Table) -> Sample:
    """Fetch the keys, weights and households of all records of a table with a schema. Cost: O(records * keys)."""
    schema = tables.schema_of(table)
    weight = schema.sampling_weight if schema.sampling_weight in table.columns else None
    if weight is not None and tables.people(table).repeat:
        weight = None
    home = schema.household if schema.household in table.columns else None
    encoded = tables.encode_records(table, sensitive=() if home is None else (home,))
    codes = encoded.frequencies.codes.copy()
    for column, dictionary in enumerate(encoded.dictionaries):
        missing = dictionary.values.is_null().to_numpy(zero_copy_only=False)
        codes[missing[encoded.places[:, column]], column] = -1
    return Sample(
        keys=tuple(dictionary.name for dictionary in encoded.dictionaries),
        codes=codes,
        weights=None if weight is None else tables.numbers(table, weight),
        homes=None if home is None else encoded.sensitive_codes[:, 0].astype(np.int64),
    )


#: people of the population below which records are counted
_CROWDS = (2, 3, 5, 10, 20, 50, 100)
#: risks above which records are counted
_RISKS = (0.5, 0.2, 0.1, 0.05, 0.01)


@dataclass(frozen=True, slots=True, kw_only=True)
class SurveyRisk:
    """Chances that an intruder finds the people of a survey in the population, estimated with sampling weights."""

    #: The column that says how many people a record stands for.
    weight: str
    #: The number of records, and of the people that they stand for: the sum of the weights.
    records: int
    population: float
    #: The expected number of records that an intruder who links every record with the population links correctly: the
    #: sum of all individual risks (Benedetti and Franconi). Errs low, often by much.
    expected: float
    #: The highest individual risk of a record.
    highest: float
    #: Pairs of a risk and the number of records with a higher individual risk.
    above: tuple[tuple[float, int], ...]
    #: What log-linear models of main effects, and of all pairs of columns, say about the unique records; the second is
    #: left out where the columns have too many combinations.
    log_linear: tuple[LogLinearRisk, ...]
    #: The estimated people of the class of the table that has the fewest in the population: the sum of its weights.
    fewest: float
    #: Pairs of a number k and the records in classes of fewer than k people by the same estimate.
    crowds: tuple[tuple[int, int], ...]
    #: The risk of households, each found if any member is; None where the schema names no household.
    households: UnitRisk | None = None
    #: The expected number of people in households that are found; None as well.
    members: float | None = None


def survey_risk(table: Table) -> SurveyRisk | None:
    """Estimate the risk of a survey against its population.

    None where the schema names no sampling weight, or somebody has several records: a weight is that of a person.

    Assumptions
    -----------
    The weights are those of the design: their sum over a class estimates its people, and each was drawn independently.
    For the log-linear models everybody of a stratum (of the whole population where the schema names none) had the same
    chance.

    Notes
    -----
    Cost: O(records log records), and what :func:`log_linear_risk` costs.
    """
    schema, data = tables.schema_of(table), sample(table)
    return None if data.weights is None else survey_risk_of(data, str(schema.sampling_weight), schema.strata)


def survey_risk_of(data: Sample, weight: str, strata: tuple[str, ...] = ()) -> SurveyRisk:
    """Estimate the risk of the records of a survey; see :func:`survey_risk`."""
    assert data.weights is not None  # noqa: S101 - asked for where there are weights
    labels, sizes = data.classes()
    people = data.people(labels, sizes)
    risks = individual_risk(sizes, people)[labels]
    fitted = (log_linear_risk(data.codes, fractions(data, strata), effects=effects) for effects in (1, 2))
    return SurveyRisk(
        weight=weight,
        records=len(data),
        population=float(data.weights.sum()),
        expected=float(risks.sum()),
        highest=float(risks.max(initial=0.0)),
        above=tuple((risk, int(np.count_nonzero(risks > risk))) for risk in _RISKS),
        log_linear=tuple(each for each in fitted if each is not None),
        fewest=float(people.min(initial=np.inf)) if len(people) else 0.0,
        crowds=tuple((k, int(sizes[people < k].sum())) for k in _CROWDS),
        households=None if data.homes is None else unit_risk(_log_chance_missed(risks, data.homes)),
        members=None if data.homes is None else float(household_risks(risks, data.homes)[data.homes].sum()),
    )


def fractions(data: Sample, strata: tuple[str, ...]) -> Floats:
    """Return the share of the population of each record's stratum that is in the table."""
    assert data.weights is not None  # noqa: S101 - asked for where there are weights
    positions = [data.keys.index(name) for name in strata]
    labels = tables.group(data.codes[:, positions] + 1)[0] if positions else np.zeros(len(data), dtype=np.int64)
    return np.minimum(np.bincount(labels) / np.bincount(labels, weights=data.weights), 1.0)[labels]


def household_risks(risks: Floats, homes: Counts) -> Floats:
    """Return the risk of every household: 1 - product over its members of (1 - risk)."""
    return np.asarray(-np.expm1(_log_chance_missed(risks, homes)))


def _log_chance_missed(risks: Floats, homes: Counts) -> Floats:
    """Return the logarithm of the chance that no member of a household is found, for every household."""
    with np.errstate(divide="ignore"):
        return np.bincount(homes, weights=np.log1p(-risks)).astype(np.float64)
