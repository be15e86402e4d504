"""Encodings of text: told by their marks, or by the words that they make of the bytes.

A text that is not UTF-8 is read in the first encoding that makes words of nearly everything beyond ASCII: letters of
one language's alphabet, without symbols or control characters, in upper and lower case as people write them. If two
scripts are possible, the text is refused. Within one script a wrong guess gives different texts to different bytes, so
that it neither merges nor splits people.
"""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise

from peerveil.errors import Argument, FileError

#: Byte order marks and their encodings; that of UTF-32 begins like that of UTF-16.
_MARKS = {
    b"\xff\xfe\0\0": "utf-32",
    b"\0\0\xfe\xff": "utf-32",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
    b"\xef\xbb\xbf": "utf-8-sig",
}

_SAVE = "save it as UTF-8 (in Excel: CSV UTF-8), or state it with "
_WAY = Argument("encoding", ...)

# Bytes decoded at a time, and those of a line, lines and words that are looked at.
_CHUNK, _LONGEST, _MOST_LINES, _MOST_WORDS = 2**20, 2**16, 5_000, 5_000

# The share of words that an encoding must make sense of.
_ENOUGH = 0.95

# Letters beyond ASCII of Western, Central European, Turkish and Baltic languages, by language or related languages.
_WESTERN = (
    *("àâæçéèêëîïôœùûüÿ", "äöüß", "áéíñóúüïç", "ãáâàçéêíõóôúü", "àèéìíòóùú", "àéèíïóòúüç", "äëïöüéèêáóú"),
    *("åäöéüæøáèóêòôâ", "áðéíóúýþæö"),
)
_CENTRAL = ("áčďéěíňóřšťúůýž", "áäčďéíĺľňóôŕšťúýž", "ąćęłńóśźż", "áéíóöőúüű", "ăâîşţ", "čćđšž")
_TURKISH, _BALTIC = ("çğıöşüâîûİ",), ("āčēģīķļņšūž", "ąčęėįšųūž", "äöõüšž")
_CYRILLIC, _VOWELS = ("абвгдеёжзийклмнопрстуфхцчшщъыьэюяіїєґўђѓѕјљњћќџ",), "аеёиоуыэюяіїєўјαεηιουωάέήίόύώϊϋΐΰ"
_GREEK = ("αβγδεζηθικλμνξοπρστυφχψωςάέήίόύώϊϋΐΰ",)
_SIGMA = re.compile("\u03c2.|\u03c3$")  # the final sigma is final, the other is not
_HEBREW = ("אבגדהוזחטיךכלםמןנסעףפץצקרשת",)
_ARABIC = ("ءآأؤإئابةتثجحخدذرزسشصضطظعغفقكلمنهوىي",)

# What may stand around a word, and between two words without a blank.
_AROUND = (
    "\u201c\u201d\u201e\u2018\u2019\u201a\xab\xbb\u2039\u203a\u2026\u2013\u2014\u20ac\u2122\xae\xa9\xb0\xa7\xb7\u2022\xbf\xa1"
    "\xba\xaa\xd7\xb1\xb2\xb3\xb5\xbd\xa0\u3000\u3001\u3002\uff0c\uff1b\uff08\uff09\u30fb"
)
_BETWEEN = re.compile("[\u2018\u2019\u2013\u2014\xa0\xb7\u3000\u30fb]")
_TOKEN = re.compile(r"[^\x00-\x40\x5b-\x60\x7b-\x7f]+")


@dataclass(frozen=True)
class Encoding:
    """The encoding of a text, and what is said about it."""

    name: str
    notices: tuple[str, ...] = ()


def encoding_of(content: bytes, name: str, stated: str | None = None) -> Encoding:
    """Return the encoding of a content: as stated, by its mark, UTF-8, or the only one that makes words of it."""
    if stated is not None:
        return _stated(content, name, stated)
    for mark, encoding in _MARKS.items():
        if content.startswith(mark):
            if not _decodes(content, encoding):
                raise FileError(
                    f"begins as {encoding.removesuffix('-sig')} text, but goes on otherwise; ", _SAVE, _WAY, file=name
                )
            return Encoding(encoding)
    if unmarked := _unmarked(content):
        return Encoding(unmarked, (f"it was read as {unmarked}, by the zeros in it, as it has no mark",))
    if content.isascii():
        return Encoding("utf-8")
    if _decodes(content, "utf-8"):
        return Encoding("utf-8", _spoilt_before(content))
    return _guess(content, name)


