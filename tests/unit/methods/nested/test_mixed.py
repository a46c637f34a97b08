"""Labels of different levels in a table with one known column."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa

import shoal
from shoal import datasets

SCHEMA = """
shoal = 1
[tables.customers]
key = "id"
[tables.products]
parent = "customers"
list = "products"
[tables.products.columns.products]
role = "quasi-identifier"
hierarchy = { file = "products.csv" }
"""


def release(folder: Path) -> shoal.DatasetRelease:
    """Return a release of baskets in which products of one group are common, and those of two others rare."""
    groups = {"bread": "food", "milk": "food", **{f"tea {n}": "teas" for n in range(30)}}
    groups |= {f"pill {n}": "pills" for n in range(30)}
    above = {"food": "food and drink", "teas": "food and drink", "pills": "pills"}
    lines = [f"{product};{group};{above[group]};*" for product, group in groups.items()]
    (folder / "products.csv").write_text("\n".join(lines) + "\n")
    draw = np.random.default_rng(2)
    baskets = [
        ["bread", *(["milk"] if draw.random() < 0.5 else []), f"{'tea' if person % 2 else 'pill'} {draw.integers(30)}"]
        for person in range(120)
    ]
    customers = pa.table({"id": np.arange(120), "products": baskets})
    described, method = datasets.loads(SCHEMA, folder), shoal.RecodeItems(suppression_limit=0)
    return shoal.anonymize_dataset({"customers": customers}, k=8, known_items=2, schema=described, method=method)


def test_common_labels_stay_and_rare_ones_become_groups(tmp_path: Path) -> None:
    made = release(tmp_path)
    labels = {*made.tables["products"]["products"].to_pylist()}
    assert labels == {"bread", "milk", "teas", "pills"}
    assert made.loss < 0.3
    assert "have different levels" in str(made)
    found = shoal.verify(made.write(tmp_path / "release"))
    assert found.passed, [check for check in found.checks if not check.passed]


def test_a_column_that_is_not_said_to_be_mixed_has_one_level(tmp_path: Path) -> None:
    folder = release(tmp_path).write(tmp_path / "release")
    path = folder / "certificate.json"
    content = json.loads(path.read_text())
    for step in content["steps"]:
        if step.get("mixed"):
            step["mixed"] = []
            step["description"] = step["description"].partition(" Labels of")[0]
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n")
    failed = [check.subject for check in shoal.verify(folder).checks if not check.passed]
    assert "labels" in failed
