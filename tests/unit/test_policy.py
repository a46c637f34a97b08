"""What an office forbids is refused by whatever could let it out, and named in certificates."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest

import shoal
from shoal import policy
from shoal.errors import InputError, ParameterError, RequirementError, ShoalError
from shoal.masking import TopCode
from shoal.policy import Policy
from shoal.queries import Ledger, Loss, Session, Vault
from shoal.schema import Attribute, Domain, Kind, Role, Schema

PEOPLE = shoal.read(
    pa.table(
        {
            "age": [20 + i % 4 for i in range(40)],
            "ward": ["AB"[i % 2] for i in range(40)],
            "Patient_ID": [f"p{i}" for i in range(40)],
        }
    )
)
SCHEMA = Schema(
    attributes=(
        Attribute(name="age", role=Role.QUASI_IDENTIFIER, kind=Kind.NUMERIC, domain=Domain(minimum=0, maximum=99)),
        Attribute(name="ward", role=Role.INSENSITIVE),
        Attribute(name="Patient_ID", role=Role.IDENTIFIER),
    )
)
TEXT = """
policy = 1
office = "Clinic"
least_k = 5
most_epsilon = 0.5
never = ["*_id"]
[may_accept]
nobody-here = ["*"]
"""


def plan(k: int = 5, *, accepted: tuple[str, ...] = (), schema: Schema = SCHEMA) -> shoal.Plan:
    return shoal.Plan(schema=schema, models=(shoal.KAnonymity(k),), method=shoal.Generalize(), accepted=accepted)


Office = Callable[[str], Policy]


@pytest.fixture
def office(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Office:
    """Return a function that puts the text of a policy in force."""

    def write(text: str) -> Policy:
        (tmp_path / "policy.toml").write_text(text)
        monkeypatch.setattr(policy, "POLICY", tmp_path / "policy.toml")
        return Policy.load(tmp_path / "policy.toml")

    return write


def test_a_release_below_k_is_refused_and_others_name_the_policy(office: Office, tmp_path: Path) -> None:
    rules = office(TEXT)
    with pytest.raises(
        RequirementError, match=r"the policy of Clinic asks for k = 5 at least; the plan promises k = 4"
    ):
        plan(4).run(PEOPLE)
    with pytest.raises(RequirementError, match="promises no k"):
        replace(plan(), models=(shoal.models.AverageRisk(0.2),)).run(PEOPLE)
    folder = plan().run(PEOPLE).write(tmp_path / "release")
    named = json.loads((folder / "certificate.json").read_text())["policy"]
    assert named == {"office": "Clinic", "sha256": rules.fingerprint}
    found = shoal.verify(folder)
    assert found.passed
    assert [check.detail for check in found.checks if check.subject == "policy"] == ["that of Clinic"]


def test_columns_that_may_not_leave_do_so_in_no_form(office: Office, tmp_path: Path) -> None:
    office(TEXT)
    shown = SCHEMA.with_role("Patient_ID", Role.SENSITIVE)
    for schema in (shown, SCHEMA.with_role("Patient_ID", Role.QUASI_IDENTIFIER)):
        with pytest.raises(RequirementError, match="lets `Patient_ID` leave in no form"):
            plan(schema=schema).run(PEOPLE)
    assert shoal.draft(PEOPLE, also=["Patient_ID"]).schema["Patient_ID"].role.left_out
    rows = PEOPLE.to_arrow()
    pa.csv.write_csv(rows, tmp_path / "people.csv")
    (tmp_path / "people.schema.toml").write_text(shoal.schema.dumps(shown))
    with pytest.raises(RequirementError, match="in no form"):
        Vault.create(
            tmp_path / "vault",
            str(tmp_path / "people.csv"),
            schema=tmp_path / "people.schema.toml",
            budget=Loss.of("0.1"),
        )
    office(TEXT.replace("[may_accept]", "masked = true\n[may_accept]"))
    with pytest.raises(RequirementError, match="in no form"):
        shoal.mask(PEOPLE, TopCode(column="age", limit=22))


def test_masked_files_need_a_word(office: Office) -> None:
    office(TEXT)
    with pytest.raises(RequirementError, match="does not let masked files be made"):
        shoal.mask(PEOPLE, TopCode(column="age", limit=22))


def test_budgets_end_where_the_policy_does(office: Office, tmp_path: Path) -> None:
    office(TEXT)
    table = PEOPLE.with_schema(SCHEMA.total())
    for given in ({"budget": "0.6"}, {"budget": "0.5", "delta": "1e-9"}):
        with pytest.raises(RequirementError, match="allows"):
            Session(table, **given)
    for budget in (Loss.of("0.6"), Loss.of("0.5", "1e-9"), Loss.of_rho("0.01")):
        with pytest.raises(ShoalError, match=r"epsilon|delta"):
            Ledger.create(tmp_path / f"{budget}", budget=budget)
    assert Session(table, budget="0.5").standing.left == Loss.of("0.5")
    office(TEXT.replace("most_epsilon", "most_delta = 1e-6\nmost_epsilon"))
    with pytest.raises(RequirementError, match="does not allow a budget of rho"):
        Session(table, budget="0.6", delta="1e-6", measure="zcdp")
    office(TEXT.replace("most_epsilon = 0.5", ""))
    with pytest.raises(RequirementError, match="allows no differential privacy"):
        Session(table, budget="0.001")


def test_only_who_is_named_accepts(office: Office, tmp_path: Path) -> None:
    office(TEXT)
    user = policy._user()
    with pytest.raises(RequirementError, match=f"does not let {user} accept `ward`"):
        plan(accepted=("ward",)).run(PEOPLE)
    office(TEXT.replace("nobody-here", user))
    folder = plan(accepted=("ward",)).run(PEOPLE).write(tmp_path / "release")
    assert json.loads((folder / "certificate.json").read_text())["policy"]["user"] == user
    # a plan that was accepted by somebody else is run by whoever runs it
    office(TEXT)
    again = shoal.Plan.load(folder / "plan.toml")
    with pytest.raises(RequirementError, match="accept"):
        again.run(PEOPLE)


def test_releases_of_others_are_judged_by_the_policy_in_force(
    office: Office, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = plan(2).run(PEOPLE).write(tmp_path / "release")
    assert shoal.verify(folder).passed
    office(TEXT)
    failed = [check for check in shoal.verify(folder).checks if not check.passed]
    assert [check.subject for check in failed] == ["policy"]
    with pytest.raises(RequirementError, match="asks for k = 5"):
        shoal.released(folder).write(tmp_path / "copy.csv")
    assert not (tmp_path / "copy.csv").exists()
    monkeypatch.setattr(policy, "POLICY", tmp_path / "none")
    monkeypatch.setenv(policy.VARIABLE, str(tmp_path / "policy.toml"))
    assert not shoal.verify(folder).passed


def test_a_plan_that_breaks_its_policy_and_a_policy_that_was_exchanged_fail(office: Office, tmp_path: Path) -> None:
    from forgeries import forger

    office(TEXT)
    folder = plan().run(PEOPLE).write(tmp_path / "release")
    text = (folder / "plan.toml").read_text()
    for old, new in (("least_k = 5", "least_k = 6"), ("least_k = 5", "least_k = 4"), ('"Clinic"', '"Ward"')):
        (folder / "plan.toml").write_text(text.replace(old, new))
        forger.edit(folder, lambda certificate: None, pages=False)
        assert not shoal.verify(folder).passed


@pytest.mark.parametrize(
    "text",
    [
        "",
        "policy = 2\noffice = 'a'",
        "policy = 1",
        "policy = 1\noffice = ''",
        "policy = 1\noffice = 'a'\nleast_k = 0",
        "policy = 1\noffice = 'a'\nleast_k = true",
        "policy = 1\noffice = 'a'\nleastk = 5",
        "policy = 1\noffice = 'a'\nnever = 'x'",
        "policy = 1\noffice = 'a'\nnever = ['']",
        "policy = 1\noffice = 'a'\nmay_accept = ['x']",
        "policy = 1\noffice = 'a'\nmay_accept = {a = 'x'}",
        "policy = 1\noffice = 'a'\nuser = 'a'",
        "policy = 1\noffice = 'a'\nmost_epsilon = inf",
        "policy = 1\noffice = 'a\x1b'",
        "[",
    ],
)
def test_a_policy_that_cannot_be_read_stops_everything(office: Office, text: str) -> None:
    with pytest.raises(ParameterError, match="nothing is released"):
        office(text)
    with pytest.raises(InputError, match="nothing is released"):
        plan().run(PEOPLE)


def test_a_policy_that_is_missing_stops_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(policy.VARIABLE, str(tmp_path / "nothing"))
    with pytest.raises(ParameterError, match="no such file"):
        plan().run(PEOPLE)


def test_names_are_compared_as_people_read_them() -> None:
    rules = Policy(office="a", never=("SSN", "a[b]", "x?", "*_id"))
    names = ["ssn", "\u017fsn", " Ssn ", "a[b]", "ab", "x?", "xy", "my_ID", "my_id2"]
    assert rules.forbidden(names) == ["ssn", "\u017fsn", " Ssn ", "a[b]", "x?", "my_ID"]
    assert Policy.from_document(rules.entries()) == rules
