"""Spoilt exports: mutations of every format, and what becomes of them in a process of its own.

A file must give reviews (or public scores), or an error that names the file and nobody. Anything else is a failure:
other exceptions, a process that dies, more memory than ten times the file, more than a few seconds of a core.
"""

from __future__ import annotations

import copy
import gzip
import io
import json
import os
import random
import subprocess
import sys
import tempfile
import tracemalloc
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, get_args

import numpy as np

import peerveil as pv
from peerveil.private.inspection import inspect
from peerveil.private.readers import read
from peerveil.record.criteria import MissingCriteria
from peerveil.record.public_files import read_public
from peerveil.simulation.conferences import Conference, synthetic_conference
from peerveil.simulation.exports import KINDS, PRIVATE, Cast, Style, export

sys.path.append(str(Path(__file__).parents[1] / "tests"))  # their makers of workbooks
from spreadsheets import by_odfpy, by_openpyxl, by_xlsxwriter, by_xlwt

#: Workbooks: made by three libraries, spoilt as bytes and in the files packed in them.
WORKBOOKS = ("xlsx", "xls", "ods")
FORMATS = (*KINDS, "parquet", *WORKBOOKS)
#: Part of every reviewer's name and address; no message may hold it.
SECRET = "zyxwvut"
#: What small files may take beyond ten times their size: buffers, and modules that are loaded on first use.
FREE = 2**21
SLOW = 5.0
CRITERIA = ("soundness", "clarity")

TOKENS = [
    *(
        b'"',
        b"'",
        b",",
        b";",
        b"\t",
        b"\n",
        b"\r",
        b"\r\n",
        b"\0",
        b"{",
        b"}",
        b"[",
        b"]",
        b":",
        b"<",
        b">",
        b"&",
        b"|",
    ),
    *(b"NaN", b"Infinity", b"-0", b"1e999", b"1" * 5000, b"null", b"true", b"false", b"[]", b"{}", b'""', b"?", b"-"),
    *(
        b"\xff",
        b"\xef\xbb\xbf",
        b"\xff\xfe",
        b"\\ud800",
        b"\\u0000",
        "\u2028\u0130\u00df".encode(),
        "\U0001f600".encode(),
    ),
    *(
        b"<!DOCTYPE a>",
        b'<!DOCTYPE a [<!ENTITY b "c">]>',
        b"&b;",
        b"<![CDATA[",
        b"<!--",
        b'ss:Index="99999999"',
        b"</Row>",
        b'<c r="XFD1048576"><v>1</v></c>',
        b'r="A0"',
        b'r="ZZZ99999999"',
        b't="s"',
        b't="e"',
        b"<f>A1</f>",
        b'<mergeCell ref="A1:XFD1048576"/>',
        b'table:number-rows-repeated="1048576"',
        b'table:number-columns-repeated="999999999"',
    ),
    *(b"Paper ID", b"email", b"score", b"rating", b"members", b"signatures", b"reviews", b"7,5", b"8: accept", b"=1+1"),
]
VALUES: list[Any] = [
    None,
    True,
    0,
    -1,
    1.5,
    10**400,
    "",
    "x",
    "8: accept",
    "\ud800",
    [],
    {},
    [[]],
    [None],
    {"value": None},
]
VALUES += [{"a": {"b": [1, {"c": 2}]}}, "long " * 2000, float("nan"), ["a", 1], {"members": [None]}, 1e308]


def original(kind: str, rng: random.Random) -> bytes:
    """One of a few small exports that hold the secret."""
    return _made(kind, rng.randrange(12))


