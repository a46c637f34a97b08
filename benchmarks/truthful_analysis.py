"""What analysts make of truthful releases of Adult, with and without weights: totals, shares, means, a regression.

Errors are means over runs. A total is the number of records; shares are the total variation of a column, coarse values
spread evenly, pairs the change of associations, and counts random ones; the mean age is that of the middles of
intervals; the regression is that of salary-class on sex and marital status, where they are released as they were, and
its error is that of the coefficients.
"""

from __future__ import annotations

import warnings

import numpy as np
import pyarrow as pa

import shoal
from shoal import utility
from shoal.risk import Pair
from truthful import DATA, adult_schema

RUNS = 5
BUDGETS = (("0.1", "1e-5"), ("1", "1e-5"), ("3", "1e-5"))


def main() -> None:
    table = shoal.read(DATA / "adult.csv").with_schema(adult_schema())
    truth = table.to_arrow()
    age = np.array([float(each) for each in truth["age"].to_pylist()]).mean()
    for epsilon, delta in BUDGETS:
        for scheme in ("full-domain", "multi-dimensional"):
            found = []
            for _ in range(RUNS):
                wanted = shoal.DifferentialPrivacy(epsilon=epsilon, delta=delta)
                release = shoal.anonymize(table, wanted, method=shoal.methods.Truthful(scheme=scheme))
                found.append(np.ravel([measured(table, release, weights, age) for weights in (False, True)]))
            figures = np.nanmean(np.array(found), axis=0).reshape(2, -1)
            print(f"epsilon {epsilon}, {scheme}: total, shares, pairs, counts, mean age, regression")
            for label, row in zip(("as it stands", "weighted"), figures, strict=True):
                print(f"  {label:<14}" + "".join(f"{each:>9.4f}" for each in row))


def measured(table: shoal.Table, release: shoal.Release, weights: bool, age: float) -> list[float]:
    rows = release.weighted()
    own = rows["weight"].to_numpy() if weights else np.ones(len(rows))
    pair = Pair.of(table, shoal.read(rows)).with_release(shoal.read(rows), weights="weight" if weights else None)
    records = table.count()
    middles = np.array([middle(str(each)) for each in rows["age"].to_pylist()])
    known = ~np.isnan(middles)
    mean = np.average(middles[known], weights=own[known]) if known.any() else np.nan
    return [
        abs(own.sum() - records) / records,
        float(np.mean([each.total_variation for each in utility.distributions(pair)])),
        utility.associations(pair).difference,
        utility.query_error(pair).mean,
        abs(mean - age),
        regression(table.to_arrow(), rows, own),
    ]


def middle(label: str) -> float:
    """Return the middle of an interval such as [20, 40[ or 20-39, or the number itself."""
    import re

    numbers = [float(each) for each in re.findall(r"\d+", label)]
    return float(np.mean(numbers)) if numbers else np.nan


def regression(truth: pa.Table, rows: pa.Table, weights: np.ndarray) -> float:
    """Return the mean error of the coefficients of a logistic regression, or NaN if its columns are not released."""
    names = ("sex", "marital-status", "salary-class")
    values = {name: set(truth[name].to_pylist()) for name in names}
    kept = np.ones(len(rows), dtype=bool)
    for name in names:
        kept &= np.isin(np.array(rows[name].to_pylist(), dtype=object).astype(str), sorted(values[name]))
    if kept.sum() < 1000 or len(set(rows.filter(pa.array(kept))["salary-class"].to_pylist())) < 2:
        return np.nan
    one, two = (
        coefficients({name: np.array(part[name].to_pylist(), dtype=object)[rows_] for name in names}, values, own)
        for part, rows_, own in (
            (truth, np.ones(len(truth), dtype=bool), np.ones(len(truth))),
            (rows, kept, weights[kept]),
        )
    )
    return float(np.abs(one - two).mean())


def coefficients(columns: dict[str, np.ndarray], values: dict[str, set[str]], weights: np.ndarray) -> np.ndarray:
    from sklearn.linear_model import LogisticRegression

    design = np.column_stack(
        [columns[name] == value for name in ("sex", "marital-status") for value in sorted(values[name])[1:]]
    )
    target = columns["salary-class"] == sorted(values["salary-class"])[-1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = LogisticRegression(C=10.0).fit(design, target, sample_weight=weights)
    return np.concatenate([fitted.intercept_, fitted.coef_[0]])


if __name__ == "__main__":
    main()
