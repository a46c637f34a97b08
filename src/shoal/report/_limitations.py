"""What a release does not protect from, said of the release at hand."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from shoal.guarantees import Certificate, Strength
from shoal.guarantees._verify_noise import GIVEN_PARTITION, NOISE, RECORD_QUERY
from shoal.schema import Provenance, Role

__all__ = ["limitations"]


def limitations(certificate: Certificate) -> Iterable[str]:
    """Return what a reader must not take the promises for, one sentence or two each."""
    strengths = {promise.strength for promise in certificate.promises}
    models = {promise.model for promise in certificate.promises}
    if certificate.roles == "guessed":
        yield (
            "A program guessed which columns identify people, and no person confirmed it. If a guess is wrong, the "
            "promise is about the wrong columns."
        )
    if Strength.UNCONDITIONAL in strengths:
        yield (
            "Differential privacy limits what the release tells about any single record. What is true of a whole group "
            "can still be learned, and holds for its members whether or not they are in the data."
        )
        yield "A person with several records is protected less: the privacy loss grows with their number."
        yield "The budget adds up: another release of the same people spends more."
    elif models & NOISE.keys():
        yield from _noisy(models)
    else:
        yield (
            "An intruder who knows more than the declared quasi-identifiers, or has another release of the same "
            "people, may learn more than the promise says."
        )
    if strengths == {Strength.SYNTACTIC}:
        yield (
            "The promise is a property of the released table. It sets no limit to what the way in which the table was "
            "chosen tells."
        )
        if _reads_alike(certificate):
            yield "Records of one class may share a sensitive value: whoever knows the class then knows the value."
    if Strength.CONDITIONAL in strengths:
        yield "A conditional promise fails with any of its assumptions; nothing in the release can show that they hold."
    read_off = [domain.column for domain in certificate.domains if domain.provenance is not Provenance.DECLARED]
    if read_off:
        names = ", ".join(f"`{name}`" for name in read_off)
        yield f"Nobody declared the domain of {names}: it was read off the data, and the released labels may tell so."


def _noisy(models: Collection[str]) -> Iterable[str]:
    """Say what noise is not, where it does not protect the records themselves."""
    if GIVEN_PARTITION in models:
        yield (
            "This is not differential privacy of the original table. The clusters were found by looking at the records "
            "without protection: that records were put together, or kept apart, may tell about single ones."
        )
    if RECORD_QUERY in models:
        yield (
            "This is not differential privacy of the released table. It shows the answers to one query per record; "
            "whoever sees several of them learns more than epsilon says. It is for comparison with published tables."
        )


def _reads_alike(certificate: Certificate) -> bool:
    """Whether sensitive columns are released and no promise speaks of one."""
    sensitive = [column.name for data in certificate.tables for column in data.columns if column.role is Role.SENSITIVE]
    spoken = {str(value) for promise in certificate.promises for value in promise.parameters.values()}
    return bool(sensitive) and not spoken & set(sensitive)