@cache
def _made(kind: str, number: int) -> bytes:
    rng = random.Random(number)
    conference = synthetic_conference(
        reviewers=rng.choice([4, 6, 12]),
        load=3,
        reviews_per_paper=3,
        criteria=CRITERIA,
        rng=np.random.default_rng(rng.randrange(10**6)),
    )
    count = int(conference.reviewer.max()) + 1
    cast = Cast(
        names=[f"{SECRET.title()} Number{j}" for j in range(count)],
        emails=[f"{SECRET}{j}@example.org" for j in range(count)],
        members=Cast.invent(conference).members,
    )
    if kind == "parquet":
        return _parquet(conference, cast)
    if kind in WORKBOOKS:
        return _workbook(kind, conference, cast, rng)
    style = Style(
        separator=rng.choice(",,;\t"),
        newline=rng.choice(["\n", "\r\n"]),
        mark=rng.random() < 0.1,
        comma=rng.random() < 0.1,
    )
    return export(conference, kind, cast=cast, style=style)[1]


def _parquet(conference: Conference, cast: Cast) -> bytes:
    import polars as pl  # noqa: PLC0415

    buffer = io.BytesIO()
    people = [cast.emails[a] for a in conference.reviewer.tolist()]
    columns = {"paper": conference.paper, "reviewer": people, "score": conference.score, **conference.criteria}
    pl.DataFrame(columns).write_parquet(buffer)
    return buffer.getvalue()


def _workbook(kind: str, conference: Conference, cast: Cast, rng: random.Random) -> bytes:
    rows: list[list[Any]] = [[f"Reviews by {SECRET}"], []] if rng.random() < 0.3 else []
    rows.append(["Paper", "Email", "Score", *conference.criteria])
    grades = zip(*(grade.tolist() for grade in conference.criteria.values()), strict=True)
    people = (cast.emails[a] for a in conference.reviewer.tolist())
    columns = zip(conference.paper.tolist(), people, conference.score.tolist(), grades, strict=True)
    rows += ([paper, person, score, *more] for paper, person, score, more in columns)
    sheets = {"Reviews": rows} if rng.random() < 0.5 else {"Notes": [[SECRET]], "Reviews": rows}
    makers = {"xlsx": rng.choice([by_openpyxl, by_xlsxwriter]), "xls": by_xlwt, "ods": by_odfpy}
    with tempfile.TemporaryDirectory() as folder:
        return makers[kind](Path(folder) / f"a.{kind}", sheets).read_bytes()


def mutate(data: bytes, rng: random.Random) -> bytes:
    """Spoil a file in one to four ways."""
    if data.startswith(b"PK") and rng.random() < 0.8:
        return _inside(data, rng)
    if data.lstrip(b"\xef\xbb\xbf")[:1] in (b"{", b"[") and rng.random() < 0.5:
        with suppress(ValueError):  # a member of an archive may be no JSON any more
            return _spoil_json(data, rng)
    for _ in range(rng.randint(1, 4)):
        data = rng.choice(WAYS)(data, rng)
    if rng.random() < 0.05:
        data = gzip.compress(data, mtime=0)
        if rng.random() < 0.5:
            data = rng.choice(WAYS)(data, rng)
    return data


