"""What a disk may hold after the power failed: what was synced, and of the rest any part."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Change:
    """One line of the journal that ``faults.c`` writes."""

    what: str
    path: str
    other: str
    offset: int
    data: bytes


def journal(path: Path) -> list[Change]:
    content, found, at = path.read_bytes(), [], 0
    while at < len(content):
        end = content.index(b"\n", at)
        what, name, other, offset, size = content[at:end].decode().split("\t")
        at = end + 1 + int(size)
        found.append(Change(what, name, other, int(offset), content[end + 1 : at]))
    return found


@dataclass
class Disk:
    """Files as they are on the platter, and the writes that still wait."""

    durable: dict[str, bytes] = field(default_factory=dict)
    waiting: dict[str, list[tuple[int, bytes | None]]] = field(default_factory=dict)

    @classmethod
    def of(cls, folder: Path) -> Disk:
        return cls({str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()})

    def apply(self, change: Change) -> None:
        if change.what == "write":
            self.waiting.setdefault(change.path, []).append((change.offset, change.data))
        elif change.what == "truncate":
            self.waiting.setdefault(change.path, []).append((change.offset, None))
        elif change.what == "create":
            self.waiting.setdefault(change.path, [])
        elif change.what == "sync" and (change.path in self.waiting or change.path in self.durable):
            self.durable[change.path] = _written(self.durable.get(change.path, b""), self.waiting.pop(change.path, []))
        elif change.what in ("rename", "link"):
            for files in (self.durable, self.waiting):
                for name in [each for each in files if f"{each}/".startswith(f"{change.path}/")]:
                    target = change.other + name.removeprefix(change.path)
                    files[target] = files[name]  # type: ignore[index]
                    if change.what == "rename":
                        del files[name]
        elif change.what == "unlink":
            self.durable.pop(change.path, None)
            self.waiting.pop(change.path, None)

    def after(self, chosen: random.Random | None) -> dict[str, bytes]:
        """Return the files after the power failed; without ``chosen``, nothing survives that was not synced."""
        found = dict(self.durable)
        if chosen is not None:
            for name, writes in self.waiting.items():
                survived = [each for each in writes if chosen.random() < 0.5]
                if name in found or survived:
                    found[name] = _written(found.get(name, b""), survived)
        return found


def states(before: Disk, changes: list[Change], rounds: int, seed: int) -> Iterator[tuple[int, dict[str, bytes]]]:
    """Yield how many changes were made when the power failed, and what may be on the disk then."""
    chosen = random.Random(seed)
    for done in range(len(changes) + 1):
        yield done, before.after(None)
        for _ in range(rounds):
            yield done, before.after(chosen)
        if done < len(changes):
            before.apply(changes[done])


def put(files: dict[str, bytes], below: Path, target: Path) -> None:
    """Write files of a folder to another."""
    for name, content in files.items():
        place = target / Path(name).relative_to(below)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
        place.chmod(0o600)  # ledgers refuse keys that others may read


def _written(content: bytes, writes: list[tuple[int, bytes | None]]) -> bytes:
    for offset, data in writes:
        if data is None:
            content = content[:offset].ljust(offset, b"\0")
        else:
            content = content[:offset].ljust(offset, b"\0") + data + content[offset + len(data) :]
    return content
