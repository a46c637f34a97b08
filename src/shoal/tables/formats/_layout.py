"""Detection of titles above a table, a second row of names, and notes below it."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Sequence

from shoal.errors import counted
from shoal.tables.formats._cells import Header, distinct_names, header_of, is_value

# a title above a table has so many lines at most, with so few filled cells each; so have notes below it
_LINES, _CELLS = 20, 2
# so many of the columns below a title have names
_NAMED = 0.8
# rows of names below the first
_MORE = 2
# so many of the records show that a column holds numbers or dates
_MOST, _FEWEST = 0.9, 5
# what records hold in place of a number
_ABSENT = frozenset(("", "-", "--", ".", "?", "*", "na", "n/a", "nan", "null", "none", "nd", "missing", "unknown"))
# survey programs write it below a question that has one answer
_ANSWER = frozenset(("response", "open-ended response"))


def read_header(rows: Sequence[Sequence[str]]) -> tuple[Header, int]:
    """Return the names of the columns, and how many of the rows stand before the first record.

    Examples
    --------
    >>> names, units = ["sex", "age", "pay"], ["", "years", "EUR"]
    >>> header, before = read_header([["Pay roll", "", ""], names, units, *(["f", "51", "30"] for _ in range(6))])
    >>> header.columns, before
    (('sex', 'age', 'pay'), 3)
    """
    above = _titles(rows)
    head = header_of(rows[above:])
    if not head.present:
        return head, above
    more = _more_names(rows[above:])
    if more:
        names = distinct_names(_join_headers(rows[above : above + more + 1]))
        lines = "second row names" if more == 1 else f"{counted(more, 'row')} below the names name"
        told = f"the {lines} the columns, too, and {'is no record' if more == 1 else 'are no records'}"
        titles = dict(zip(names, rows[above + 1], strict=True)) if names == head.columns else {}
        head = Header(columns=names, notes=(told, *(head.notes if titles else ())), titles=titles)
    notes = (*_note_left_out(above, "first", "title above"), *head.notes)
    return Header(columns=head.columns, notes=notes, titles=head.titles), above + 1 + more


def told_of_notes(below: int) -> tuple[str, ...]:
    """Say that lines below a table were left out; never what they say."""
    return _note_left_out(below, "last", "note below")


def _note_left_out(lines: int, which: str, what: str) -> tuple[str, ...]:
    several, were = (f"{which} {lines} lines are", "were") if lines > 1 else (f"{which} line is", "was")
    return (f"the {several} a {what} the table and {were} left out",) if lines else ()


def _titles(rows: Sequence[Sequence[str]]) -> int:
    """Return how many of the first rows are a title above the table, as spreadsheets have it.

    Lines of one or two cells are, where a row of names follows: one that all further rows are as long as, and that
    has words above a column of numbers or dates. Nothing is taken for a name without that sign, for it may be a record.
    """
    rows = rows[:-1] or rows  # the last one may be cut off where the sample ends
    rows = rows[: len(rows) - notes_below(rows)] or rows
    width = Counter(map(len, rows)).most_common(1)[0][0]
    for position, row in enumerate(rows[: _LINES + 1]):
        filled = sum(bool(cell.strip()) for cell in row)
        if len(row) == width and filled > _CELLS and filled >= _NAMED * width:
            return position if position and _heads(rows[position:]) else 0
        if filled > _CELLS or 2 * filled >= width:
            return 0
    return 0


def _heads(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row holds words, and some column below it numbers or dates."""
    same = [row for row in rows if len(row) == len(rows[0])]
    if len(same) < 2 or len(same) < _MOST * len(rows):
        return False
    more = _more_names(same)
    return bool(_of_values(same[1 + more :], 1)) and not any(is_value(cell.strip()) for cell in same[0])


def _of_values(records: Sequence[Sequence[str]], fewest: int) -> list[int]:
    """Return the columns that hold numbers or dates, by their places."""
    lines = []
    for position in range(len(records[0]) if records else 0):
        cells = [row[position].strip() for row in records]
        filled = [cell for cell in cells if cell.lower() not in _ABSENT]
        if len(filled) >= fewest and sum(map(is_value, filled)) >= _MOST * len(filled):
            lines.append(position)
    return lines


def _more_names(rows: Sequence[Sequence[str]]) -> int:
    """Return how many rows below the first one name the columns, too: units, questions, or parts of a question.

    No record is taken for one: the columns that hold numbers or dates have words there, at least two of them, or
    nothing, and then the row has the names that the first one lacks. What comes again below is a value.
    """
    width = len(rows[0])
    number = 0
    for position in range(1, _MORE + 1):
        records = [row for row in rows[position + 1 :] if len(row) == width]
        if position >= len(rows) or len(rows[position]) != width or len(records) < _FEWEST:
            break
        row = [cell.strip() for cell in rows[position]]
        numbers = _of_values(records, _FEWEST)
        if not numbers or any(is_value(row[number]) for number in numbers):
            break
        words = [number for number in numbers if row[number].lower() not in _ABSENT]
        nameless = [each for each, name in enumerate(rows[0]) if not name.strip()]
        named = sum(bool(row[each]) for each in nameless)
        fills = len(nameless) > 1 and named >= _NAMED * len(nameless)
        again = any(row[word] and row[word] == other[word].strip() for other in records for word in words)
        if again or not (fills or (len(words) > 1 and len(words) >= _NAMED * len(numbers))):
            break
        number += 1
    return number


def _join_headers(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return names of several rows: the first, and the second where the first one spans several columns."""
    first = [cell.strip() for cell in rows[0]]
    if all(first):
        return first
    second = [cell.strip() for cell in rows[1]]
    whole, names = "", []
    for position, part in enumerate(second):
        whole = first[position] or whole
        spans = not first[position] or (position + 1 < len(first) and not first[position + 1])
        one = not spans or not part or part.lower() in _ANSWER
        names.append((first[position] if one and first[position] else part) if one else f"{whole}: {part}")
    return names


def notes_below(rows: Sequence[Sequence[str]]) -> int:
    """Return how many of the last rows are notes below the table, as spreadsheets have them.

    A note is a row with a single text of several words in it, or an empty one, below records that are filled.

    Examples
    --------
    >>> notes_below([["34", "f", "A"], ["51", "m", "B"], ["", "", ""], ["Source: the registry", "", ""]])
    2
    """
    number = 0
    for row in itertools.islice(reversed(rows), _LINES):
        if len(row) <= _CELLS or not is_note(row):
            break
        number += 1
    records = rows[max(0, len(rows) - number - _LINES) : len(rows) - number]
    full = sum(2 * sum(bool(cell.strip()) for cell in row) > len(row) for row in records)
    texts = any(any(cell.strip() for cell in row) for row in rows[len(rows) - number :])
    return number if texts and full > len(records) / 2 else 0


def is_note(row: Sequence[str]) -> bool:
    """Return whether a row holds nothing, or a single text of several words."""
    filled = [cell.strip() for cell in row if cell.strip()]
    text = len(filled) == 1 and re.search(r"[^\W\d_]{2,}\W+(?:\w|$)", filled[0]) is not None
    return not filled or text