def _stated(content: bytes, name: str, stated: str) -> Encoding:
    """Return a stated encoding; one that makes no text of the content is refused."""
    problem = encoding = ""
    with suppress(LookupError, ValueError):
        "".encode(stated)  # some codecs are not of text
        encoding = codecs.lookup(stated).name
    if not encoding:
        raise FileError(
            Argument("encoding"), f" must be an encoding of text, such as cp1252, got {stated!r}", file=name
        )
    if encoding == "utf-8":
        encoding = "utf-8-sig"
    if not encoding.startswith("utf") and not content.isascii() and _decodes(content, "utf-8"):
        raise FileError(f"is UTF-8 text, which {encoding} would spoil; leave out ", Argument("encoding"), file=name)
    if not _decodes(content, encoding):
        problem = f"is not {encoding.removesuffix('-sig')} text; "
    elif any(re.search("[\x80-\x9f]", text) for text in _lines(content, encoding)):
        problem = f"would have control characters in names as {encoding}; "
    if problem:
        raise FileError(problem, _SAVE, _WAY, file=name)
    return Encoding(encoding)


def _guess(content: bytes, name: str) -> Encoding:
    """Return the encoding that makes words of a content that is not UTF-8."""
    shares = {encoding: _share(content, encoding, fits) for _, encoding, fits in _CANDIDATES}
    good = [(script, encoding) for script, encoding, _ in _CANDIDATES if shares[encoding][0] >= _ENOUGH]
    scripts = list(dict.fromkeys(script for script, _ in good))
    if not good or len(scripts) > 1:
        could = "" if not good else f" (it could be {' or '.join(encoding for _, encoding in good)})"
        raise FileError(f"is not UTF-8 text, and its encoding is not certain{could}; ", _SAVE, _WAY, file=name)
    encoding = good[0][1]
    share, words, mixed = shares[encoding]
    if mixed:
        raise FileError(
            f"is partly UTF-8 and partly {encoding}, so that a name may have two spellings; export it anew", file=name
        )
    also = [other for _, other in good[1:] if shares[other][0] >= share]
    alike = f"; {', '.join(also)} would do as well" if also else ""
    of = f"{words} words" if share == 1 else f"{share:.0%} of {words} words"
    notice = f"it is not UTF-8 and was read as {encoding}, which makes sense of {of} beyond ASCII{alike}"
    return Encoding(encoding, (f"{notice}; state the encoding if that is wrong",))


def _share(content: bytes, encoding: str, fits: Callable[[str], bool]) -> tuple[float, int, bool]:
    """Return the share of words that fit, their number, and whether others are UTF-8; zero if it is no text."""
    good, all_words, mixed = 0, 0, False
    if not _decodes(content, encoding):
        return 0.0, 0, False
    for word in _words(_lines(content, encoding)):
        fitting = fits(word)
        good += fitting
        all_words += 1
        mixed = mixed or (not fitting and _was_utf8(word, encoding))
    return (good / all_words if all_words else 0.0), all_words, mixed


def _words(lines: Iterator[str]) -> Iterator[str]:
    """Yield the different words beyond ASCII."""
    seen: set[str] = set()
    for line in lines:
        for token in _TOKEN.findall(line):
            for word in (part.strip(_AROUND) for part in _BETWEEN.split(token)):
                if not word.isascii() and word not in seen:
                    if len(seen) >= _MOST_WORDS:
                        return
                    seen.add(word)
                    yield word


def _lines(content: bytes, encoding: str) -> Iterator[str]:
    """Yield different lines that are not ASCII, decoded; the end of a long one may be missing."""
    seen: set[bytes] = set()
    for line in io.BytesIO(content):
        if not line.isascii() and (start := line[:_LONGEST]) not in seen:
            seen.add(start)
            yield codecs.getincrementaldecoder(encoding)("replace").decode(start)
            if len(seen) >= _MOST_LINES:
                return


def _decodes(content: bytes, encoding: str) -> bool:
    """Return whether a content is text in an encoding."""
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        for start in range(0, len(content), _CHUNK):
            decoder.decode(content[start : start + _CHUNK])
        decoder.decode(b"", final=True)
    except (UnicodeError, ValueError):
        return False
    return True


def _unmarked(content: bytes) -> str:
    """Return UTF-16 or UTF-32 if zeros are where ASCII has them there; empty if they are not."""
    start = content[:4096]
    zeros = [start[place::4].count(0) > 0.7 * len(start[place::4]) for place in range(4)]
    patterns = {
        "utf-32-le": (0, 1, 1, 1),
        "utf-32-be": (1, 1, 1, 0),
        "utf-16-le": (0, 1, 0, 1),
        "utf-16-be": (1, 0, 1, 0),
    }
    found = next((encoding for encoding, pattern in patterns.items() if zeros == [*map(bool, pattern)]), "")
    return found if len(start) >= 16 and found and _decodes(content, found) else ""