def _inside(data: bytes, rng: random.Random) -> bytes:
    """Spoil what a zip holds, and pack it again."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    for _ in range(rng.randint(1, 3)):
        name = rng.choice(list(members) + [name for name in members if "sheet" in name or "content" in name] * 3)
        way = rng.random()
        if way < 0.1 and len(members) > 1:
            del members[name]
        elif way < 0.2:
            members[rng.choice(list(members))] = members[name]
        else:
            members[name] = mutate(members[name], rng)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, inner in members.items():
            archive.writestr(name, inner)
    return buffer.getvalue()


def _place(data: bytes, rng: random.Random) -> tuple[int, int]:
    start = rng.randrange(len(data) + 1)
    return start, min(len(data), start + rng.choice([1, 2, 5, 20, 200]))


def _flip(data: bytes, rng: random.Random) -> bytes:
    spoilt = bytearray(data)
    for _ in range(rng.randint(1, 8)):
        if spoilt:
            spoilt[rng.randrange(len(spoilt))] = rng.randrange(256)
    return bytes(spoilt)


def _cut(data: bytes, rng: random.Random) -> bytes:
    start, end = _place(data, rng)
    return data[:start] + data[end:]


def _insert(data: bytes, rng: random.Random) -> bytes:
    start, _ = _place(data, rng)
    return data[:start] + rng.choice(TOKENS) * rng.choice([1, 1, 1, 3, 50]) + data[start:]


def _replace(data: bytes, rng: random.Random) -> bytes:
    start, end = _place(data, rng)
    return data[:start] + rng.choice(TOKENS) + data[end:]


def _repeat(data: bytes, rng: random.Random) -> bytes:
    start, end = _place(data, rng)
    return data[:start] + data[start:end] * rng.choice([2, 3, 100]) + data[end:]


def _truncate(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _lines(data: bytes, rng: random.Random) -> bytes:
    lines = data.split(b"\n")
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[i], lines[j] = lines[j], rng.choice([lines[i], lines[j], b""])
    return b"\n".join(lines)


def _swap_token(data: bytes, rng: random.Random) -> bytes:
    """Put one token wherever another one stands."""
    old = rng.choice(
        [b",", b'"', b"\n", b":", b"4", b"email", b"Email", b"@example.org", b"score", b"rating", b"<Cell>", b"id"]
    )
    return data.replace(old, rng.choice(TOKENS), rng.choice([1, 5, -1]))


def _splice(data: bytes, rng: random.Random) -> bytes:
    other = original(rng.choice([kind for kind in FORMATS if kind not in ("parquet", *WORKBOOKS)]), rng)
    start, _ = _place(data, rng)
    return data[:start] + other[rng.randrange(len(other)) :]


WAYS: list[Callable[[bytes, random.Random], bytes]] = [
    *(_flip, _cut, _insert, _replace, _repeat, _truncate, _lines, _swap_token, _splice, _insert, _replace, _lines)
]


def _spoil_json(data: bytes, rng: random.Random) -> bytes:
    """Put other values into a JSON tree, which stays well-formed."""
    tree = json.loads(data.decode("utf-8-sig"))
    for _ in range(rng.randint(1, 4)):
        node, depth = tree, rng.randint(1, 7)
        for step in range(depth):
            key = rng.choice(list(node) if isinstance(node, dict) else list(range(len(node))) or [None])
            if key is None:
                break
            if step == depth - 1 or not isinstance(node[key], dict | list) or not node[key]:
                if rng.random() < 0.2:
                    del node[key]
                else:
                    node[key] = copy.deepcopy(rng.choice(VALUES))
                break
            node = node[key]
        if not isinstance(tree, dict | list) or not tree:
            break
    return json.dumps(tree, ensure_ascii=rng.random() < 0.5).encode("utf-8", errors="replace")


def attempt(path: Path, kind: str, rng: random.Random) -> object:
    """Read a file in one of the ways a user may."""
    person = rng.choice([None, "member", "subreviewer"])
    way = rng.random()
    criteria = rng.choice([(), CRITERIA])
    if way < 0.15:
        return inspect(path, person=person, scale=rng.choice([None, (1, 10)]), criteria=criteria)
    if kind in PRIVATE or kind in ("parquet", *WORKBOOKS):
        if way < 0.25 and kind in WORKBOOKS:
            return read(path, sheet=rng.choice(["Reviews", "Notes", "x"]))
        forced = kind.partition("-")[0] if way < 0.4 and kind not in ("table", "parquet", *WORKBOOKS) else None
        symbols, missing = rng.choice([None, None, None, "1<2<3<4<5"]), rng.choice(get_args(MissingCriteria))
        return read(path, person=person, format=forced, symbols=symbols, criteria=criteria, missing_criteria=missing)
    forced, missing = None, rng.choice(get_args(MissingCriteria))
    if way < 0.4 and kind in ("paperlists", "peerread"):
        forced = kind
    few = {"loads": (1, 1000), "reviewers": rng.choice([4, 6, 12])}
    loads: dict[str, Any] = rng.choice([{"load": 3}, {"load": 1}, few])
    scale = rng.choice([None, (1, 10), (0, 1e9)])
    return read_public(path, format=forced, criteria=criteria, missing_criteria=missing, scale=scale, **loads)


def check(data: bytes, kind: str, path: Path, rng: random.Random) -> tuple[str, float, float]:
    """What becomes of a file: ``"read"``, ``"refused"`` or what went wrong; the memory over its size; the seconds."""
    path.write_bytes(data)
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    start = _seconds()
    warnings.simplefilter("ignore", pv.FileWarning)
    try:
        shown = str(attempt(path, kind, rng))
        outcome = "read"
    except pv.FileError as error:
        shown = str(error)
        outcome = "refused" if shown.startswith(str(path)) else f"an error without a location: {shown[:200]}"
        if error.__context__ is not None:  # it would hold what was read
            outcome = f"an error that hangs on to another: {type(error.__context__).__name__}"
    except BaseException as error:  # noqa: BLE001 - a failure, whatever it is
        shown, outcome = "", f"{type(error).__name__}: {str(error)[:200]}"
    seconds = _seconds() - start
    taken = tracemalloc.get_traced_memory()[1] - before
    size = max(len(data), _unpacked(data))
    if SECRET in shown.lower() and not isinstance(shown, dict):
        outcome = "an identity is shown"
    if taken > FREE + 10 * size:
        outcome = f"memory: {taken} bytes for {size}"
    if seconds > SLOW:
        outcome = f"time: {seconds:.1f} s"
    return outcome, max(0.0, taken - FREE) / max(1, size), seconds


def _seconds() -> float:
    """Seconds of a core that this process and those it has ended have used: the machine may have other things to do."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def _unpacked(data: bytes) -> int:
    try:
        if data.startswith(b"\x1f\x8b"):
            return len(gzip.decompress(data))
        if data.startswith(b"PK"):
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                return sum(member.file_size for member in archive.infolist() if member.file_size < 10**8)
    except Exception:  # noqa: BLE001 - it is spoilt
        return 0
    return 0


