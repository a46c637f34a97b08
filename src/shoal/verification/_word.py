"""Say what no file can show, in one line each: it rests on the publisher's word."""

from __future__ import annotations

from shoal.guarantees import CRYPTOGRAPHIC, Certificate, Check
from shoal.methods.brief import Brief

__all__ = ["on_trust"]


def on_trust(plan: Brief, certificate: Certificate) -> list[Check]:
    """Return what a reader must believe, given that all else was checked."""
    found = {"records": "that they were made from the publisher's table by this plan"}
    if any(step.get("step") == "suppressed" for step in certificate.steps):
        found["suppressed records"] = "their number"
    if any(step.get("step") == "left-out" for step in certificate.steps):
        found["records left out"] = "their number"
    if not certificate.randomness.startswith("none used"):
        source = "the operating system" if certificate.randomness == CRYPTOGRAPHIC else "a seed"
        found["random numbers"] = f"that they were drawn as the steps say, and from {source}"
    if certificate.measures:
        found["measures"] = "how much the release loses"
    if certificate.budget is not None:
        found["other releases"] = "that epsilon and delta of all releases of these people are added up"
    if any(step.get("step") == "counted" for step in certificate.steps):
        found["persons"] = "how many there are in each class, for they are not in the release"
    found["roles"] = "that nobody can know other columns than the quasi-identifiers"
    if plan.method.keeps.private is not None:
        del found["roles"]
        found["domains"] = "that they and all parameters were declared without looking at the data"
    detail = "on the publisher's word: {}"
    return [Check(subject=name, passed=True, detail=detail.format(what), shown=False) for name, what in found.items()]