def _spoilt_before(content: bytes) -> tuple[str, ...]:
    """Return a notice if words of a UTF-8 text were read in a wrong encoding before."""
    spoilt = sum(_was_utf8(word, "cp1252") for word in _words(_lines(content, "utf-8")))
    if not spoilt:
        return ()
    notice = f"{spoilt} words look as if they had been read in a wrong encoding before (a letter such as Ã and a sign)"
    return (f"{notice}: where the same name is also spelt rightly, one person counts as two; export the file anew",)


def _was_utf8(word: str, encoding: str) -> bool:
    """Return whether the bytes of a word are UTF-8 beyond ASCII."""
    try:
        return not word.encode(encoding).decode("utf-8").isascii()
    except UnicodeError:
        return False


def _latin(alphabets: tuple[str, ...]) -> Callable[[str], bool]:
    """Return whether a word has the letters of one alphabet, in addition to ASCII's."""
    sets = [{*alphabet, *alphabet.upper()} for alphabet in alphabets]

    def fits(word: str) -> bool:
        beyond = {letter for letter in word if not letter.isascii()}
        return any(beyond <= letters for letters in sets) and _usual_case(word)

    return fits


def _other(alphabets: tuple[str, ...]) -> Callable[[str], bool]:
    """Return whether a word has letters of one alphabet only, and vowels among them where that has vowels."""
    sets = [{*alphabet, *alphabet.upper()} for alphabet in alphabets]
    vowels = {*_VOWELS, *_VOWELS.upper()}
    without = re.compile(f"[^{''.join(vowels)}]{{6}}")

    def fits(word: str) -> bool:
        letters = next((letters for letters in sets if {*word} <= letters), None)
        if letters is None or not _usual_case(word) or _SIGMA.search(word):
            return False
        return not letters & vowels or ((len(word) < 3 or bool({*word} & vowels)) and not without.search(word))

    return fits


def _usual_case(word: str) -> bool:
    """Return whether no capital letter beyond ASCII follows a small letter."""
    return not any(a.islower() and b.isupper() and not b.isascii() for a, b in pairwise(word))


def _eastern(encoding: str, common: tuple[int, int], rare: tuple[int, int], own: str = "") -> Callable[[str], bool]:
    """Return whether a word has ideographs or syllables whose first byte is in a range, half of them common ones.

    ``own`` are the first and the last character of a script of its own, such as kana.
    """

    def fits(word: str) -> bool:
        count = 0
        for letter in word:
            try:
                first = 0 if own and own[0] <= letter <= own[1] else letter.encode(encoding)[0]
            except UnicodeError:
                return False
            if first and not (common[0] <= first <= common[1] or rare[0] <= first <= rare[1]):
                return False
            count += not first or common[0] <= first <= common[1]
        return 2 * count >= len(word)

    return fits


# Script, encoding, and whether a word is one of it; the most usual first.
_CANDIDATES: tuple[tuple[str, str, Callable[[str], bool]], ...] = (
    ("Latin", "cp1252", _latin(_WESTERN)),
    ("Latin", "cp1250", _latin(_CENTRAL)),
    ("Latin", "cp1254", _latin(_TURKISH)),
    ("Latin", "cp1257", _latin(_BALTIC)),
    ("Latin", "iso8859-2", _latin(_CENTRAL)),
    ("Latin", "cp850", _latin(_WESTERN)),
    ("Latin", "mac_roman", _latin(_WESTERN)),
    ("Cyrillic", "cp1251", _other(_CYRILLIC)),
    ("Cyrillic", "koi8-r", _other(_CYRILLIC)),
    ("Greek", "cp1253", _other(_GREEK)),
    ("Hebrew", "cp1255", _other(_HEBREW)),
    ("Arabic", "cp1256", _other(_ARABIC)),
    ("Japanese", "cp932", _eastern("euc_jp", (0xB0, 0xCF), (0xD0, 0xF4), "\u3041\u30fe")),
    ("Chinese", "gb18030", _eastern("gb2312", (0xB0, 0xD7), (0xD8, 0xF7))),
    ("Chinese", "big5", _eastern("big5", (0xA4, 0xC6), (0xC9, 0xF9))),
    ("Korean", "cp949", _eastern("euc_kr", (0xB0, 0xC8), (0xB0, 0xC8))),
)
