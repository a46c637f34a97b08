from __future__ import annotations

import os
import random
import shutil
import sqlite3
import stat
import subprocess
import sys
import threading
from pathlib import Path
from unittest.mock import Mock

import pytest

from shoal.errors import BudgetSpent, LedgerError, ParameterError
from shoal.queries import _chain
from shoal.queries._accounts import WHOLE
from shoal.queries._chain import Checkpoint, CheckpointFile
from shoal.queries._loss import Loss
from shoal.queries._store import canonical, parsed
from shoal.queries.ledger import Head, Ledger
from shoal.schema.conditions import FIRST, Ranges, Region, Texts

TENTH = Loss.of("0.1")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "study.ledger"


@pytest.fixture
def ledger(path: Path) -> Ledger:
    made = Ledger.create(path, budget=Loss.of(2))
    made.set_budget("alice", Loss.of(1))
    made.set_budget("bob", Loss.of(1.5))
    return made


def copy(ledger: Ledger, folder: Path) -> Path:
    """Copy all files of a closed ledger."""
    folder.mkdir()
    for file in ledger.path.parent.glob(f"{ledger.path.name}*"):
        shutil.copy(file, folder)
    return folder / ledger.path.name


class TestSpending:
    def test_a_spending_is_recorded_and_counted(self, ledger: Ledger) -> None:
        receipt = ledger.spend("alice", TENTH, query="count")
        assert receipt.number == 4
        assert receipt.standing.spent == TENTH
        assert receipt.standing.left == Loss.of("0.9")
        assert ledger.entries()[-1].content["query"] == "count"
        assert ledger.head == Head(4, bytes.fromhex(receipt.code))

    def test_the_budget_can_be_spent_to_the_last_unit_and_not_beyond(self, ledger: Ledger) -> None:
        for _ in range(10):
            ledger.spend("alice", TENTH)
        before = ledger.head
        with pytest.raises(BudgetSpent, match=r"would cost epsilon 0\.000000000001"):
            ledger.spend("alice", Loss(1))
        assert ledger.head == before

    def test_all_analysts_together_cannot_spend_more_than_the_table_allows(self, ledger: Ledger) -> None:
        ledger.spend("bob", Loss.of(1.5))
        ledger.spend("alice", Loss.of(0.5))
        assert ledger.standing("alice").left == Loss()
        with pytest.raises(BudgetSpent, match="the budget of the table"):
            ledger.spend("alice", TENTH)

    def test_disjoint_people_cost_the_maximum(self, ledger: Ledger) -> None:
        version = ledger.begin_version()
        for sex in "FM":
            receipt = ledger.spend("alice", Loss.of(1), {"sex": Texts(frozenset(sex))}, version=version)
        assert receipt.standing.spent == Loss.of(1)

    def test_delta_is_counted_too(self, path: Path) -> None:
        ledger = Ledger.create(path, budget=Loss.of(10, "1e-6"))
        ledger.set_budget("alice", Loss.of(10, "1e-6"))
        ledger.spend("alice", Loss.of(1, "1e-6"))
        with pytest.raises(BudgetSpent):
            ledger.spend("alice", Loss.of(1, "1e-18"))

    def test_an_unknown_analyst_is_refused(self, ledger: Ledger) -> None:
        with pytest.raises(ParameterError, match="no account `eve`"):
            ledger.spend("eve", TENTH)

    def test_a_budget_can_be_raised(self, ledger: Ledger) -> None:
        ledger.spend("alice", Loss.of(1))
        ledger.set_budget("alice", Loss.of("1.2"))
        assert ledger.standing("alice").left == Loss.of("0.2")

    def test_an_amount_beyond_64_bits_fails_alone_and_not_its_batch(self, ledger: Ledger) -> None:
        for units in (10**18 + 1, 2**63 - 1, 2**63):
            with pytest.raises(ParameterError):
                ledger.spend("alice", Loss(units))
        assert ledger.spend("alice", TENTH).standing.spent == TENTH

    def test_the_largest_spending_after_another_is_refused(self, path: Path) -> None:
        most = Loss.of(10**6)
        ledger = Ledger.create(path, budget=most)
        ledger.set_budget("alice", most)
        ledger.spend("alice", Loss(1))
        version = ledger.begin_version()
        for region in ({}, {"sex": Texts(frozenset("F"))}):
            with pytest.raises(BudgetSpent):
                ledger.spend("alice", most, region, version=version)
        assert ledger.standing("alice").spent == Loss(1)

    @pytest.mark.parametrize("units", [-1, 10**18 + 1, 2**63 - 1, 2**63, 0.5, None])
    def test_an_entry_that_would_overflow_is_refused_on_replay(self, ledger: Ledger, path: Path, units: object) -> None:
        ledger.spend("alice", TENTH)
        entry = {
            "account": "alice",
            "delta": 0,
            "event": "spend",
            "query": "",
            "region": {},
            "time": "",
            "epsilon": units,
        }
        body, before = canonical(entry), ledger.head
        head = Head(before.number + 1, ledger._chain._code(before.code, before.number + 1, body))
        ledger._connection.execute("INSERT INTO entries VALUES (?, ?, ?)", (head.number, body, head.code))
        ledger._anchor.write(head)
        with pytest.raises(LedgerError, match="an amount that cannot be spent"):
            ledger.standing("alice")
        ledger.close()
        with pytest.raises(LedgerError, match="an amount that cannot be spent"):
            Ledger.open(path)

    def test_threads_never_overspend_and_share_commits(self, ledger: Ledger) -> None:
        outcomes: list[bool] = []

        def work() -> None:
            for _ in range(10):
                try:
                    ledger.spend("alice", Loss.of("0.02"))
                    outcomes.append(True)
                except BudgetSpent:
                    outcomes.append(False)

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert outcomes.count(True) == 50
        assert ledger.standing("alice").spent == Loss.of(1)
        assert len(ledger.entries()) == 3 + 50


