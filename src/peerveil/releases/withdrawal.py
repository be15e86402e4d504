"""Withdrawal of a published release: a mark in its folder, which leaves release.json and its signature as they are."""

from __future__ import annotations

import hashlib
import json
import os
import re
import warnings
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from html import escape
from pathlib import Path

from peerveil.errors import Argument, FileError, InputError, SignatureError, WithdrawalWarning
from peerveil.releases.checking.results import Check, RefusedError, checked, failed
from peerveil.releases.documents import parse_json
from peerveil.releases.signatures import make_signature, read_bytes, release_file, signature_beside, signer
from peerveil.support.atomic_files import replace_file
from peerveil.support.version import software

#: The mark of a withdrawn release, beside its release.json, and the signature of the mark.
MARK = "withdrawal.json"
MARK_SIGNATURE = f"{MARK}.sig"
MARKS = (MARK, MARK_SIGNATURE)

#: The namespace of signatures of marks.
NAMESPACE = "peerveil-withdrawal"

#: What a withdrawal does not undo.
SPENT = (
    "The privacy budget stays spent: what was published stays known to whoever has a copy, and a corrected release of "
    "the same reviews is charged as well."
)

#: The greatest length of a mark in bytes.
_LONGEST = 20_000

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_TIME = "%Y-%m-%dT%H:%M:%SZ"
_BODY = re.compile(r"<body[^>]*>\n?")
_BANNER = re.compile(r'<aside class="withdrawn".*?</aside>\n?', re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class Withdrawal:
    """The mark of a withdrawn release.

    Attributes:
        release: the SHA-256 digest of its release.json.
        withdrawn: time of the withdrawal in UTC.
        reason: why it was withdrawn, in the publishers' words.
        superseded_by: the address or citation of the release that replaces it, if there is one.
        software: the program that wrote the mark.

    >>> mark = Withdrawal(release="sha256:" + "0" * 64, withdrawn="2026-11-16T09:00:00Z", reason="Wrong year.")
    >>> mark.sentence
    'withdrawn by its publishers on 2026-11-16: Wrong year.'
    """

    release: str
    withdrawn: str
    reason: str
    superseded_by: str | None = None
    software: str = ""

    def __post_init__(self) -> None:
        if not _DIGEST.fullmatch(self.release):
            raise InputError("release must be the SHA-256 digest of a release.json")
        if not _is_time(self.withdrawn):
            raise InputError("withdrawn is not a valid timestamp")
        for name, example in (("reason", "The file was of last year."), ("superseded_by", "https://conf.org/v2")):
            words = getattr(self, name)
            if words is not None and not (words.strip() and words.isprintable() and len(words) <= 2000):
                raise InputError(Argument(name), f" must be 1 to 2000 printable characters, such as {example!r}")
        if not (self.software.isprintable() and len(self.software) <= 100):
            raise InputError("software must be the name and version of a program")

    @property
    def sentence(self) -> str:
        """The withdrawal in words."""
        instead = "" if self.superseded_by is None else f" Superseded by: {self.superseded_by}"
        return f"withdrawn by its publishers on {self.withdrawn[:10]}: {self.reason}{instead}"

    @property
    def banner(self) -> str:
        """The notice at the top of the report, as HTML."""
        instead = ""
        if self.superseded_by is not None:
            place = escape(self.superseded_by)
            link = f'<a href="{place}" style="color:inherit">{place}</a>'
            instead = f"<br>Superseded by: {link if place.startswith('https://') else place}"
        look = (
            "background:#fdecea;color:#7a0c07;border:3px solid #a3120b"  # legible in print, where backgrounds are lost
        )
        style = f"{look};padding:1rem 1.25rem;font:600 1rem/1.5 system-ui,sans-serif"
        words = f"This release was withdrawn on {self.withdrawn[:10]}.<br>{escape(self.reason)}{instead}"
        return f'<aside class="withdrawn" role="note" style="{style}">{words}</aside>\n'

    def to_json(self) -> str:
        """Return the text of the mark."""
        return json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Withdrawal:
        """Return the mark with this text; raises ``InputError`` if Peerveil does not write such a mark."""
        document = parse_json(text, name=MARK)
        names = set(cls.__dataclass_fields__)
        if not isinstance(document, dict) or set(document) != names:
            raise InputError(f"it must be a JSON object with the keys {', '.join(sorted(names))}")
        if not all(isinstance(document[name], str) for name in names - {"superseded_by"}) or not isinstance(
            document["superseded_by"], str | None
        ):
            raise InputError("its values must be texts")
        return cls(**document)


def withdraw(
    folder: str | os.PathLike[str],
    *,
    reason: str,
    superseded_by: str | None = None,
    key: str | os.PathLike[str] | None = None,
) -> Withdrawal:
    """Mark a published release as withdrawn, and return the mark. A later mark replaces an earlier one.

    Writes withdrawal.json, its signature if a key is given, and a notice at the top of report.html. release.json and
    its signature stay as they are.

    Args:
        folder: the release's folder, or its release.json.
        reason: why it is withdrawn; everyone can read it.
        superseded_by: the address or citation of the release that replaces it.
        key: the SSH key that signed the release; required if it is signed.
    """
    place = release_file(folder)
    contents = read_bytes(place)
    if place.name != "release.json":
        raise FileError("is not named release.json, which is the file that a release is published as", file=str(place))
    now = datetime.now(UTC).strftime(_TIME)
    mark = Withdrawal(
        release=_digest(contents), withdrawn=now, reason=reason, superseded_by=superseded_by, software=software()
    )
    text = mark.to_json().encode()
    signed_release = signature_beside(place)
    if signed_release is not None and key is None:
        raise InputError("the release is signed: name the key that signed it (", Argument("key", ...), ")")
    signature = None if key is None else make_signature(text, key, NAMESPACE)
    if signature and signed_release and signer(text, signature, NAMESPACE) != signer(contents, signed_release):
        raise InputError(Argument("key"), " is not the key that signed the release; nothing was changed")
    beside = place.with_name(MARK_SIGNATURE)
    if signature is None:
        beside.unlink(missing_ok=True)
    else:
        replace_file(beside, lambda stage: stage.write_bytes(signature))
    replace_file(place.with_name(MARK), lambda stage: stage.write_bytes(text))
    _mark_report(place.with_name("report.html"), mark)
    return mark


def withdrawal_checks(place: Path, contents: bytes) -> tuple[Check, ...]:
    """Return a check that fails if a release.json is marked as withdrawn, or badly marked; none without a mark."""

    def check() -> Check:
        return failed("withdrawal", _read(place, contents).sentence + _signed(place, contents))

    return (checked("withdrawal", check),) if _is_marked(place) else ()


def warn_if_withdrawn(place: Path) -> None:
    """Warn, in the words of ``verify``, if the release.json at a place is marked as withdrawn."""
    if _is_marked(place):
        for check in withdrawal_checks(place, read_bytes(place)):
            warnings.warn(WithdrawalWarning(f"{place}: {check.found}"), stacklevel=3)


def read_mark(place: Path, contents: bytes) -> Withdrawal | None:
    """Return the mark of a release.json; ``None`` if there is none, or none that is valid for these contents."""
    try:
        return _read(place, contents) if _is_marked(place) else None
    except (FileError, InputError, RefusedError):
        return None


def without_banner(page: str, mark: Withdrawal | None) -> tuple[str, str]:
    """Return a report without the notice of its withdrawal, and a remark if it should have one."""
    if mark is None:
        return page, ""
    if mark.banner not in page:
        return page, "; it does not show the withdrawal"
    return page.replace(mark.banner, "", 1), "; it shows the withdrawal"


def _is_marked(place: Path) -> bool:
    return place.name == "release.json" and place.with_name(MARK).is_file()


def _read(place: Path, contents: bytes) -> Withdrawal:
    file = place.with_name(MARK)
    if file.stat().st_size > _LONGEST:
        raise RefusedError(f"{MARK} is too long to be a mark that Peerveil writes; ask the publishers")
    problem = ""
    try:
        mark = Withdrawal.from_json(read_bytes(file).decode("utf-8"))
    except UnicodeError:
        problem = "it is not UTF-8 text"
    except (FileError, InputError) as error:
        problem = str(error)
    if problem:
        raise RefusedError(f"{MARK} is not a mark that Peerveil writes: {problem}; ask the publishers")
    if mark.release != _digest(contents):
        raise RefusedError(f"{MARK} is the mark of another release.json, or this one was changed; ask the publishers")
    return mark


def _signed(place: Path, contents: bytes) -> str:
    """Return who signed a mark, in words; refuses one that the signer of the release did not sign."""
    signed_release, file = signature_beside(place), place.with_name(MARK_SIGNATURE)
    if signed_release is None and not file.is_file():
        return " (unsigned, as is the release)"
    foreign = (
        f"{MARK} is not signed by the key that signed the release, so anyone may have written it; ask the publishers"
    )
    if not file.is_file():
        raise RefusedError(foreign)
    try:
        key = signer(read_bytes(place.with_name(MARK)), read_bytes(file), NAMESPACE)
        if signed_release is not None and key != signer(contents, signed_release):
            raise RefusedError(foreign)
    except SignatureError:
        raise RefusedError(foreign) from None
    except InputError as error:  # the package that checks signatures is not installed
        return f" (its signature was not checked: {error})"
    return f" (signed by the key {key.sha256_str()}{'' if signed_release is None else ', as is the release'})"


def _mark_report(report: Path, mark: Withdrawal) -> None:
    if not report.is_file():
        return
    page = read_bytes(report).decode("utf-8", errors="surrogateescape")
    marked = _BODY.sub(lambda body: body[0] + mark.banner, _BANNER.sub("", page, count=1), count=1)
    replace_file(report, lambda stage: stage.write_bytes(marked.encode("utf-8", errors="surrogateescape")))


def _is_time(text: str) -> bool:
    try:
        return datetime.strptime(text, _TIME).replace(tzinfo=UTC).strftime(_TIME) == text
    except ValueError:
        return False


def _digest(contents: bytes) -> str:
    return f"sha256:{hashlib.sha256(contents).hexdigest()}"
