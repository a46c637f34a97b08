"""What all tests share: the path to the reference implementations and to the data sets beside the project."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder of real data sets, or skip: they are not ours to ship."""
    folder = Path(os.environ.get("SHOAL_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"needs the data sets in {folder.name}/ beside the project; set SHOAL_DATA to their folder")
    return folder
