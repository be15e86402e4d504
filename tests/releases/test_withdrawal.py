"""Withdrawn releases are marked for everyone to see, and forged or malformed marks are reported."""

from __future__ import annotations

import json
import shutil
import subprocess
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import peerveil as pv
from cli.test_cli import Run, run
from peerveil.releases.signatures import sign
from peerveil.releases.withdrawal import MARK, MARK_SIGNATURE, Withdrawal, withdraw

__all__ = ["run"]  # a fixture

WEIGHTS = pv.PublicWeights.from_rows([[3, 5], [4, 4], [8, 6]], load=2, quantity="ratings")
PUBLIC = "paper,ratings\np,3;5\nq,4;4\nr,8;6\n"
REASON = "It was <last> year's file & wrong."
Change = Callable[[Path], object]


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    release = pv.refine([3.0, 6.0, 5.0], WEIGHTS, mechanism=pv.Laplace(scale=1.0))
    return release.save(tmp_path_factory.mktemp("published") / "out")


@pytest.fixture
def folder(published: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(published, tmp_path / "out"))


@pytest.fixture
def bare(published: Path, tmp_path: Path) -> Path:
    """Without report and charts, which take long to compare."""
    return Path(shutil.copytree(published, tmp_path / "out", ignore=shutil.ignore_patterns("report.html", "figures")))


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("sshsig")
    keygen = shutil.which("ssh-keygen")
    if keygen is None:
        pytest.skip("ssh-keygen of OpenSSH is not installed")
    place = tmp_path_factory.mktemp("keys")
    for name in ("chair", "other"):
        subprocess.run([keygen, "-q", "-t", "ed25519", "-N", "", "-C", "someone", "-f", str(place / name)], check=True)
    return place


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_withdrawn_release_is_the_same_but_for_mark_and_notice(folder: Path, published: Path) -> None:
    mark = withdraw(folder, reason=REASON, superseded_by="https://conf.org/v2")
    before, after = contents(published), contents(folder)
    assert {name for name in after if after[name] != before.get(name)} == {MARK, "report.html"}
    assert Withdrawal.from_json(after[MARK].decode()) == mark
    page = after["report.html"].decode()
    assert "It was &lt;last&gt; year&#x27;s file &amp; wrong." in page
    assert page.replace(mark.banner, "") == before["report.html"].decode()
    found = pv.verify(folder, WEIGHTS)
    assert found.failed == ("withdrawal",)
    assert found.checks[0].name == "withdrawal"
    assert REASON in found.checks[0].found
    assert "https://conf.org/v2" in found.checks[0].found
    results = {check.name: check for check in found.checks}
    assert results["report.html"].found.endswith("; it shows the withdrawal")
    assert results["files"].result == "holds"


def test_a_later_mark_replaces_an_earlier_one(folder: Path, published: Path) -> None:
    withdraw(folder, reason="First.", superseded_by="a talk")
    mark = withdraw(folder, reason="Second.")
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "First." not in page
    assert page.replace(mark.banner, "") == (published / "report.html").read_text(encoding="utf-8")
    (folder / "report.html").write_bytes((published / "report.html").read_bytes())
    results = {check.name: check for check in pv.verify(folder, WEIGHTS).checks}
    assert results["report.html"].result == "holds"
    assert results["report.html"].found.endswith("; it does not show the withdrawal")


def test_a_notice_without_a_mark_is_a_changed_report(folder: Path) -> None:
    withdraw(folder, reason=REASON)
    (folder / MARK).unlink()
    assert pv.verify(folder, WEIGHTS).failed == ("report.html",)


def test_whoever_reads_a_withdrawn_release_is_warned(bare: Path, tmp_path: Path, run: Run) -> None:
    standing = Path(shutil.copytree(bare, tmp_path / "standing"))
    withdraw(bare, reason=REASON, superseded_by="https://conf.org/v2")
    with pytest.warns(pv.WithdrawalWarning) as caught:
        pv.Release.load(bare)
    (warning,) = caught
    assert REASON in str(warning.message)
    assert "https://conf.org/v2" in str(warning.message)
    assert warning.filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pv.Release.load(standing)
    result = run("compare", str(standing), str(bare))
    assert result.code == 0
    assert f"peerveil: warning: {bare / 'release.json'}: withdrawn by its publishers on" in result.err
    assert result.err.count(REASON) == 1
    (tmp_path / "public.csv").write_text(PUBLIC)
    refined = run(
        "refine", str(bare / "release.json"), "--public", str(tmp_path / "public.csv"), "-o", str(tmp_path / "refined")
    )
    pooled = run("pool", str(bare), "-o", str(tmp_path / "prior.json"))
    for done in (refined, pooled):
        assert REASON in done.err, done.err


def test_words_of_a_mark_that_may_be_forged_are_not_repeated(bare: Path) -> None:
    withdraw(bare, reason=REASON)
    rewritten(release="sha256:" + "0" * 64)(bare)
    with pytest.warns(pv.WithdrawalWarning, match="mark of another release.json") as caught:
        pv.Release.load(bare)
    assert REASON not in str(caught[0].message)


def rewritten(**fields: Any) -> Change:
    def change(folder: Path) -> None:
        document = json.loads((folder / MARK).read_text(encoding="utf-8"))
        (folder / MARK).write_text(json.dumps(document | fields), encoding="utf-8")

    return change


