# ruff: noqa: RUF001 - letters of many languages
"""Encodings from before Unicode: which of them the bytes of a file fit, the likeliest first."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from shoal.tables.formats._utf8 import beginning

# looked at; what is not ASCII there must be read without an error
_SIZE = 1 << 22
# a text of another encoding is at least so likely before it is named as well, against the best
_NEAR = 0.8
# so much of what is not ASCII must look like a language
_LIKELY = 0.5
_FEWEST = 6
_FALL_BACK = "cp1252"

_SPOKEN = {
    "cp1252": "Windows-1252",
    "cp1250": "Windows-1250",
    "cp1251": "Windows-1251",
    "cp1253": "Windows-1253",
    "cp1254": "Windows-1254",
    "koi8_u": "KOI8-U",
    "cp866": "CP866",
    "mac_roman": "Mac Roman",
    "cp850": "CP850",
    "gb18030": "GB18030",
    "big5hkscs": "Big5",
    "cp932": "Shift-JIS",
    "euc_jp": "EUC-JP",
    "cp949": "EUC-KR",
}
_WESTERN = frozenset("äöüßÄÖÜéèêëàâçîïôûùœÉÈÀÇáíóúñÁÍÓÚÑ¿¡ãõÃÕâêôìòåøæÅØÆ€£°§«»„“”‘’–—·ºª²³½×…™®©\u00a0")
_CENTRAL = frozenset("áéíóúýčďěňřšťůžľĺŕôäöüÁÉÍÓÚÝČĎĚŇŘŠŤŮŽąćęłńóśźżĄĆĘŁŃÓŚŹŻőűŐŰăâîşţĂÂÎŞŢđĐß§°€„”“–—\u00a0")
_TURKISH = frozenset("çğıöşüÇĞİÖŞÜâîû’“”–\u00a0")
_GREEK = re.compile(r"[\u0370-\u03ff]")
_CYRILLIC = re.compile(r"[\u0400-\u045f]")
_WORD = re.compile(r"[^\W\d_]{2,}")
_KANA = re.compile(r"[\u3040-\u30ff\u3000-\u3002\uff08\uff09\u301c\uff5e]")


def name_encoding(codec: str) -> str:
    """Return how people call an encoding."""
    return _SPOKEN.get(codec, codec.upper())


def try_encodings(path: Path) -> tuple[str, ...]:
    """Return the encodings in which the beginning of a file can be read and looks like a language, likeliest first.

    Windows-1252 where none does, or where a few bytes are all there is to judge by.
    """
    data = beginning(path, _SIZE)
    cut = data[: data.rfind(b"\n") + 1] or data  # a character may be cut at the end
    if sum(byte > 0x7F for byte in cut) < _FEWEST:
        return (_FALL_BACK,)
    fits: list[tuple[float, str, str]] = []
    for codec, judge in _JUDGES.items():
        try:
            text = cut.decode(codec)
        except UnicodeDecodeError:
            continue
        if all(text != other for _, _, other in fits):
            fits.append((judge(text), codec, text))
    fits.sort(key=lambda each: -each[0])
    best = fits[0][0] if fits else 0.0
    if best < _LIKELY:
        return (_FALL_BACK,)
    return tuple(codec for score, codec, _ in fits if score >= _NEAR * best)[:3]


def _special(text: str) -> list[str]:
    return [character for character in text if character > "\x7f"]


def _share(text: str, usual: Callable[[str], object]) -> float:
    """Return which part of what is not ASCII is usual, in [0, 1]."""
    special = _special(text)
    return sum(bool(usual(character)) for character in special) / len(special) if special else 0.0


def _letters(usual: frozenset[str], weight: float = 1.0) -> Callable[[str], float]:
    """Judge by usual letters; a capital within a word of small letters is none of them."""
    alone = re.compile(r"(?<![^\W\d_])[^\W\d_A-Za-z](?![^\W\d_])")

    def judge(text: str) -> float:
        # a letter of its own is rarely a word, but often a space in another encoding
        return weight * _share(alone.sub("\ufffd", text), usual.__contains__) * _well_cased(text)

    return judge


def _well_cased(text: str) -> float:
    """Return which part of the words with letters that are not ASCII are small, capital, or begin with a capital."""
    words = [word for word in _WORD.findall(text) if not word.isascii()]
    if not words:
        return 1.0
    capital = [len(word) > 2 and word.isupper() for word in words]
    return sum(bool(one or word.islower() or word.istitle()) for word, one in zip(words, capital, strict=True)) / len(
        words
    )


def _script(pattern: re.Pattern[str]) -> Callable[[str], float]:
    """Judge by a script that no word mixes with Latin, and whose small letters are more than its capitals."""

    def judge(text: str) -> float:
        words = [word for word in _WORD.findall(text) if not word.isascii()]
        letters = [character for word in words for character in word if pattern.match(character)]
        small = sum(character.islower() for character in letters) / len(letters) if letters else -0.5
        mixed = sum(re.search("[a-zA-Z]", word) is not None for word in words) / len(words) if words else 0.0
        return float(_share(text, pattern.match) * _well_cased(text) * (1 - mixed) * min(1.0, 0.5 + small))

    return judge


def _common(
    codec: str, first: int, last: int, extra: re.Pattern[str] | None = None, weight: float = 1.0
) -> Callable[[str], float]:
    """Judge by the characters in daily use, which stand in the first part of such codes."""

    def is_usual(character: str) -> bool:
        if extra is not None and extra.match(character):
            return True
        try:
            lead, *rest = character.encode(codec)
        except UnicodeEncodeError:
            return False
        return first <= lead <= last and len(rest) == 1

    return lambda text: weight * _share(text, is_usual)


def _japanese(text: str) -> float:
    """Judge by daily characters, among which kana are; a text without them may be Chinese."""
    kana = _share(text, _KANA.match)
    return _common("cp932", 0x88, 0x97, _KANA)(text) * (1.0 if kana >= 0.05 else 0.8)


_JUDGES: dict[str, Callable[[str], float]] = {
    "cp1252": _letters(_WESTERN),
    "cp1250": _letters(_CENTRAL, 0.95),
    "cp1254": _letters(_TURKISH, 0.9),
    "mac_roman": _letters(_WESTERN, 0.9),
    "cp850": _letters(_WESTERN, 0.9),
    "cp1253": _script(_GREEK),
    "cp1251": _script(_CYRILLIC),
    "koi8_u": _script(_CYRILLIC),
    "cp866": _script(_CYRILLIC),
    "gb18030": _common("gb2312", 0xB0, 0xD7, re.compile(r"[\u3000-\u3011\uff00-\uff5e]")),
    "big5hkscs": _common("big5", 0xA4, 0xC6, re.compile(r"[\u3000-\u3011\uff00-\uff5e]")),
    "cp932": _japanese,
    "euc_jp": _japanese,
    # the codes of Hangul are a part of those of Chinese characters: Chinese texts use the others as well
    "cp949": _common("euc_kr", 0xB0, 0xC8, weight=1.1),
}
