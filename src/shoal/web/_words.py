"""What the models mean, in words for people who have to choose one."""

from __future__ import annotations

from typing import Any

__all__ = ["HELP", "PRESETS", "ROLES"]

HELP: dict[str, str] = {
    "k-anonymity": "Every person looks like at least k - 1 others in all that an outsider may know. "
    "Common choices: 3 among colleagues who signed an agreement, 5 for researchers, 11 or more for the public.",
    "probabilistic-k-anonymity": "Nobody is found with a chance of more than one in k. Enough for the methods that "
    "exchange values between people who are alike.",
    "distinct-l-diversity": "Everybody who looks alike must have at least l different secrets among them, "
    "so that finding a person's group does not give the secret away. 2 or 3 is usual.",
    "entropy-l-diversity": "Like l-diversity, but rare secrets do not count fully: the mix must be as uncertain as l "
    "equally likely values.",
    "recursive-l-diversity": "Like l-diversity, but the most frequent secret of a group must not outweigh the others.",
    "t-closeness": "In every group the secrets are distributed nearly as in the whole table, so that belonging to a "
    "group says little. 0 is nothing at all, 1 is everything; 0.1 to 0.3 is usual.",
    "multiplicative-closeness": "Belonging to a group changes the odds of any secret by a factor of at most t.",
    "delta-disclosure": "The share of any secret in a group stays within a factor of its share in the whole table.",
    "beta-likeness": "No secret becomes much more likely than in the whole table when the group is known.",
    "p-sensitive-k-anonymity": "k-anonymity together with p different secrets in every group.",
    "k-m-anonymity": "An outsider who knows any m of a person's values still finds at least k people.",
    "differential-privacy": "Whether one person is in the table or not hardly changes what is released, whatever "
    "anybody knows already. Real records are sampled and made coarser; no noise is added. The smaller epsilon, the "
    "stronger: 0.5 is strict, 1 is usual, 2 is mild. Delta is the chance that this fails: well below one in "
    "the number of records.",
    "average-risk": "Somebody who tries to find everybody finds at most this share of the people.",
    "sample-uniqueness": "At most this share of the released people stands alone.",
}

PRESETS: tuple[dict[str, Any], ...] = (
    {
        "name": "Trusted colleagues",
        "text": "People who signed an agreement, on a machine of yours. Groups of 3.",
        "k": 3,
        "l": None,
        "t": None,
        "suppression_limit": 0.02,
    },
    {
        "name": "Researchers",
        "text": "A data set handed to a research group. Groups of 5, two secrets in each.",
        "k": 5,
        "l": 2,
        "t": None,
        "suppression_limit": 0.05,
    },
    {
        "name": "The public",
        "text": "On the internet, for everybody and for ever. Groups of 11 that look like the whole table.",
        "k": 11,
        "l": None,
        "t": 0.3,
        "suppression_limit": 0.05,
    },
)

ROLES: tuple[tuple[str, str, str], ...] = (
    ("identifier", "Names a person", "a name, a number of a person: removed"),
    ("quasi-identifier", "Others may know it", "age, sex, place, dates: made coarser until people look alike"),
    ("sensitive", "Secret", "what nobody should learn about a person: kept as it is"),
    ("insensitive", "Neither", "kept as it is"),
)
