"""The counts of the population table, for the models that compare the release with it."""

from __future__ import annotations

from shoal.errors import ParameterError
from shoal.tables import Classes, Counts

__all__ = ["population"]


def population(classes: Classes, title: str) -> Counts:
    """Return the number of people of the population in every class."""
    if classes.population is None:
        raise ParameterError(
            f"`{title}` needs a population table; none was given.",
            hint="give the table of everybody whom an intruder may think of, with the same quasi-identifiers",
        )
    return classes.population
