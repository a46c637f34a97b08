"""The scripts that draw figures of papers run and draw what they compute."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "examples" / "papers" / "noise_by_cluster_size.py"


def run(data: Path, output: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, SCRIPT, "--runs", "1", "--output", output],
        env={**os.environ, "SHOAL_DATA": str(data)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_the_noise_of_small_clusters_and_the_loss_of_large_ones_are_drawn(tmp_path: Path) -> None:
    draw = random.Random(2)
    (tmp_path / "census").mkdir()
    rows = [",".join(f"{draw.lognormvariate(7, 1):.2f}" for _ in range(4)) for _ in range(420)]
    (tmp_path / "census" / "census.csv").write_text("\n".join(['"FICA","FEDTAX","INTVAL","POTHVAL"', *rows]) + "\n")
    done = run(tmp_path, tmp_path / "figure.svg")
    assert done.returncode == 0, done.stderr
    picture = ElementTree.fromstring((tmp_path / "figure.svg").read_text())  # noqa: S314 - the script's own
    curves = [each for each in picture.iter() if each.tag.endswith("polyline")]
    assert len(curves) == 4 * 6
    errors = {
        line.split()[0]: [float(word) for word in line.split()[1:]]
        for line in done.stdout.partition("SSE, epsilon = 1\n")[2].partition("\n\n")[0].splitlines()
        if "INS" not in line
    }
    assert errors["IR_MDAV"] == sorted(errors["IR_MDAV"])
    assert errors["MDAV+DP"][0] > errors["MDAV+DP"][-1] > errors["MDAV"][-1] / 2
    assert errors["IR_MDAV"][-1] < errors["MDAV"][-1]


@pytest.mark.slow
def test_without_the_data_it_says_where_to_put_them(tmp_path: Path) -> None:
    done = run(tmp_path, tmp_path / "figure.svg")
    assert done.returncode == 1
    assert "SHOAL_DATA" in done.stderr
    assert not (tmp_path / "figure.svg").exists()
