"""A release in the words of two standards: the terms of ISO/IEC 20889, and the questions of ISO/IEC 27559."""

from __future__ import annotations

from collections.abc import Iterator

from shoal.exact import share
from shoal.guarantees import Certificate, Strength
from shoal.report._document import Document
from shoal.schema import Role

__all__ = ["questions", "techniques"]

#: steps of a certificate, and what ISO/IEC 20889:2018 calls them
_TECHNIQUES = {
    "dropped": "masking: direct identifiers removed",
    "pseudonymized": "pseudonymization",
    "left-out": "record suppression",
    "suppressed": "record suppression",
    "trimmed": "record suppression",
    "filtered": "record suppression",
    "generalized": "generalization",
    "bucketized": "generalization: rounding",
    "sampled": "sampling",
    "permuted": "randomization: permutation",
    "ranked": "randomization: permutation",
    "randomized": "randomization",
    "noised": "randomization: noise addition",
    "concepts-drawn": "randomization",
    "averaged": "randomization: microaggregation",
    "aggregated": "randomization: microaggregation; of intervals and sets, generalization: local generalization",
    "separated": "anatomization",
}
_MODELS = {
    "k-anonymity": "K-anonymity",
    "k-map": "K-anonymity, over a population",
    "estimated-k-map": "K-anonymity, over a population",
    "differential-privacy": "differential privacy",
    "probabilistic-k-anonymity": "K-anonymity, in its probabilistic form",
}
_FORMS = {
    "microaggregated": "randomization: microaggregation",
    "generalized": "generalization: local generalization",
}
_FAMILIES = {"diversity": "l-diversity, on top of K-anonymity", "closeness": "t-closeness, on top of K-anonymity"}


_DIRECT = (Role.IDENTIFIER, Role.PERSON, Role.HOUSEHOLD)
_KNOWN = (Role.QUASI_IDENTIFIER, Role.STRATUM)


def techniques(certificate: Certificate) -> Iterator[tuple[str, str]]:
    """Return each step and promise with the term for it."""
    for step in certificate.steps:
        if term := _TECHNIQUES.get(str(step.get("step"))) or _FORMS.get(str(step.get("form"))):
            yield f"technique: {term}", str(step.get("description", ""))
    for promise in certificate.promises:
        family = next((term for word, term in _FAMILIES.items() if word in promise.model), None)
        differential = "differential privacy" if promise.strength is Strength.UNCONDITIONAL else None
        term = _MODELS.get(promise.model) or family or differential or "no term of its own"
        yield f"formal privacy measurement model: {term}", promise.statement


def questions(document: Document) -> Iterator[tuple[str, str, str]]:
    """Return part, question and answer; an answer that the plan should give and does not is empty."""
    said = document.about
    yield "context", "Who gets the data?", said.get("recipient", "")
    yield "context", "What for?", said.get("purpose", "")
    yield "context", "How, and under which conditions?", said.get("context", "")
    yield "context", "What else can they know about the same people?", said.get("other_data", "")
    yield "data", "What identifies people directly?", _having(document, *_DIRECT)
    yield "data", "What may others know of a person?", _having(document, *_KNOWN)
    yield "data", "What would be learned about a person who is found?", _having(document, Role.SENSITIVE)
    yield "identifiability", "How identifiable are people?", " ".join(_identifiable(document))
    yield "identifiability", "What was done about it?", " ".join(step.description for step in document.steps)
    yield "governance", "Who answers for the release?", said.get("controller", "")
    yield "governance", "Who looks at it again, and what if somebody is found?", said.get("review", "")
    yield "governance", "How can others check what is said here?", "With `shoal verify`, from the release alone."


def _having(document: Document, *roles: Role) -> str:
    found = [each for each in document.described if each.role in roles]
    return "; ".join(f"`{each.name}` ({each.done})" for each in found) or "no column"


def _identifiable(document: Document) -> Iterator[str]:
    for table in document.tables:
        if table.risk is not None:
            yield (
                f"{table.file}: the smallest class has {table.risk.smallest:,} records; {table.risk.unique:,} records "
                f"are alone in theirs. The highest risk of a record is {share(table.risk.prosecutor)}, the average "
                f"{share(table.risk.marketer)}."
            )
    if not any(table.risk is not None for table in document.tables):
        yield "Class sizes do not measure this release; see what is promised."
