"""Every method, every form and every promise on small tables: what the golden releases are made of."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

import shoal
from golden.people import FIRST, few, of_persons, rows, schema, visits, with_files
from shoal import Schema

ALL = ("name", "age", "workclass", "admitted", "schooling", "diagnosis", "charge", "class pain", "nights")
SOME = ("name", "age", "workclass", "admitted", "diagnosis", "charge")
SMALL = ("name", "age", "workclass", "diagnosis", "charge")
CODES = ("name", "age", "città", "zip", "size", "weight", "diagnosis")
NOISY = ("name", "age", "workclass", "admitted", "class pain", "charge")
FEW = ("name", "age", "workclass", "class pain")
MEASURES = (
    "loss",
    "precision",
    "discernibility",
    "average-class-size",
    "non-uniform-entropy",
    "ambiguity",
    "kl-divergence",
    {"name": "classification", "target": "diagnosis"},
)
KEY = b"a fixed key, for golden releases"

K = shoal.KAnonymity(4)
CROWD = shoal.models.ProbabilisticKAnonymity(4)
CLOSE = shoal.models.MultiplicativeCloseness("charge", 2)
PRIVATE = shoal.DifferentialPrivacy(epsilon=2, delta=0.01)


@dataclass(frozen=True, kw_only=True)
class Case:
    """One release.

    Parameters
    ----------
    method, promises, measures
        What the plan asks for.
    columns, schema, changes
        The columns of the people, or a schema made in a folder, or changes of the schema by column.
    table
        The records.
    population
        Everybody whom an intruder may think of.
    pseudonyms
        Whether the identifier becomes a pseudonym.
    csv, internal
        Whether CSV files are written too, and whether the report for the publisher is made.
    seed
        Of the random numbers.
    """

    method: Any
    promises: tuple[Any, ...] = (K,)
    measures: tuple[str | Mapping[str, object], ...] = ("loss",)
    columns: tuple[str, ...] = SOME
    schema: Callable[[Path], Schema] | None = None
    changes: Mapping[str, dict[str, object]] = field(default_factory=dict)
    table: Callable[[], pa.Table] = lambda: rows(150)
    population: Callable[[], pa.Table] | None = None
    pseudonyms: bool = False
    csv: bool = False
    internal: bool = False
    seed: int = 1

    def described(self, folder: Path) -> Schema:
        """Return the schema; files that it names go into ``folder``."""
        if self.schema is not None:
            return self.schema(folder)
        changes = dict(self.changes)
        if self.pseudonyms:
            changes["name"] = {**changes.get("name", {}), "pseudonym": True}
        return schema(*self.columns, **changes)

    def records(self, described: Schema) -> pa.Table:
        """Return the columns of the table that the schema describes."""
        return self.table().select(list(described.names))


def _guessed(folder: Path) -> Schema:
    del folder
    return shoal.draft(shoal.read(rows(150).select(["age", "workclass", "schooling", "diagnosis", "nights"]))).schema


def _recoding() -> dict[str, Case]:
    small = {"columns": SMALL}
    everybody = {"columns": ("name", "age", "workclass", "diagnosis"), "population": lambda: rows(300)}
    return {
        "generalize": Case(columns=ALL, method=shoal.Generalize(), measures=MEASURES, internal=True, csv=True),
        "generalize, cells": Case(method=shoal.Generalize(cells=True), pseudonyms=True),
        "generalize, aggregates": Case(
            method=shoal.Generalize(aggregates={"age": "mean", "workclass": "set"}), **small
        ),
        "generalize, steps": Case(
            method=shoal.Generalize(steps=3, quality="discernibility", suppression_limit="3/10"), **small
        ),
        "generalize, weights": Case(
            method=shoal.Generalize(quality="non-uniform-entropy", weights={"age": 3}, balance=0.3), **small
        ),
        "generalize, codes": Case(method=shoal.Generalize(suppression_limit=0.1), columns=CODES),
        "generalize, files": Case(
            method=shoal.Generalize(),
            schema=lambda folder: with_files(folder, "age", "workclass", "città", "diagnosis"),
        ),
        "generalize, persons": Case(
            method=shoal.Generalize(suppression_limit=0.2),
            promises=(K, shoal.TCloseness("diagnosis", 0.5), shoal.DistinctLDiversity("diagnosis", 2)),
            changes={"name": {"role": "person"}},
            table=lambda: visits(150, people=60),
            **small,
        ),
        "generalize, links": Case(
            method=shoal.Generalize(links="kept", suppression_limit=0.5),
            promises=(shoal.KAnonymity(3),),
            changes={"name": {"role": "person"}},
            table=lambda: visits(150, people=150),
            pseudonyms=True,
            columns=("name", "workclass", "diagnosis"),
        ),
        "generalize, guessed": Case(method=shoal.Generalize(), schema=_guessed),
        "generalize, missing dropped": Case(
            method=shoal.Generalize(),
            changes={"age": {"missing": "drop"}, "workclass": {"missing": "drop"}},
            **small,
        ),
        "generalize, diversity": Case(
            method=shoal.Generalize(),
            promises=(
                shoal.DistinctLDiversity("diagnosis", 3),
                shoal.models.EntropyLDiversity("diagnosis", 2.5),
                shoal.models.RecursiveLDiversity("diagnosis", 3, 2),
                shoal.models.PSensitive(("diagnosis", "class pain"), 2, 5),
            ),
            columns=("age", "workclass", "diagnosis", "class pain"),
        ),
        "generalize, closeness": Case(
            method=shoal.Generalize(),
            promises=(
                shoal.TCloseness("diagnosis", 0.3),
                shoal.TCloseness("charge", 0.25),
                shoal.TCloseness("class pain", "0.3", distance="equal"),
            ),
            columns=("age", "workclass", "diagnosis", "charge", "class pain"),
        ),
        "generalize, likeness": Case(
            method=shoal.Generalize(suppression_limit=0.2),
            promises=(
                shoal.models.BetaLikeness("class pain", 1.5, enhanced=True),
                shoal.models.BetaLikeness("diagnosis", 2),
                shoal.models.DeltaDisclosure("diagnosis", 1.5),
                shoal.models.MultiplicativeCloseness("diagnosis", 4),
            ),
            columns=("age", "workclass", "diagnosis", "class pain"),
        ),
        "generalize, risks": Case(
            method=shoal.Generalize(),
            promises=(
                shoal.models.AverageRisk(0.2),
                shoal.models.SampleUniqueness(0.02),
                shoal.models.KMAnonymity(6, 2),
                CROWD,
            ),
        ),
        "generalize, estimated uniqueness": Case(
            method=shoal.Generalize(), promises=(shoal.models.EstimatedUniqueness(0.001, 0.1, "zayatz"),), **small
        ),
        "generalize, k-map": Case(method=shoal.Generalize(), promises=(shoal.models.KMap(6),), **everybody),
        "generalize, estimated k-map": Case(method=shoal.Generalize(), promises=(shoal.models.EstimatedKMap(20, 0.1),)),
        "generalize, delta-presence": Case(
            method=shoal.Generalize(suppression_limit=0.2),
            promises=(shoal.models.DeltaPresence(0.2, 0.8),),
            **everybody,
        ),
        "iterate": Case(method=shoal.methods.Iterate(), pseudonyms=True),
        "iterate, prices": Case(
            method=shoal.methods.Iterate(first_price=0.2, growth=2, saving=0.1),
            promises=(shoal.models.KMap(6), shoal.TCloseness("diagnosis", 0.5)),
            **everybody,
        ),
        "mondrian": Case(columns=ALL, method=shoal.methods.Mondrian(intervals=True)),
        "mondrian, relaxed": Case(
            method=shoal.methods.Mondrian(relaxed=True, intervals=False),
            promises=(K, shoal.DistinctLDiversity("diagnosis", 2)),
            **small,
        ),
        "specialize": Case(method=shoal.methods.Specialize()),
        "specialize, foresight": Case(
            method=shoal.methods.Specialize(foresight=5, intervals=False, quality="precision"), columns=CODES
        ),
        "subtree": Case(method=shoal.methods.Subtree()),
        "subtree, closeness": Case(
            method=shoal.methods.Subtree(suppression_limit=0.1), promises=(K, shoal.TCloseness("charge", 0.3)), **small
        ),
    }


def _classes() -> dict[str, Case]:
    nominal = shoal.models.MultiplicativeCloseness("diagnosis", 2)
    near, groups = shoal.TCloseness("charge", 0.2), [["age", "diagnosis"], ["workclass", "charge"]]
    small = {"columns": SMALL}
    return {
        "bucketize": Case(columns=ALL, method=shoal.methods.Bucketize(class_size=9), promises=(K, CLOSE)),
        "bucketize, generalized": Case(
            method=shoal.methods.Bucketize(form="generalized"), promises=(K, nominal), **small
        ),
        "bucketize, permuted": Case(
            method=shoal.methods.Bucketize(form="permuted"),
            promises=(K, shoal.models.MultiplicativeCloseness("charge", "1.5")),
            pseudonyms=True,
            **small,
        ),
        "bucketize, anatomy": Case(
            method=shoal.methods.Bucketize(form="anatomy"), promises=(K, CLOSE), pseudonyms=True
        ),
        "bucketize, several": Case(
            method=shoal.methods.Bucketize(buckets=2),
            promises=(K, CLOSE, nominal),
            changes={"age": {"missing": "drop"}},
            **small,
        ),
        "t-microaggregate": Case(method=shoal.methods.TMicroaggregate(), promises=(K, near)),
        "t-microaggregate, closeness first": Case(
            method=shoal.methods.TMicroaggregate(strategy="closeness-first"),
            promises=(K, near),
            pseudonyms=True,
            **small,
        ),
        "t-microaggregate, generalized": Case(
            method=shoal.methods.TMicroaggregate(strategy="merge-first", form="generalized"),
            promises=(K, shoal.TCloseness("diagnosis", "0.3")),
        ),
        "t-microaggregate, anatomy": Case(
            method=shoal.methods.TMicroaggregate(form="anatomy"), promises=(K, near), **small
        ),
        "anatomy": Case(
            method=shoal.methods.Anatomy(), promises=(K, shoal.DistinctLDiversity("diagnosis", 3)), csv=True
        ),
        "anatomy, confidential": Case(
            method=shoal.methods.Anatomy(grouping="confidential", attribute="charge"),
            promises=(shoal.KAnonymity(20),),
            **small,
        ),
        "stochastic-closeness": Case(
            columns=ALL,
            method=shoal.methods.StochasticCloseness(epsilon=2),
            changes={"class pain": {"missing": "drop"}},
        ),
        "stochastic-closeness, t": Case(method=shoal.methods.StochasticCloseness(t=3, form="generalized"), **small),
        "stochastic-closeness, refinement": Case(
            method=shoal.methods.StochasticCloseness(epsilon=1.5, mechanism="refinement"),
            pseudonyms=True,
            table=lambda: rows(60),
            **small,
        ),
        "slice": Case(method=shoal.methods.Slice(groups=groups), **small),
        "slice, found": Case(columns=ALL[1:-1], method=shoal.methods.Slice(size=3)),
        "slice, bucketize": Case(
            method=shoal.methods.Slice(groups=[["age", "diagnosis"], ["workclass", "charge"]], inner="bucketize"),
            promises=(K, CLOSE, nominal),
            **small,
        ),
        "slice, mdav": Case(
            method=shoal.methods.Slice(groups=[["name", "age", "diagnosis"], ["workclass", "charge"]], inner="mdav"),
            promises=(K, near),
            pseudonyms=True,
            **small,
        ),
        "suppress": Case(columns=ALL, method=shoal.methods.Suppress(), internal=True),
        "suppress, caps": Case(
            method=shoal.methods.Suppress(importance={"age": 2}, most={"admitted": 1}, strata=["workclass"]),
            promises=(shoal.KAnonymity(3), shoal.DistinctLDiversity("diagnosis", 2)),
            pseudonyms=True,
        ),
        "suppress, wildcards": Case(
            method=shoal.methods.Suppress(), promises=(shoal.methods.classes.KWildcards(3, 2),)
        ),
        "mdav": Case(columns=ALL, method=shoal.methods.Mdav(), internal=True),
        "mdav, promises": Case(
            method=shoal.methods.Mdav(decimals=1),
            promises=(K, shoal.DistinctLDiversity("diagnosis", 3)),
            pseudonyms=True,
        ),
        "mdav, groups": Case(
            columns=ALL,
            method=shoal.methods.Mdav(groups=[["age", "workclass"], ["admitted", "schooling"]], categories="points"),
            pseudonyms=True,
        ),
        "mdav, closeness first": Case(
            method=shoal.methods.Mdav(strategy="closeness-first", categories="semantic"),
            promises=(K, shoal.TCloseness("diagnosis", 0.3)),
            changes={"workclass": {"missing": "drop"}},
        ),
        "vmdav": Case(method=shoal.methods.VMdav()),
        "vmdav, groups": Case(
            method=shoal.methods.VMdav(gamma=1.1, groups=[["age"], ["workclass"]], decimals=0), **small
        ),
        "swap": Case(columns=ALL, method=shoal.methods.Swap(), promises=(CROWD,)),
        "swap, closeness": Case(
            method=shoal.methods.Swap(categories="points"),
            promises=(CROWD, shoal.TCloseness("class pain", 0.4)),
            pseudonyms=True,
            columns=("name", "age", "workclass", "class pain"),
        ),
        "ir-swap": Case(
            columns=ALL,
            method=shoal.methods.IndividualRankingSwap(),
            promises=(shoal.models.ProbabilisticKAnonymity(10),),
            pseudonyms=True,
        ),
    }


def _truthful() -> dict[str, Case]:
    def case(
        *promises: Any, private: Any = PRIVATE, drop: bool = False, operator: Any = "sampling", **method: Any
    ) -> Case:
        changes = {"age": {"missing": "drop"}} if drop else {}
        return Case(
            method=shoal.methods.Truthful(operator=operator, **method),
            promises=(private, *promises),
            columns=FEW,
            table=lambda: few(300),
            changes=changes,
        )

    def sets(**method: Any) -> Case:
        return dataclasses.replace(case(), method=shoal.methods.TruthfulTables(**method))

    return {
        "truthful-tables": dataclasses.replace(sets(), csv=True, internal=True),
        "truthful-tables, joint": sets(tables="pairs+joint", pairs=2),
        "truthful-tables, sets": sets(tables=[["age"], ["workclass", "class pain"]], levels={"age": 1}),
        "truthful": dataclasses.replace(case(), csv=True, internal=True),
        "truthful, intensity": case(score="intensity", drop=True),
        "truthful, group size": case(score="group-size"),
        "truthful, target": case(score="classification", target="class pain"),
        "truthful, discernibility": case(score="discernibility", levels={"age": 2}),
        "truthful, entropy": case(score="non-uniform-entropy", weights={"age": 2}),
        "truthful, walk": case(search="walk", steps=5),
        "truthful, tree": case(shoal.KAnonymity(20), scheme="multi-dimensional"),
        "truthful, fixed": case(levels={"age": 2, "workclass": 1, "class pain": 0}),
        "truthful, one fixed": case(
            levels={"age": 2},
            private=shoal.DifferentialPrivacy(epsilon=3, delta="1/200", search_share=0.3, definition="standard"),
        ),
        "truthful, filters": case(
            shoal.DistinctLDiversity("class pain", 2), shoal.TCloseness("class pain", 0.9), levels={"age": 2}
        ),
        "truthful, trim": dataclasses.replace(case(operator="trim"), csv=True, internal=True),
        "truthful, trim, intensity": case(operator="trim", score="intensity", drop=True),
        "truthful, trim, target": case(operator="trim", score="classification", target="class pain"),
        "truthful, trim, discernibility": case(operator="trim", score="discernibility", levels={"age": 2}),
        "truthful, trim, tree": case(operator="trim", scheme="multi-dimensional"),
        "truthful, trim, tree, crowds": case(shoal.KAnonymity(5), operator="trim", scheme="multi-dimensional"),
        "truthful, trim, fixed": case(operator="trim", levels={"age": 2, "workclass": 1, "class pain": 0}),
        "truthful, trim, filters": case(
            shoal.DistinctLDiversity("class pain", 2),
            shoal.TCloseness("class pain", 0.9),
            operator="trim",
            levels={"age": 2},
        ),
        "truthful, persons": dataclasses.replace(
            case(private=dataclasses.replace(PRIVATE, records_per_person=2), operator="trim"),
            changes={"name": {"role": "person"}},
            table=lambda: of_persons(few(600)),
        ),
    }


def _noise() -> dict[str, Case]:
    def case(epsilon: float = 2, **method: Any) -> Case:
        return Case(
            method=shoal.methods.DPMicroaggregation(**method),
            promises=(shoal.methods.noise.EpsilonBudget(epsilon),),
            columns=NOISY,
            table=lambda: rows(120),
        )

    sets = (("age", "workclass"), ("admitted", "class pain", "charge"))
    shares = {"age": 0.5, "workclass": "1/3", "admitted": 0.5, "class pain": 0.1, "charge": 0.1}
    filled: dict[str, Any] = {"fill": {"age": 40, "admitted": FIRST, "class pain": "none"}}
    return {
        "dp-microaggregation": dataclasses.replace(case(), internal=True),
        "dp-microaggregation, sets": dataclasses.replace(case(5, k=12, sets=sets, **filled), csv=True),
        "dp-microaggregation, each": case(5, k=12, sets="each", split="proportional"),
        "dp-microaggregation, shares": case(k=7, split=shares, reference_points=1, decimals={"age": 3}, **filled),
        "dp-microaggregation, partition": case(k=10, target="partition", split="proportional", **filled),
        "dp-microaggregation, partition, proportional": case(
            k=10, target="partition", sets="each", split="proportional"
        ),
        "dp-microaggregation, partition, sets": case(0.1, k=5, target="partition", sets=sets),
        "dp-microaggregation, persons": dataclasses.replace(
            case(k=10, **filled),
            promises=(shoal.methods.noise.EpsilonBudget(4, records_per_person=3),),
            changes={"name": {"role": "person"}},
            table=lambda: of_persons(rows(120)),
        ),
        "dp-microaggregation, gaussian": dataclasses.replace(
            case(k=10, sets=sets, noise="gaussian", **filled),
            promises=(shoal.methods.noise.EpsilonBudget(2, delta="1e-5"),),
        ),
        "dp-microaggregation, record query": case(k=10, target="record-query", sets=sets, **filled),
    }


CASES: dict[str, Case] = {**_recoding(), **_classes(), **_truthful(), **_noise()}
"""All cases by name; a name starts with that of its method."""
