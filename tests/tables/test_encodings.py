"""Encodings: texts are read in the right one, with a notice, or refused; nobody is merged or split by a guess."""

from __future__ import annotations

import codecs
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import peerveil as pv
from peerveil.tables.encodings import encoding_of

#: Names in languages, which were not used to choose the rules.
NAMES = {
    "German": ["Jürgen Groß", "Käthe Schröder", "Björn Höfer", "Anja Weiß", "Peter Schmidt"],
    "French": ["Benoît Lemaître", "Gaëlle Dupré", "Raphaël Besançon", "Cécile Guérin", "Aurélie Côté"],
    "Spanish": ["Iñaki Ibáñez", "Begoña López", "Álvaro Gómez", "Lucía Martín"],
    "Portuguese": ["Inês Simões", "Gonçalo Magalhães", "Antônio Galvão"],
    "Swedish": ["Åsa Sjöström", "Göran Lindqvist", "Kjell Ångström"],
    "Norwegian": ["Øystein Bjørnson", "Kåre Sæther", "Håkon Grønås"],
    "Icelandic": ["Guðrún Jónsdóttir", "Þorsteinn Ægisson", "Ásta Björk"],
    "Polish": ["Wojciech Górski", "Agnieszka Wiśniewska", "Paweł Jabłoński", "Grażyna Łęcka"],
    "Czech": ["Václav Kučera", "Kateřina Štěpánková", "Ondřej Říha", "Zdeněk Ševčík"],
    "Hungarian": ["Győző Szűcs", "Ágnes Fülöp", "Eszter Erdős", "István Kőszegi"],
    "Romanian": ["Mihăiţă Bălan", "Ioana Pârvu", "Şerban Ţurcanu"],
    "Turkish": ["Çiğdem Öztürk", "Barış Güneş", "Işıl Doğan", "Müjde Şener"],  # noqa: RUF001 - it has this letter
    "Latvian": ["Kārlis Kalniņš", "Ieva Liepiņa", "Ģirts Āboliņš"],
    "Russian": ["Наталья Кузнецова", "Сергей Ерёмин", "Пётр Щукин", "Татьяна Фёдорова"],
    "Bulgarian": ["Христо Ботев", "Живка Стоянова", "Цветан Дънков"],
    "Greek": ["Δημήτρης Αντωνίου", "Κατερίνα Ψαρρού", "Σπύρος Καραγιάννης", "Αθηνά Ξένου"],
    "Arabic": ["يوسف خالد", "مريم الزهراء", "عبد الرحمن"],
    "Japanese": ["渡辺 直美", "伊藤 みどり", "中村 ケイコ", "小林 誠"],
    "Chinese": ["周杰", "吴芳", "徐强", "孙丽娟", "马超", "朱红", "胡军", "郭敏"],
    "Taiwanese": ["王美玲", "吳建宏", "劉淑惠", "蔡宗翰", "楊雅雯"],
    "Hebrew": ["יעל ברק", "משה פרץ", "נועה שפירא"],
    "Korean": ["강하늘", "윤서진", "한지민", "오세훈"],
}
READ = {
    **dict.fromkeys(("German", "French", "Spanish", "Portuguese", "Swedish", "Norwegian", "Icelandic"), "cp1252"),
    **dict.fromkeys(("Polish", "Czech", "Romanian"), "cp1250"),
    "Turkish": "cp1254",
    "Latvian": "cp1257",
    "Russian": "cp1251",
    "Bulgarian": "cp1251",
    "Greek": "cp1253",
    "Arabic": "cp1256",
    "Japanese": "cp932",
    "Chinese": "gb18030",
    "Taiwanese": "big5",
}
STATED = {"Hebrew": "cp1255", "Korean": "cp949"}


def table(names: list[str]) -> str:
    lines = (f"p{i % 3};{name};{i % 9 + 1},5" for i, name in enumerate(names))
    return "paper;reviewer;score\r\n" + "".join(f"{line}\r\n" for line in lines)


