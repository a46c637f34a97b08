"""Zips of releases that strangers made: unpacked file by file, within bounds, into a folder of the app."""

from __future__ import annotations

import zipfile
from pathlib import Path, PurePosixPath

from shoal.errors import DataError
from shoal.guarantees import CERTIFICATE
from shoal.web.api.releases import is_release_name
from shoal.web.api.tables import DAMAGED

#: files of a release, and the bytes that it may unpack to, or the times its size
_FILES, _UNPACKED, _TIMES = 10_000, 2**30, 100
#: how releases are packed; other ways may ask for gigabytes of memory to unpack a few bytes
_PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_READ = 1 << 20
#: what some systems put into every zip beside what was packed
_LITTER = ("__MACOSX", ".DS_Store", "Thumbs.db", "desktop.ini")
_HINT = "choose the zip of one release, or its folder"


def unpack_release(archive: Path, folder: Path) -> None:
    """Unpack the zip of a release, which may be packed with its folder, to a folder that is there.

    Raises
    ------
    DataError
        If it is no zip, is damaged or encrypted, holds what no release has, or unpacks to very much.
    """
    try:
        with zipfile.ZipFile(archive) as packed:
            files = _named(packed.infolist())
            limit = max(_UNPACKED, _TIMES * archive.stat().st_size)
            if len(files) > _FILES or sum(each.file_size for each in files.values()) > limit:
                raise DataError("this zip unpacks to far more than a release has", hint=_HINT)
            for name, entry in files.items():
                limit -= _unpack(packed, entry, folder / name, limit)
    except DAMAGED:
        raise DataError("this is not a zip, or it is damaged or encrypted", hint=_HINT) from None


def _named(entries: list[zipfile.ZipInfo]) -> dict[str, zipfile.ZipInfo]:
    """Return the files of a zip by their names in the release."""
    wanted: dict[str, zipfile.ZipInfo] = {}
    for entry in entries:
        parts = PurePosixPath(entry.filename).parts
        if not entry.is_dir() and parts and not any(part in _LITTER for part in parts):
            wanted.setdefault(entry.filename, entry)
    certificates = [name for name in wanted if PurePosixPath(name).name == CERTIFICATE]
    if len(certificates) != 1:
        told = f"this zip holds no {CERTIFICATE}" if not certificates else "this zip holds more than one release"
        raise DataError(told, hint=_HINT)
    root = certificates[0].removesuffix(CERTIFICATE)
    found: dict[str, zipfile.ZipInfo] = {}
    for name, entry in wanted.items():
        inside = name.removeprefix(root)
        if not name.startswith(root) or not is_release_name(inside):
            raise DataError("this zip holds files that no release has", hint=_HINT)
        if inside in found or entry.compress_type not in _PACKINGS:
            raise zipfile.BadZipFile
        found[inside] = entry
    if len({name.lower() for name in found}) < len(found):
        raise zipfile.BadZipFile
    return found


def _unpack(packed: zipfile.ZipFile, entry: zipfile.ZipInfo, path: Path, limit: int) -> int:
    """Unpack one file and return its size, which its entry need not have told truly."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    size = 0
    with packed.open(entry) as source, path.open("xb") as target:
        path.chmod(0o600)
        while part := source.read(_READ):
            size += len(part)
            if size > limit:
                raise DataError("this zip unpacks to far more than a release has", hint=_HINT)
            target.write(part)
    return size