class TestDurability:
    def test_commits_are_synced(self, ledger: Ledger) -> None:
        settings = {
            name: ledger._connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")
        }
        assert settings == {"journal_mode": "wal", "synchronous": 2}

    def test_the_entry_is_on_the_disk_before_spend_returns(
        self, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        order: list[str] = []
        write, sync = ledger._anchor.write, ledger._anchor.sync
        ledger._connection.set_trace_callback(lambda sql: order.append(sql.split()[0]))
        monkeypatch.setattr(ledger._anchor, "write", lambda head: (order.append("anchor"), write(head)))
        monkeypatch.setattr(ledger._anchor, "sync", lambda: (sync(), order.append("synced")))
        ledger.spend("alice", TENTH)
        order.append("returned")
        assert [step for step in order if step in ("INSERT", "COMMIT", "anchor", "synced", "returned")] == [
            "INSERT", "COMMIT", "anchor", "synced", "returned",
        ]  # fmt: skip

    def test_administration_is_anchored_durably_too(self, ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
        synced: list[int] = []
        monkeypatch.setattr(ledger._anchor, "sync", lambda: synced.append(ledger._anchor.read().number))
        ledger.set_budget("carol", Loss.of(1))
        ledger.set_token("carol", "ab" * 32)
        assert synced == [4, 5]

    def test_the_next_batch_is_committed_while_the_last_is_anchored(
        self, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        sync, first, go_on = ledger._anchor.sync, threading.Event(), threading.Event()
        returned: list[str] = []

        def slow() -> None:
            if not first.is_set():
                first.set()
                assert go_on.wait(30)
            sync()

        def spend(name: str) -> None:
            ledger.spend(name, TENTH)
            returned.append(name)

        monkeypatch.setattr(ledger._anchor, "sync", slow)
        waiting = threading.Thread(target=spend, args=("alice",))
        waiting.start()
        assert first.wait(30)
        spend("bob")
        assert returned == ["bob"], "alice's spending is committed, but not anchored on the disk yet"
        assert ledger.standing("alice").spent == TENTH
        go_on.set()
        waiting.join()
        assert returned == ["bob", "alice"]

    def test_a_batch_that_cannot_be_anchored_is_not_answered(
        self, ledger: Ledger, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        outcomes: list[type[Exception] | None] = []

        def broken() -> None:
            raise LedgerError("the anchor of the ledger cannot be written: input/output error.")

        def spend() -> None:
            try:
                ledger.spend("alice", TENTH)
                outcomes.append(None)
            except LedgerError:
                outcomes.append(LedgerError)

        with monkeypatch.context() as patched:
            patched.setattr(ledger._anchor, "sync", broken)
            threads = [threading.Thread(target=spend) for _ in range(5)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert outcomes == [LedgerError] * 5
        spend()
        assert outcomes[-1] is None
        ledger.close()
        assert Ledger.open(path).standing("alice").spent == Loss.of("0.6")

    @pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permissions")
    def test_a_key_that_others_may_read_is_refused(self, ledger: Ledger, path: Path) -> None:
        ledger.close()
        key = path.with_name("study.ledger.key")
        for mode in (0o640, 0o604, 0o620):
            key.chmod(mode)
            with pytest.raises(LedgerError, match="others may read or change the key"):
                Ledger.open(path)
        key.chmod(0o400)
        Ledger.open(path).close()

    def test_reopening_replays_everything(self, ledger: Ledger, path: Path) -> None:
        version = ledger.begin_version()
        ledger.spend("alice", TENTH, {"sex": Texts(frozenset("F"))}, version=version)
        ledger.spend("alice", Loss.of("0.3"), {"sex": Texts(frozenset("M"))}, version=version)
        ledger.set_token("bob", "ab" * 32)
        before = (ledger.head, ledger.standing("alice"), ledger.standing("bob"))
        ledger.close()
        again = Ledger.open(path)
        assert (again.head, again.standing("alice"), again.standing("bob")) == before
        assert again.tokens() == {"ab" * 32: "bob"}
        assert set(again.standings()) == {"*", "alice", "bob"}
        assert again.standing("alice").spent == Loss.of("0.3")

    def test_two_objects_see_each_other_as_two_processes_do(self, ledger: Ledger, path: Path) -> None:
        other = Ledger.open(path)
        ledger.spend("alice", Loss.of("0.6"))
        with pytest.raises(BudgetSpent):
            other.spend("alice", Loss.of("0.5"))
        other.spend("alice", Loss.of("0.4"))
        assert ledger.standing("alice").left == Loss()

    def test_another_process_sees_the_spendings(self, ledger: Ledger, path: Path) -> None:
        ledger.spend("alice", Loss.of("0.6"))
        code = (
            "import sys; from shoal.queries.ledger import Ledger, Loss; "
            "ledger = Ledger.open(sys.argv[1]); "
            "ledger.spend('alice', Loss.of('0.3')); print(ledger.standing('alice').left)"
        )
        done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "epsilon 0.1"
        assert ledger.standing("alice").left == TENTH

    def test_a_lost_anchor_write_is_made_up_for(
        self, ledger: Ledger, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # as if the process had died between the commit and the anchor
        def die(head: Head) -> None:
            raise LedgerError("the anchor of the ledger cannot be written: no space left on device.")

        with monkeypatch.context() as patched:
            patched.setattr(ledger._anchor, "write", die)
            with pytest.raises(LedgerError, match="no space left"):
                ledger.spend("alice", TENTH)
        ledger.close()
        again = Ledger.open(path)
        assert again.standing("alice").spent == TENTH
        assert again._anchor.read() == again.head

    def test_after_a_fork_the_child_must_open_anew(self, ledger: Ledger) -> None:
        ledger._process += 1
        with pytest.raises(LedgerError, match="after a fork"):
            ledger.spend("alice", TENTH)

    def test_secrets_are_readable_by_their_owner_only(self, ledger: Ledger) -> None:
        for file in ledger.path.parent.glob("study.ledger*"):
            if not file.name.endswith(("-wal", "-shm")):
                assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize("added_up", [2_000, 5], ids=["without a checkpoint", "with a checkpoint"])
class TestTampering:
    @pytest.fixture(autouse=True)
    def added_up(self, added_up: int, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(_chain, "ADDED_UP", added_up)

    @pytest.fixture
    def closed(self, ledger: Ledger) -> Ledger:
        for i in range(20):
            ledger.spend("alice", Loss.of("0.01"), query=f"count where age >= {i}")
        ledger.close()
        return ledger

    def edit(self, path: Path, *statements: str) -> None:
        connection = sqlite3.connect(path)
        for trigger in ("entries_stay", "entries_last"):
            connection.execute(f"DROP TRIGGER {trigger}")
        for statement in statements:
            connection.execute(statement)
        connection.commit()
        connection.close()

    def test_the_table_refuses_changes(self, ledger: Ledger) -> None:
        for statement in ("UPDATE entries SET body = '{}'", "DELETE FROM entries"):
            with pytest.raises(sqlite3.IntegrityError, match="never"):
                ledger._connection.execute(statement)

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "statement",
        [
            "UPDATE entries SET body = replace(body, '10000000000', '10000000001') WHERE number = 9",
            "UPDATE entries SET code = zeroblob(32) WHERE number = 9",
            "UPDATE entries SET number = 99 WHERE number = 23",
            "DELETE FROM entries WHERE number = 9",
            "DELETE FROM entries WHERE number = 1",
            "DELETE FROM entries WHERE number > 20",
            "DELETE FROM entries WHERE number = 23",
            "DELETE FROM entries",
            "INSERT INTO entries SELECT 24, body, code FROM entries WHERE number = 23",
            "UPDATE entries SET body = (SELECT body FROM entries WHERE number = 10) WHERE number = 9",
        ],
    )
    def test_any_change_is_detected(self, closed: Ledger, path: Path, statement: str) -> None:
        self.edit(path, statement)
        with pytest.raises(LedgerError):
            Ledger.open(path)

    def test_a_change_under_a_running_process_is_detected(self, ledger: Ledger, path: Path) -> None:
        ledger.spend("alice", TENTH)
        self.edit(path, "DELETE FROM entries WHERE number = 4")
        with pytest.raises(LedgerError):
            ledger.spend("alice", TENTH)

    @pytest.mark.slow
    def test_a_flipped_byte_is_detected_or_changes_nothing(self, closed: Ledger, path: Path, tmp_path: Path) -> None:
        whole = path.read_bytes()
        chosen, detected = random.Random(1), 0
        target = copy(closed, tmp_path / "copy")
        entries = Ledger.open(target).entries()
        for _ in range(150):
            place = chosen.randrange(len(whole))
            flipped = bytearray(whole)
            flipped[place] ^= 1 << chosen.randrange(8)
            for extra in tmp_path.glob("copy/*-*"):
                extra.unlink()
            target.write_bytes(flipped)
            try:
                opened = Ledger.open(target)
            except LedgerError:
                detected += 1
                continue
            # bytes of a page that hold nothing may change
            assert opened.entries() == entries
            opened.close()
        assert detected > 30

    @pytest.mark.slow
    def test_every_flipped_byte_of_an_entry_is_detected(self, closed: Ledger, path: Path, tmp_path: Path) -> None:
        whole, target = path.read_bytes(), copy(closed, tmp_path / "copy")
        start = whole.index(b'count where age >= 7"') - 100
        for place in range(start, start + 130):
            flipped = bytearray(whole)
            flipped[place] ^= 4
            target.write_bytes(flipped)
            with pytest.raises(LedgerError):
                Ledger.open(target)

    def test_every_flipped_byte_of_the_anchor_is_detected(self, closed: Ledger, path: Path) -> None:
        anchor = path.with_name("study.ledger.head")
        whole = anchor.read_bytes()
        for place in range(0, len(whole.rstrip()), 3):
            flipped = bytearray(whole)
            flipped[place] ^= 1
            anchor.write_bytes(flipped)
            with pytest.raises(LedgerError):
                Ledger.open(path)
        anchor.write_bytes(whole[:100])
        with pytest.raises(LedgerError, match="changed"):
            Ledger.open(path)
        anchor.write_bytes(whole)
        Ledger.open(path)

    def test_another_key_is_noticed(self, closed: Ledger, path: Path) -> None:
        path.with_name("study.ledger.key").write_bytes(bytes(32))
        with pytest.raises(LedgerError, match="another key"):
            Ledger.open(path)

    @pytest.mark.parametrize("suffix", [".head", ".key"])
    def test_a_missing_companion_is_refused(self, closed: Ledger, path: Path, suffix: str) -> None:
        path.with_name(path.name + suffix).unlink()
        with pytest.raises(LedgerError):
            Ledger.open(path)

    def test_an_older_copy_of_the_database_alone_is_detected(self, ledger: Ledger, path: Path, tmp_path: Path) -> None:
        ledger.close()
        old = path.read_bytes()
        again = Ledger.open(path)
        again.spend("alice", Loss.of(1))
        again.close()
        path.write_bytes(old)
        with pytest.raises(LedgerError, match="cut short: 1 entries"):
            Ledger.open(path)

    def test_an_older_copy_of_all_files_is_detected_by_a_head_written_down(
        self, ledger: Ledger, path: Path, tmp_path: Path
    ) -> None:
        ledger.close()
        old = copy(ledger, tmp_path / "old")
        again = Ledger.open(path)
        again.spend("alice", TENTH)
        written = Head.parse(str(again.head))
        again.close()
        Ledger.open(path, expect=written).close()
        Ledger.open(old).close()
        with pytest.raises(LedgerError, match="older copy"):
            Ledger.open(old, expect=written)

    def test_an_older_copy_put_back_under_a_running_process_stays_refused(
        self, ledger: Ledger, path: Path, tmp_path: Path
    ) -> None:
        old = copy(ledger, tmp_path / "old")
        ledger.spend("alice", TENTH)
        for name in (file.name for file in old.parent.iterdir()):
            path.with_name(name).write_bytes(old.with_name(name).read_bytes())
        for _ in range(3):
            with pytest.raises(LedgerError, match=r"removed|older copy"):
                ledger.spend("alice", TENTH)

    @pytest.mark.skipif(os.name == "nt", reason="open files cannot be removed")
    @pytest.mark.parametrize("name", ["study.ledger", "study.ledger.head"])
    def test_nothing_is_spent_from_files_that_nobody_finds_again(self, ledger: Ledger, path: Path, name: str) -> None:
        file = path.with_name(name)
        content = file.read_bytes()
        file.unlink()
        with pytest.raises(LedgerError, match="no such file"):
            ledger.spend("alice", TENTH)
        file.write_bytes(content)
        with pytest.raises(LedgerError, match="was replaced by another file; nothing is answered"):
            ledger.spend("alice", TENTH)

    def test_a_lost_anchor_can_be_made_anew_and_the_ledger_says_so(
        self, closed: Ledger, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        anchor = path.with_name("study.ledger.head")
        with pytest.raises(LedgerError, match="is there"):
            Ledger.restore_anchor(path)
        anchor.unlink()
        with monkeypatch.context() as broken, pytest.raises(LedgerError, match="disk"):
            broken.setattr(Ledger, "_record", Mock(side_effect=OSError(28, "disk full")))
            Ledger.restore_anchor(path)
        assert list(path.parent.glob("*.head*")) == []
        restored = Ledger.restore_anchor(path)
        assert restored.entries()[-1].content["event"] == "anchored"
        restored.close()
        assert Ledger.open(path).standing("alice").spent == Loss.of("0.2")

    def test_an_unknown_event_is_refused(self, ledger: Ledger) -> None:
        with pytest.raises(LedgerError, match="does not know"), ledger._lock, ledger._writing() as append:
            append({"event": "gift"})


class TestRefusals:
    def test_a_ledger_is_never_replaced(self, ledger: Ledger, path: Path) -> None:
        with pytest.raises(LedgerError, match="already exists"):
            Ledger.create(path, budget=Loss.of(1))
        path.unlink()
        with pytest.raises(LedgerError, match="already exists"):
            Ledger.create(path, budget=Loss.of(1))

    @pytest.mark.parametrize(
        ("raised", "code"),
        [
            (sqlite3.OperationalError("disk I/O error"), 2),
            (sqlite3.OperationalError("no such table: entries"), 1),
            (sqlite3.DatabaseError("file is not a database"), 1),
        ],
    )
    def test_what_the_system_refuses_is_not_called_damage(
        self, ledger: Ledger, path: Path, monkeypatch: pytest.MonkeyPatch, raised: Exception, code: int
    ) -> None:
        def refuse(_: Path) -> sqlite3.Connection:
            raise raised

        monkeypatch.setattr("shoal.queries.ledger.connect", refuse)
        with pytest.raises(LedgerError, match=str(raised)) as caught:
            Ledger.open(path)
        assert caught.value.exit_code == code

    def test_a_ledger_that_does_not_exist_is_not_made_by_opening(self, path: Path) -> None:
        with pytest.raises(LedgerError, match="there is no ledger"):
            Ledger.open(path)
        assert not path.exists()

    def test_a_full_database_refuses(self, ledger: Ledger) -> None:
        pages = ledger._connection.execute("PRAGMA page_count").fetchone()[0]
        ledger._connection.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(LedgerError, match="full; nothing is answered"):
            ledger.spend("alice", TENTH, query="x" * 10_000)
        ledger._connection.execute("PRAGMA max_page_count = 100000")
        assert ledger.standing("alice").spent == Loss()
        ledger.spend("alice", TENTH)

    def test_files_that_may_not_be_written_refuse(self, ledger: Ledger, path: Path) -> None:
        ledger._connection.execute("PRAGMA query_only = ON")
        with pytest.raises(LedgerError, match="nothing is answered"):
            ledger.spend("alice", TENTH)

    @pytest.mark.slow
    @pytest.mark.skipif(os.name != "posix", reason="needs POSIX limits")
    def test_a_process_that_may_not_write_more_refuses(self, ledger: Ledger, path: Path) -> None:
        ledger.close()
        code = """
import resource, signal, sys
from shoal.queries.ledger import Ledger, Loss
from shoal.errors import LedgerError
ledger = Ledger.open(sys.argv[1])
answered = 0
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))
try:
    while True:
        ledger.spend("alice", Loss.of("0.001"), query="x" * 500)
        answered += 1
except LedgerError as error:
    print(answered, error)
"""
        done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
        answered = int(done.stdout.split()[0])
        assert "nothing is answered" in done.stdout
        again = Ledger.open(path)
        recorded = sum(entry.content["event"] == "spend" for entry in again.entries())
        assert answered <= recorded <= answered + 1
        assert answered > 3

    def test_entries_say_what_happened_in_plain_words(self, ledger: Ledger) -> None:
        ledger.spend("alice", TENTH, query="count")
        assert [entry.content["event"] for entry in ledger.entries()] == ["account", "account", "account", "spend"]
        assert ledger.entries()[0].content["account"] == WHOLE
        assert ledger.entries()[3].content["time"].endswith("+00:00")


class TestCheckpoints:
    """What is kept of the accounts saves time and changes nothing."""

    @pytest.fixture(autouse=True)
    def spent(self, ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(_chain, "ADDED_UP", 10)
        ledger.set_token("bob", "ab" * 32)
        ledger.note_written(4, "release", "cd" * 32)
        chosen = random.Random(3)
        version = None
        for i in range(31):
            version = ledger.begin_version() if i in (5, 17) else version
            ledger.spend(chosen.choice(["alice", "bob"]), Loss.of("0.01"), self.region(chosen), version=version)

    def region(self, chosen: random.Random) -> Region:
        number = chosen.randrange(100)
        return chosen.choice(
            [
                {"sex": Texts(frozenset(chosen.choice("FMX")), excluded=chosen.random() < 0.5)},
                {"age": Ranges(((FIRST, (number, 0)), ((number + 0.5, 1), (120, 1))), missing=chosen.random() < 0.5)},
                {"age": Ranges((((number, 0), (number + 9, 0)),)), "city": Texts(frozenset({"köln"}), missing=True)},
                {},
            ]
        )

    def kept(self, path: Path) -> Path:
        return path.with_name("study.ledger.accounts")

    def decisions(self, ledger: Ledger) -> list[object]:
        """Return how accounts stand, and what they would allow."""
        chosen, found = random.Random(4), [ledger.standings(), ledger.tokens(), ledger.written(), ledger.unit]
        for _ in range(60):
            try:
                ledger.check_budget("bob", Loss.of(str(chosen.randrange(1, 150) / 100)), self.region(chosen))
                found.append(True)
            except BudgetSpent:
                found.append(False)
        return found

    def added_up(self, path: Path) -> Ledger:
        """Open a ledger without its checkpoint."""
        self.kept(path).unlink(missing_ok=True)
        return Ledger.open(path)

    def test_it_gives_the_accounts_that_all_entries_add_up_to(self, ledger: Ledger, path: Path) -> None:
        ledger.close()
        with_it = Ledger.open(path)
        found = self.decisions(with_it)
        with_it.close()
        assert True in found
        assert False in found
        assert found == self.decisions(self.added_up(path))

    def test_entries_before_it_are_checked_and_not_added_up(
        self, ledger: Ledger, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ledger.close()
        added: list[int] = []
        monkeypatch.setattr(_chain, "parsed", lambda body, number: added.append(number) or parsed(body, number))
        again = Ledger.open(path)
        assert 0 < len(added) < 15
        again.check()
        assert len(added) > again.head.number

    def test_one_that_was_changed_is_not_used(self, ledger: Ledger, path: Path) -> None:
        before = self.decisions(ledger)
        ledger.close()
        whole = self.kept(path).read_bytes()
        for place in [*range(0, 220, 7), *range(220, len(whole), 97)]:
            flipped = bytearray(whole)
            flipped[place] ^= 2
            self.kept(path).write_bytes(flipped)
            assert CheckpointFile(self.kept(path), path.with_name("study.ledger.key").read_bytes()).read() is None
        again = Ledger.open(path)
        assert self.decisions(again) == before

    def test_one_of_another_version_is_not_used(
        self, ledger: Ledger, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(_chain, "_TITLE", "shoal ledger accounts 1")
        assert ledger._chain._usable() is None

    def test_one_of_other_entries_is_not_used(self, ledger: Ledger, path: Path, tmp_path: Path) -> None:
        key = path.with_name("study.ledger.key")
        other = Ledger.create(tmp_path / "other.ledger", budget=Loss.of(100), key=key)
        other.set_budget("alice", Loss.of(100))
        for _ in range(30):
            other.set_budget("bob", Loss.of(100))
        ledger.close()
        shutil.copy(tmp_path / "other.ledger.accounts", self.kept(path))
        assert Ledger.open(path).standing("bob").budget == Loss.of(1.5)

    def test_an_older_one_put_back_is_brought_up_to_date(self, ledger: Ledger, path: Path) -> None:
        old = self.kept(path).read_bytes()
        for _ in range(12):
            ledger.spend("alice", Loss.of("0.01"))
        before = self.decisions(ledger)
        ledger.close()
        assert self.kept(path).read_bytes() != old
        self.kept(path).write_bytes(old)
        assert self.decisions(Ledger.open(path)) == before

    def test_a_whole_check_notices_one_that_does_not_follow_from_the_entries(self, ledger: Ledger, path: Path) -> None:
        """As a faulty version of Shoal, or whoever has the key, might leave it."""
        file = ledger._chain._kept
        right = file.read()
        assert right is not None
        file.write(Checkpoint(right.head, right.text.replace("10000000000", "20000000000", 1)))
        with pytest.raises(LedgerError, match="do not match what its entries add up to"):
            ledger.check()
        self.kept(path).unlink()
        ledger.check()

    def test_a_place_that_cannot_be_written_does_no_harm(self, ledger: Ledger, path: Path) -> None:
        self.kept(path).unlink()
        self.kept(path).mkdir()
        for _ in range(25):
            ledger.spend("alice", Loss.of("0.001"))
        before = self.decisions(ledger)
        ledger.close()
        assert self.decisions(Ledger.open(path)) == before

    def test_only_its_owner_can_read_it(self, path: Path) -> None:
        assert stat.S_IMODE(self.kept(path).stat().st_mode) == 0o600


class TestPages:
    def test_entries_come_in_pages(self, ledger: Ledger) -> None:
        for i in range(20):
            ledger.spend("alice", Loss.of("0.01"), query=str(i))
        everything = ledger.entries()
        assert [each.number for each in everything] == list(range(1, 24))
        assert ledger.entries(last=5) == everything[-5:]
        assert ledger.entries(last=5, before=19) == everything[13:18]
        assert ledger.entries(last=5, before=3) == everything[:2]
        assert ledger.entries(last=0) == ledger.entries(before=1) == []
        assert ledger.entries(before=10**6) == ledger.entries(last=10**6) == everything