@pytest.mark.parametrize(("language", "encoding"), READ.items())
def test_the_encoding_of_windows_is_told_and_said(language: str, encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(table(NAMES[language]).encode(encoding))
    with pytest.warns(pv.FileWarning, match=f"it is not UTF-8 and was read as {encoding}, which makes sense of"):
        reviews = pv.read(path)
    path.write_text(table(NAMES[language]), encoding="utf-8", newline="")
    right = pv.read(path)
    assert (reviews.reviewer == right.reviewer).all()
    assert reviews.score.tolist() == right.score.tolist()


def test_encodings_of_one_script_that_both_fit_are_named() -> None:
    told = encoding_of(table(NAMES["Hungarian"]).encode("cp1250"), "a")
    assert told.name == "cp1252"  # wrong, and harmless: other letters, but the same people
    assert "; cp1250, cp1257, iso8859-2 would do as well; state the encoding if that is wrong" in told.notices[0]


@pytest.mark.parametrize(("language", "encoding"), STATED.items())
def test_what_two_scripts_could_be_is_asked(language: str, encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(table(NAMES[language]).encode(encoding))
    with pytest.raises(
        pv.FileError, match=rf"its encoding is not certain \(it could be .*{encoding}.*state it with enc"
    ):
        pv.read(path)
    assert pv.read(path, encoding=encoding).reviewers == len(NAMES[language])


@pytest.mark.parametrize("encoding", ["cp850", "mac_roman"])
def test_older_programs(encoding: str) -> None:
    for language in ("German", "French", "Spanish"):
        told = encoding_of(table(NAMES[language]).encode(encoding), "a")
        assert encoding in told.notices[0]


def test_unicode_is_told_with_and_without_its_mark() -> None:
    text = table(NAMES["Greek"] + NAMES["German"])
    for encoding in ("utf-8-sig", "utf-16", "utf-32"):
        assert encoding_of(text.encode(encoding), "a").name == encoding
    for encoding in ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"):
        told = encoding_of((text * 9).encode(encoding), "a")
        assert told.name == encoding
        assert "by the zeros in it" in told.notices[0]
    assert encoding_of(text.encode(), "a").notices == ()
    with pytest.raises(pv.FileError, match="begins as utf-32 text, but goes on otherwise"):
        encoding_of(text.encode("utf-32")[:-1], "a")


REFUSED = {
    "control characters": (b"paper,reviewer,score\np,J\x00\xa8\xac\xb6\xb8\xa6rg,3\n", "its encoding is not certain"),
    "symbols in words": (b"paper,reviewer,score\np,J\xb6rg,3\np,M\xa4\xa6x,3\n", "its encoding is not certain"),
    "capitals in words": (b"paper,reviewer,score\np,anD\xd6Rf\xc4x,3\n", "its encoding is not certain"),
    "two encodings": (
        table([f"{a}ü{b}" for a in "bcdfgklmnp" for b in "bcdfgklmnp"]).encode("cp1252") + "p;Jürgen;3\n".encode(),
        "is partly UTF-8 and partly cp1252",
    ),
}


@pytest.mark.parametrize(("content", "message"), REFUSED.values(), ids=REFUSED)
def test_guesses_that_would_spoil_names_are_refused(content: bytes, message: str) -> None:
    with pytest.raises(pv.FileError, match=message) as caught:
        encoding_of(content, "a.csv")
    assert caught.value.__context__ is None


def test_words_spoilt_before_are_told() -> None:
    spoilt = "Jürgen Groß".encode().decode("cp1252")
    (notice,) = encoding_of(f"paper,reviewer\np,{spoilt}\nq,Jürgen Groß\n".encode(), "a").notices
    assert notice.startswith("2 words look as if they had been read in a wrong encoding before")
    assert spoilt not in notice


@pytest.mark.parametrize(
    ("encoding", "stated", "message"),
    [
        ("utf-8", "cp1252", "is UTF-8 text, which cp1252 would spoil; leave out encoding"),
        ("cp1252", "utf-8", "is not utf-8 text"),
        ("cp1252", "ascii", "is not ascii text"),
        ("cp1252", "latinx", "encoding must be an encoding of text, such as cp1252, got 'latinx'"),
        ("cp1252", "hex", "encoding must be an encoding of text"),
        ("cp1252", "iso8859-15", "control characters in names as iso8859-15"),
    ],
)
def test_stated_encodings_that_are_wrong(encoding: str, stated: str, message: str) -> None:
    content = table([*NAMES["German"], "Zoë \u201cZ\u201d Müller\u2013Žák"]).encode(encoding)
    with pytest.raises(pv.FileError, match=message) as caught:
        encoding_of(content, "a.csv", stated)
    assert caught.value.__context__ is None


@given(st.lists(st.binary(min_size=1, max_size=8), min_size=1, max_size=30))
def test_any_bytes_are_decoded_whole_or_refused(parts: list[bytes]) -> None:
    content = b"\n".join(parts)
    try:
        told = encoding_of(content, "a.csv")
    except pv.FileError:
        return
    assert codecs.decode(content, told.name) is not None


def one_byte() -> list[str]:
    return [
        "cp1252",
        "cp1250",
        "cp1254",
        "cp1257",
        "cp850",
        "mac_roman",
        "cp1251",
        "koi8-r",
        "cp1253",
        "cp1255",
        "cp1256",
    ]


@pytest.mark.parametrize("encoding", one_byte())
def test_different_bytes_are_different_characters(encoding: str) -> None:
    characters = [bytes([byte]).decode(encoding, errors="ignore") for byte in range(256)]
    known = [character for character in characters if character]
    assert len(set(known)) == len(known)
