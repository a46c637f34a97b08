from __future__ import annotations

import io
import random

import pytest

from shoal.cli import _draft, _output, _source
from shoal.errors import ParameterError, SchemaError
from shoal.schema import Attribute, Draft, Schema, load


@pytest.fixture
def messy(tmp_path):
    draw = random.Random(1)
    words = ["came", "late", "left", "early", "with", "pain", "and", "fever", "again", "today"]
    rows = [
        f"{draw.randrange(20, 80)},{draw.choice('mw')},{' '.join(draw.sample(words, 6))},{draw.random():.4f}"
        for _ in range(60)
    ]
    path = tmp_path / "people.csv"
    path.write_text("\n".join(["Alter,Geschlecht,remarks,x9", *rows]) + "\n")
    return path


def drafted(path, **more):
    _draft.draft(source=str(path), **more)
    return load(path.with_name("people.schema.toml"))


def test_a_draft_fits_a_terminal_and_ends_with_a_summary(messy, capsys):
    head, *rows = messy.read_text().splitlines()
    more = "," + ",".join(f"y{number}" for number in range(9))
    messy.write_text(
        "\n".join([head + more, *(f"{row}{',a' * 9}" for row in rows[:30]), *(f"{row}{',b' * 9}" for row in rows[30:])])
    )
    schema = drafted(messy)
    shown = capsys.readouterr().out
    assert "people.csv: 13 columns, 60 records" in shown
    assert "The meaning of 10 columns is unknown; left out" in shown
    assert all(len(line) <= 80 for line in shown.splitlines() if "people" not in line)
    assert schema["remarks"].role == "drop"
    assert schema.quasi_identifiers == ("Alter", "Geschlecht")


@pytest.mark.parametrize("number", [30, 400])
def test_a_draft_of_many_columns_fits_one_screen(number, tmp_path, capsys):
    path = tmp_path / "people.csv"
    names = ["age", "sex", "diagnosis", "name", "id", *(f"a_rather_long_name_{n}" for n in range(number))]
    draw = random.Random(6)
    rows = [[str(draw.randrange(7)) for _ in names] for _ in range(60)]
    path.write_text("\n".join(",".join(row) for row in [names, *rows]))
    drafted(path)
    lines = capsys.readouterr().out.splitlines()
    assert 12 <= len(lines) <= 40
    assert all(len(line) <= 80 for line in lines if str(path.parent) not in line)
    counted = [
        int(each.split(" more")[0].split(" and ")[1].replace(",", "")) for each in lines if each.endswith("more")
    ]
    listed = sum(line.count("a_rather_long_name_") for line in lines)
    assert listed + sum(counted) == number


def one_line(capsys):
    """Return what was printed without breaks of lines: commands as a shell reads them."""
    return " ".join(capsys.readouterr().out.replace("\\\n", " ").split())


def test_who_gets_the_data_decides_what_the_next_command_promises(messy, capsys):
    illnesses = ["flu", "asthma", "cold", "hiv"]
    rows = "".join(f"{20 + n % 60},{'mf'[n % 2]},{illnesses[n * n % 11 % 4]}\n" for n in range(300))
    messy.write_text("age,sex,diagnosis\n" + rows)
    drafted(messy, audience="researchers")
    shown = one_line(capsys)
    assert "--k 5 --l diagnosis=2" in shown
    assert (
        "For researchers: groups of at least 5 records, each with at least 2 different values of `diagnosis`." in shown
    )


def test_a_purpose_leaves_the_rest_out_and_says_how_to_go_on(messy, capsys):
    schema = drafted(messy, keep=["Alter,x9"], audience="public")
    assert schema.quasi_identifiers == ("Alter", "x9")
    assert schema["Geschlecht"].role == "drop"
    shown = one_line(capsys)
    assert f'shoal anonymize {messy} --k 11 --about "recipient=the public" --output release' in shown
    assert "For the public: groups of at least 11 records." in shown
    with pytest.raises(ParameterError, match="--for must be one of partners, researchers, public"):
        _draft.draft(source=str(messy), output=messy.with_name("b.toml"), audience="friends")


