"""Every method on small random tables in which persons have several records, judged by a plain count with pandas.

The checker reads the definitions: a class counts different persons; everybody has one vote for values; and where
quasi-identifiers are released as they are, nobody has more than 1/k of the records of a class. It fails for every one
of the broken counts below, so that it can tell right from wrong.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import settings

import shoal
from shoal.errors import RequirementError
from shoal.hierarchies import build, leaf_codes
from shoal.mechanisms import SYSTEM
from shoal.methods.classes import _method, _run, _swap, individual_ranking
from shoal.methods.classes._columns import HeldRecords, QuasiIdentifier
from shoal.methods.classes._method import Opened, PartitionMethod, settle_classes
from shoal.methods.recode import Recode
from shoal.models import Model
from shoal.plan import Plan
from shoal.schema import Attribute, Domain, Groups, Intervals, Schema
from shoal.tables import Dictionary, EncodedRecords, Frequencies, Holders, SensitiveAttribute, group
from shoal.tables import _holders as holders

#: tables per method, fewer for those that take long on each; many more, and others, in `make explore`
TABLES = 24
SLOW = {"iterate": 6, "subtree": 12, "specialize": 12, "generalize, cells": 12}
EXPLORED = 400
ILL = ("cold", "flu", "burn")
SCHEMA = Schema(
    attributes=(
        Attribute(name="who", role="person"),
        Attribute(
            name="age",
            role="quasi-identifier",
            kind="numeric",
            domain=Domain(minimum=0, maximum=39),
            hierarchy=Intervals(widths=(5, 10, 20)),
        ),
        Attribute(
            name="town",
            role="quasi-identifier",
            hierarchy=Groups(levels=((("north", ("a", "b")), ("south", ("c", "d"))),)),
        ),
        Attribute(name="ill", role="sensitive", domain=Domain(values=ILL)),
    )
)

CLASSED = {
    "mdav": shoal.methods.Mdav(),
    "mdav, sets of columns": shoal.methods.Mdav(groups=[["age"], ["town"]]),
    "vmdav": shoal.methods.VMdav(),
    "t-microaggregate": shoal.methods.TMicroaggregate(),
    "t-microaggregate, generalized": shoal.methods.TMicroaggregate(form="generalized"),
    "t-microaggregate, anatomy": shoal.methods.TMicroaggregate(form="anatomy"),
    "anatomy": shoal.methods.Anatomy(),
    "anatomy, confidential": shoal.methods.Anatomy(grouping="confidential"),
    "bucketize": shoal.methods.Bucketize(),
    "bucketize, generalized": shoal.methods.Bucketize(form="generalized"),
    "bucketize, permuted": shoal.methods.Bucketize(form="permuted"),
    "bucketize, anatomy": shoal.methods.Bucketize(form="anatomy"),
    "swap": shoal.methods.Swap(),
    "ir-swap": shoal.methods.IndividualRankingSwap(),
    "suppress": shoal.methods.Suppress(importance={"age": 3}),
}
RECODED: dict[str, Recode] = {
    "generalize": shoal.Generalize(suppression_limit=1),
    "generalize, cells": shoal.Generalize(suppression_limit=1, cells=True),
    "iterate": shoal.methods.Iterate(suppression_limit=1),
    "specialize": shoal.methods.Specialize(suppression_limit=1),
    "mondrian": shoal.methods.Mondrian(suppression_limit=1),
    "subtree": shoal.methods.Subtree(suppression_limit=1),
}


@dataclass(frozen=True)
class Visits:
    """A small table: whose record it is, what is known, and the illness."""

    who: np.ndarray
    age: np.ndarray
    town: np.ndarray
    ill: np.ndarray

    @classmethod
    def drawn(cls, seed: int) -> Visits:
        draw = np.random.default_rng(seed)
        records, people = int(draw.integers(4, 26)), int(draw.integers(2, 12))
        shares = 1 / np.arange(1, people + 1) if seed % 2 else np.ones(people)
        who = np.unique(draw.choice(people, records, p=shares / shares.sum()), return_inverse=True)[1]
        return cls(
            who=who.astype(np.int64),
            age=np.clip((who * 7) % 40 + draw.integers(-2, 3, records), 0, 39),
            town=draw.integers(0, 4, records),
            ill=draw.choice(3, records, p=[0.6, 0.3, 0.1]),
        )

    def encoded(self) -> EncodedRecords:
        columns = {"age": (pa.array(range(40)), self.age), "town": (pa.array(list("abcd")), self.town)}
        hierarchies = tuple(build(SCHEMA[name], values) for name, (values, _) in columns.items())
        return EncodedRecords(
            table=None,
            rows=np.arange(len(self.who)),
            hierarchies=hierarchies,
            dictionaries=tuple(
                Dictionary(name=name, values=values, codes=leaf_codes(hierarchy, values))
                for hierarchy, (name, (values, _)) in zip(hierarchies, columns.items(), strict=True)
            ),
            places=np.stack([places for _, places in columns.values()], axis=1),
            sensitive=(SensitiveAttribute(name="ill", size=3, ordered=False, labels=ILL),),
            sensitive_codes=self.ill[:, None].astype(np.int32),
            persons=self.who,
        )


def classed(name: str, visits: Visits, models: Sequence[Model]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the released classes and values of every partition that a method of classes makes."""
    method = CLASSED[name]
    assert isinstance(method, PartitionMethod)
    encoded = visits.encoded()
    known = tuple(
        QuasiIdentifier(
            attribute=SCHEMA[each.name],
            hierarchy=hierarchy,
            values=each.values,
            leaves=each.codes,
            places=encoded.places[:, j],
        )
        for j, (each, hierarchy) in enumerate(zip(encoded.dictionaries, encoded.hierarchies, strict=True))
    )
    plan = Plan(schema=SCHEMA, models=tuple(models), method=method)
    made = []
    for columns in getattr(method, "groups", None) or [["age", "town"]]:
        people = HeldRecords(
            quasi_identifiers=tuple(each for each in known if each.attribute.name in columns),
            sensitive=encoded.sensitive,
            codes=encoded.sensitive_codes,
            persons=encoded.persons,
            shown=method.shows_members,
        )
        opened = Opened(plan=plan, method=method, table=None, encoded=encoded, people=people, work=None)
        if name == "ir-swap":
            ranks = _swap._ranks(opened, 0)
            k = max(model.capabilities.minimal_class_size for model in models)
            made.append((_swap._for_persons(opened, ranks, individual_ranking(ranks, k)).labels, visits.ill))
            continue
        if name.startswith("suppress"):
            made.append((method.classify(people, models, SYSTEM).partition.labels, visits.ill))
            continue
        _method._check_shares(models if method.shows_members else (), encoded)
        found, made_of = settle_classes(opened, method.classify(people, models, SYSTEM))
        values = visits.ill if found.buckets is None else found.buckets.numbers
        made.append((made_of.partition.labels, values))
    return made


