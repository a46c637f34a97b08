"""Links in the state folder, which the app never makes: they lead neither its reading nor its writing elsewhere."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from shoal.errors import InputError
from shoal.web._doorway import doorway, find_doorway
from shoal.web._store import ABOUT, Store, read_json, write_json


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "state")


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    folder = tmp_path / "foreign"
    folder.mkdir()
    (folder / ABOUT).write_text(json.dumps({"name": "foreign"}))
    return folder


def test_a_link_in_the_place_of_a_folder_is_refused(store: Store, foreign: Path) -> None:
    identity = "0" * 16
    (store.tables.folder / identity).symlink_to(foreign)
    with pytest.raises(InputError, match="a link in the place of this table"):
        store.tables.about(identity)
    with pytest.raises(InputError, match="a link in the place of this table"):
        store.tables.note(identity, {"name": "ours"})
    assert list(store.tables.all()) == []
    store.tables.remove(identity)
    assert not (store.tables.folder / identity).exists()
    assert json.loads((foreign / ABOUT).read_text()) == {"name": "foreign"}


@pytest.mark.parametrize("name", [ABOUT, "status.json", "data.csv"])
def test_a_link_in_the_place_of_a_file_is_refused(store: Store, foreign: Path, name: str) -> None:
    identity = store.runs.new()
    store.runs.note(identity, {"name": "ours"})
    place = store.runs.path(identity) / name
    place.unlink(missing_ok=True)
    place.symlink_to(foreign / ABOUT)
    with pytest.raises(InputError, match="a link in the place of this run"):
        store.runs.path(identity)
    assert list(store.runs.all()) == []
    store.runs.remove(identity)
    assert (foreign / ABOUT).exists()


def test_a_link_in_the_place_of_a_note_is_replaced_and_not_read(tmp_path: Path, foreign: Path) -> None:
    place = tmp_path / "status.json"
    place.symlink_to(foreign / ABOUT)
    assert read_json(place) is None
    write_json(place, {"state": "done"})
    assert not place.is_symlink()
    assert read_json(place) == {"state": "done"}
    assert json.loads((foreign / ABOUT).read_text()) == {"name": "foreign"}


def test_a_link_does_not_lead_to_another_app(tmp_path: Path, foreign: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as app, doorway(foreign, f"http://localhost:{app.getsockname()[1]}/"):
        (tmp_path / "running.json").symlink_to(foreign / "running.json")
        with pytest.raises(InputError, match="no app is open"):
            find_doorway(tmp_path)


def test_links_in_the_place_of_shelves_are_refused(tmp_path: Path, foreign: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "runs").symlink_to(foreign)
    with pytest.raises(InputError, match="links in the place of: runs"):
        Store(tmp_path / "state")