def test_a_person_at_a_terminal_is_asked_what_matters(messy, monkeypatch, capsys):
    monkeypatch.setattr(_draft, "_is_interactive", lambda: True)
    monkeypatch.setattr("sys.stdin", io.StringIO("Alter,nothing\nAlter, remarks\nw\nd\nn\n"))
    schema = drafted(messy)
    assert schema.quasi_identifiers == ("Alter",)
    assert (schema["remarks"].role, schema["x9"].role) == ("drop", "drop")
    shown = capsys.readouterr().out
    assert "no column has the word `nothing` in its name" in shown
    assert "1 of 1: `remarks`" in shown
    assert "--k 11" in shown


def test_a_key_of_persons_is_asked_about_at_a_terminal(tmp_path, monkeypatch):
    draw = random.Random(5)
    people = [(f"k{n}", draw.choice("mf"), 1930 + draw.randrange(60), draw.choice("abcd")) for n in range(80)]
    rows = [(*person, draw.randrange(90)) for person in people for _ in range(3)]
    path = tmp_path / "people.csv"
    path.write_text("\n".join(",".join(map(str, row)) for row in [("serial", "sex", "yob", "race", "x"), *rows]))
    monkeypatch.setattr(_draft, "_is_interactive", lambda: True)
    monkeypatch.setattr("sys.stdin", io.StringIO("\n\nserial\nn\n"))
    assert drafted(path).person == "serial"


def test_a_draft_elsewhere_is_named_in_the_next_steps(messy, capsys):
    elsewhere = messy.with_name("my own.toml")
    _draft.draft(source=str(messy), output=elsewhere)
    shown = one_line(capsys)
    assert f"shoal draft {messy} --output '{elsewhere}' --keep NAME,NAME --overwrite" in shown
    assert f"shoal anonymize {messy} --schema '{elsewhere}' --k 5 --output release" in shown


def test_how_a_file_is_read_is_named_in_the_next_steps(messy, capsys):
    table = messy.with_name("my people.csv")
    columns = [f"c{number}" for number in range(12)]
    table.write_text("\n".join("^".join(row) for row in [columns, *[[str(n * n % 7) for n in range(12)]] * 3]))
    _draft.draft(source=str(table), delimiter="^", encoding="utf-8")
    assert f"shoal anonymize '{table}' --delimiter '^' --encoding utf-8 --k 5 --output release" in one_line(capsys)


def test_open_questions_are_asked_one_by_one(messy, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO("?\nd\ns\ny\n"))
    schema = drafted(messy, edit=True, keep=["Alter,remarks"], also=["x9"])
    assert (schema["remarks"].role, schema["x9"].role) == ("drop", "quasi-identifier")
    assert not schema.guessed
    shown = capsys.readouterr().out
    assert "1 of 1: `remarks`" in shown
    assert "--edit" not in shown


def test_asking_can_be_ended_and_the_rest_keeps_what_was_proposed(messy, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO("x\nq\n"))
    schema = drafted(messy, edit=True)
    assert (schema["remarks"].role, schema["x9"].role) == ("drop", "drop")
    shown = capsys.readouterr().out
    assert "Please answer with one of k, s, n, h, d, q" in shown
    assert all(len(line) <= 80 for line in shown.splitlines() if "people" not in line)


def test_sentences_fit_a_narrow_terminal(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "50")
    monkeypatch.setenv("NO_COLOR", "1")
    words = "one two three four five six seven eight nine ten"
    row = "  column" + "  figure" * 8
    _output.text(f"Title\n  - {words}\n    {words}\n  label   4%  {words}\n{row}")
    shown = capsys.readouterr().out.splitlines()
    assert row in shown
    assert all(len(line) <= 50 for line in shown if line != row)
    assert " ".join(" ".join(shown[1:4]).split()) == f"- {words} {words}"
    assert shown[5].startswith("          ")


def test_names_of_columns_give_a_terminal_no_orders(tmp_path, capsys):
    path = tmp_path / "people.csv"
    path.write_text("age,\x1b[31mred,\u202esex\n" + "36,x,m\n41,y,w\n" * 20)
    drafted(path)
    shown = capsys.readouterr().out
    assert "\\u001b[31mred" in shown
    assert not set(shown) & set("\x1b\u202e")