def fuzz(kind: str, count: int, seed: int) -> dict[str, Any]:
    """Spoil and read many files of a kind, in this process."""
    outcomes: Counter[str] = Counter()
    failures: list[str] = []
    memory = seconds = 0.0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        whole = random.Random(f"{kind} {seed}")
        check(original(kind, whole), kind, path, whole)  # loads what this kind needs, which must not count
        for number in range(count):
            rng = random.Random(f"{kind} {seed} {number}")
            outcome, ratio, taken = check(mutate(original(kind, rng), rng), kind, path, rng)
            memory, seconds = max(memory, ratio), max(seconds, taken)
            outcomes[outcome if outcome in ("read", "refused") else "failed"] += 1
            if outcome not in ("read", "refused"):
                failures.append(f"{kind} {seed} {number}: {outcome}")
    return {"kind": kind, "outcomes": dict(outcomes), "failures": failures, "memory": memory, "seconds": seconds}


def fuzz_apart(kinds: Sequence[str], count: int, seed: int) -> list[dict[str, Any]]:
    """The same for each of some kinds, in a process of its own; if it dies, that is a failure."""
    command = [sys.executable, __file__, ",".join(kinds), str(count), str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    for kind in kinds[len(found) :]:
        dead = f"{kind} {seed}: died with {done.returncode}: {done.stderr[-500:]}"
        found.append({"kind": kind, "outcomes": {"failed": 1}, "failures": [dead], "memory": 0.0, "seconds": 0.0})
    return found


if __name__ == "__main__":
    tracemalloc.start()
    for kind in sys.argv[1].split(","):
        print(json.dumps(fuzz(kind, int(sys.argv[2]), int(sys.argv[3]))), flush=True)