def replaced(text: bytes) -> Change:
    return lambda folder: (folder / MARK).write_bytes(text)


MALFORMED: dict[str, tuple[Change, str]] = {
    "empty": (replaced(b""), "must be a JSON object with the keys"),
    "list": (replaced(b"[1]"), "must be a JSON object with the keys"),
    "deep": (replaced(b"[" * 10_000), "must be a JSON object with the keys"),
    "binary": (replaced(b"\xff\xfe"), "not UTF-8"),
    "long": (replaced(b" " * 30_000), "too long"),
    "twice": (replaced(b'{"reason": "a", "reason": "b"}'), "occurs twice"),
    "more keys": (rewritten(more=1), "must be a JSON object with the keys"),
    "number": (rewritten(reason=7), "must be texts"),
    "nothing": (rewritten(reason=None), "must be texts"),
    "blank": (rewritten(reason=" "), "reason must be 1 to 2000 printable characters"),
    "escape": (rewritten(reason="\x1b[2J"), "reason must be 1 to 2000 printable characters"),
    "time": (rewritten(withdrawn="yesterday"), "withdrawn is not a valid timestamp"),
    "digest": (rewritten(release="sha256:0"), "release must be the SHA-256 digest"),
    "other release": (rewritten(release="sha256:" + "0" * 64), "the mark of another release.json"),
    "software": (rewritten(software="x" * 101), "software must be"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_marks_are_reported(name: str, bare: Path) -> None:
    change, problem = MALFORMED[name]
    withdraw(bare, reason=REASON)
    change(bare)
    found = pv.verify(bare, WEIGHTS)
    assert found.checks[0].name == found.failed[0] == "withdrawal"
    assert problem in found.checks[0].found
    assert REASON not in found.checks[0].found


def test_a_folder_in_place_of_a_mark_is_no_mark(bare: Path) -> None:
    (bare / MARK).mkdir()
    assert pv.verify(bare, WEIGHTS).verified


def test_the_mark_of_a_signed_release_is_signed_by_the_same_key(bare: Path, keys: Path) -> None:
    sign(bare, keys / "chair")
    before = contents(bare)
    with pytest.raises(pv.InputError, match="the release is signed: name the key"):
        withdraw(bare, reason=REASON)
    with pytest.raises(pv.InputError, match="key is not the key that signed the release"):
        withdraw(bare, reason=REASON, key=keys / "other")
    assert contents(bare) == before
    withdraw(bare, reason=REASON, key=keys / "chair")
    found = pv.verify(bare, WEIGHTS, signed_by=keys / "chair.pub")
    assert found.failed == ("withdrawal",)
    assert REASON in found.checks[0].found
    assert "as is the release)" in found.checks[0].found
    assert found.checks[-1].result == "holds"  # the signature of release.json is untouched


def unsigned(folder: Path, _: Path) -> None:
    (folder / MARK_SIGNATURE).unlink()


def signed_by_another(folder: Path, keys: Path) -> None:
    other = Path(shutil.copytree(folder, folder.with_name("copy")))
    (other / "release.json.sig").unlink()
    withdraw(other, reason="Forged.", key=keys / "other")
    for name in (MARK, MARK_SIGNATURE):
        shutil.copy(other / name, folder / name)


def signed_for_another_purpose(folder: Path, _: Path) -> None:
    shutil.copy(folder / "release.json.sig", folder / MARK_SIGNATURE)


def changed(folder: Path, _: Path) -> None:
    rewritten(reason="Forged.")(folder)


@pytest.mark.parametrize("forge", [unsigned, signed_by_another, signed_for_another_purpose, changed])
def test_forged_marks_are_reported(forge: Callable[[Path, Path], None], bare: Path, keys: Path) -> None:
    sign(bare, keys / "chair")
    withdraw(bare, reason="Wrong.", key=keys / "chair")
    forge(bare, keys)
    found = pv.verify(bare, WEIGHTS, signed_by=keys / "chair.pub").checks[0]
    assert (found.name, found.result) == ("withdrawal", "fails")
    assert "is not signed by the key that signed the release" in found.found
    assert "Forged" not in found.found


def test_the_command_tells_that_budgets_stay_spent(run: Run, bare: Path, tmp_path: Path) -> None:
    (tmp_path / "public.csv").write_text(PUBLIC)
    assert run("verify", "out", "--public", "public.csv").code == 0
    done = run("withdraw", "out", "--reason", REASON)
    assert done.code == 0, done.err
    assert "The privacy budget stays spent" in done.out
    checked = run("verify", "out", "--public", "public.csv", "--json")
    assert checked.code == 1
    document = json.loads(checked.out)
    assert document["verified"] is False
    assert document["checks"][0]["name"] == "withdrawal"
    (tmp_path / "public.csv").write_text(PUBLIC.replace("8;6", "8;6;7"))
    assert json.loads(run("verify", "out", "--public", "public.csv", "--json").out)["checks"][0]["name"] == "withdrawal"
    assert run("withdraw", "nowhere", "--reason", REASON).code == 2
    assert run("withdraw", "out", "--reason", "\n").code == 2


def test_a_new_release_in_the_folder_has_no_mark(bare: Path) -> None:
    release = pv.Release.load(bare)
    withdraw(bare, reason=REASON)
    release.save(bare, overwrite=True, report=False)
    assert not (bare / MARK).exists()
    assert pv.verify(bare, WEIGHTS).verified