def test_no_answer_keeps_what_was_proposed(messy, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("\n"))
    schema = drafted(messy, edit=True, keep=["Alter,remarks,x9"])
    assert (schema["remarks"].role, schema["x9"].role) == ("decide", "quasi-identifier")
    assert schema.guessed


def test_nothing_runs_before_a_person_has_decided(messy):
    schema = drafted(messy, keep=["remarks,Alter"])
    with pytest.raises(SchemaError, match="nobody has decided what this column is: `remarks`") as raised:
        _source.decided(schema, "people.csv", None)
    assert "--undecided drop" in str(raised.value)
    assert _source.decided(schema, "people.csv", "drop")["remarks"].role == "drop"
    with pytest.raises(ParameterError, match="drop or quasi-identifier"):
        _source.decided(schema, "people.csv", "insensitive")


def test_a_private_draft_copies_nothing_from_the_data(tmp_path, capsys):
    """Two tables with the same columns, and other records, kinds and numbers of records: the same bytes."""
    made = []
    for folder, rows in (("one", ["34,f,flu,1"]), ("two", ["old,Q,a long text,2020-01-01"] * 40)):
        path = tmp_path / folder / "people.csv"
        path.parent.mkdir()
        path.write_text("\n".join(["age,sex,remarks,x9", *rows]) + "\n")
        drafted(path, private=True, drop=["x9"])
        shown = capsys.readouterr().out
        assert all(len(line) <= 80 for line in shown.splitlines() if "people" not in line)
        made.append((path.with_name("people.schema.toml").read_bytes(), shown.replace(str(path.parent), "")))
    assert made[0] == made[1]
    assert b'[columns.remarks]\nrole = "decide"' in made[0][0]


def test_a_template_is_not_asked_about(messy):
    with pytest.raises(ParameterError, match="--private"):
        drafted(messy, private=True, edit=True)


def test_the_last_lines_fit_a_terminal_and_say_how_to_go_on(tmp_path, capsys):
    names = [f"remarks_{n}" for n in range(3)]
    roles = ("decide", "sensitive", "identifier", "person", "drop", "insensitive", "quasi-identifier")
    columns = [Attribute(name=f"x{n}", role=role) for n, role in enumerate(roles)]
    columns += [Attribute(name=name, role="decide") for name in names]
    made = Draft(schema=Schema(attributes=tuple(columns), guessed=True), reasons={}, records=30)
    target = tmp_path / "people.schema.toml"
    _draft._next_steps(made, "people.csv", target, again="people.csv", audience=None, has_purpose=False)
    lines = capsys.readouterr().out.splitlines()
    assert all(len(line) <= 80 or str(target) in line for line in lines)
    assert "`--undecided drop` leaves the undecided columns out" in lines[-1]


def test_with_a_purpose_nothing_asks_for_one_and_the_promises_can_be_kept(tmp_path, capsys):
    path = tmp_path / "people.csv"
    draw = random.Random(7)
    rows = [
        f"{draw.randrange(20, 70)},{draw.choice('mf')},{draw.choice('yn')},{draw.choice('abcd')},1" for _ in range(300)
    ]
    path.write_text("\n".join(["age,sex,diabetes,disease,zzq", *rows]))
    drafted(path, keep=["age,sex,diabetes,disease"], audience="public")
    shown = capsys.readouterr().out
    assert "--keep NAME" not in shown
    assert "--l diabetes=2 --l disease=3" in " ".join(shown.replace("\\", " ").split())
    assert "at least 3 different values of `disease` and 2 different values of `diabetes`" in " ".join(shown.split())


def test_names_with_commas_can_be_kept(tmp_path, capsys):
    path = tmp_path / "people.csv"
    path.write_text('age,"Your pay, monthly, in EUR",sex\n' + "".join(f"{20 + n % 50},{n},f\n" for n in range(60)))
    schema = drafted(path, keep=["Your pay, monthly, in EUR,age"])
    assert schema["sex"].role == "drop"
    assert "drop" not in {schema["age"].role, schema["Your pay, monthly, in EUR"].role}