def recoded(name: str, visits: Visits, models: Sequence[Model]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the released classes and values of the records that a recoding leaves."""
    whole = visits.encoded().frequencies
    labels, firsts = group(np.concatenate([whole.codes, whole.sensitive_codes], axis=1))
    frequencies = Frequencies(
        hierarchies=whole.hierarchies,
        codes=np.asfortranarray(whole.codes[firsts]),
        counts=np.bincount(labels).astype(np.int64),
        sensitive=whole.sensitive,
        sensitive_codes=np.asfortranarray(whole.sensitive_codes[firsts]),
        holders=Holders.of(labels, visits.who, np.ones(len(labels), dtype=np.int64), int(visits.who.max()) + 1),
    )
    return [(RECODED[name].recode(frequencies, models).recoding.classes[labels], visits.ill)]


def shares(frame: pd.DataFrame, by: str) -> pd.Series:
    """Return the share of every value in every class, as exact fractions: each row weighs ``by``."""
    weights = frame.groupby(["label", "value"])[by].sum().unstack(fill_value=Fraction(0))
    return weights.apply(lambda row: row / row.sum(), axis=1)


def wrong(visits: Visits, labels: np.ndarray, values: np.ndarray, models: Sequence[Model], *, shown: bool) -> list[str]:
    """Return the promises that classes break, counted with pandas from the definitions."""
    frame = pd.DataFrame({"label": labels, "who": visits.who, "value": values}).query("label >= 0")
    if frame.empty:
        return []
    frame["one"] = Fraction(1)
    frame["vote"] = [Fraction(1, int(r)) for r in frame.groupby(["label", "who"])["who"].transform("size")]
    sizes = frame.groupby("label").size()
    most = frame.groupby(["label", "who"]).size().groupby("label").max()
    found = []
    for model in models:
        if hasattr(model, "k") and frame.groupby("label")["who"].nunique().min() < model.k:
            found.append(f"a class of fewer than {model.k} persons")
        if shown and hasattr(model, "k") and (most * model.k > sizes).any():
            found.append(f"somebody has more than 1/{model.k} of a class")
        if hasattr(model, "l") and frame.groupby("label")["value"].nunique().min() < model.l:
            found.append("too few values")
        for by in ("vote", "one") if shown else ("vote",):
            if hasattr(model, "t"):
                own = shares(frame, by)
                everybody = frame.groupby("value")[by].sum()
                if model.capabilities.factor is None:
                    far = (own - everybody / everybody.sum()).abs().sum(axis=1) / 2
                    found += ["not close"] * bool((far > Fraction(model.t)).any())
                else:
                    ratio = own / (everybody / everybody.sum())
                    found += ["not close"] * bool(((ratio > model.t) | (ratio * Fraction(model.t) < 1)).any().any())
    return found


def asked(name: str, seed: int) -> list[Model]:
    k = 1 + seed % 4
    if "swap" in name:
        return [shoal.models.ProbabilisticKAnonymity(k)]
    if name.startswith("bucketize"):
        return [shoal.KAnonymity(k), shoal.models.MultiplicativeCloseness("ill", 2 + seed % 3)]
    if name == "anatomy, confidential":
        return [shoal.KAnonymity(k)]
    other: list[Model] = [shoal.DistinctLDiversity("ill", 2), shoal.TCloseness("ill", Fraction(1, 3))]
    return [shoal.KAnonymity(k), *other[seed % 3 : seed % 3 + 1]]


def seeds(name: str) -> range:
    """Return the tables to try: the same ones in every run, or many that no run has tried before."""
    if settings.default.derandomize:
        return range(SLOW.get(name, TABLES))
    first = secrets.randbelow(2**32)
    return range(first, first + EXPLORED)


def judged(name: str, tables: range) -> Iterator[list[str]]:
    """Yield what is wrong with the release of one table after the other, where there is one."""
    for seed in tables:
        visits, models = Visits.drawn(seed), asked(name, seed)
        try:
            made = (classed if name in CLASSED else recoded)(name, visits, models)
        except RequirementError:
            continue
        shown = name in CLASSED and CLASSED[name].shows_members
        yield [text for labels, values in made for text in wrong(visits, labels, values, models, shown=shown)]


@pytest.mark.slow
@pytest.mark.parametrize("name", [*CLASSED, *RECODED])
def test_a_plain_count_agrees_with_every_method(name: str) -> None:
    tables = seeds(name)
    found = list(judged(name, tables))
    assert not any(found), tables
    assert len(found) > len(tables) / 3


def records_for_persons(monkeypatch: pytest.MonkeyPatch) -> None:
    """Count every record as a person of its own."""
    alone = lambda self, labels: (labels[self.tuples][labels[self.tuples] >= 0], self.persons)  # noqa: E731
    monkeypatch.setattr(holders.Holders, "group_pairs", alone)
    ballot = holders.Holders.ballot

    def crowded(self: Holders, labels: np.ndarray, number: int) -> holders.Ballot:
        found = ballot(self, labels, number)
        many = np.bincount(found.owners, weights=found.counts, minlength=number).astype(np.int64)
        return holders.Ballot(
            persons=many,
            unit=found.unit,
            owners=found.owners,
            tuples=found.tuples,
            counts=found.counts,
            records=found.records,
        )

    monkeypatch.setattr(holders.Holders, "ballot", crowded)


def records_for_votes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give every record a vote, so that whoever has many decides."""
    monkeypatch.setattr("shoal.tables._classes._with_votes", lambda histogram, ballot, values: histogram)


def nobody_sees_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget that quasi-identifiers are released as they are."""
    monkeypatch.setattr(_run, "readings", lambda classes, partition, persons, *, shown: (classes,))


def nothing_is_merged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave classes as the method made them."""
    monkeypatch.setattr(_swap, "merge_clusters", lambda points, partition, verdict: partition)
    monkeypatch.setattr(_method, "merge_clusters", lambda points, partition, verdict: partition)
    monkeypatch.setattr(
        "shoal.methods.classes._near_classes.merge_clusters", lambda points, partition, verdict: partition
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("broken", "names"),
    [
        (records_for_persons, ["mdav", "anatomy", "t-microaggregate", "generalize", "mondrian"]),
        (records_for_votes, ["t-microaggregate", "bucketize", "generalize", "subtree"]),
        (nobody_sees_shares, ["anatomy", "swap", "ir-swap", "bucketize, permuted", "t-microaggregate, anatomy"]),
        (nothing_is_merged, ["mdav", "mdav, sets of columns", "vmdav", "anatomy", "bucketize", "swap", "ir-swap"]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_plain_count_finds_broken_counts(
    broken: Callable[[pytest.MonkeyPatch], None], names: Sequence[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(monkeypatch)
    for name in names:
        assert any(judged(name, range(100))), f"{name}: nobody noticed"
