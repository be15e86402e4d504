"""Signatures: those of the chair's key over the very file hold, and no others."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import peerveil as pv
from cli.test_cli import Run, run
from forging import Base, conference, made
from peerveil.releases.documents import document_digest
from peerveil.releases.signatures import NAMESPACE, SIGNATURE, key_type, sign, trusted_keys

__all__ = ["run"]  # a fixture

KEYGEN = shutil.which("ssh-keygen") or ""

pytestmark = pytest.mark.skipif(not KEYGEN, reason="ssh-keygen of OpenSSH is not installed")


@pytest.fixture
def sshsig() -> Any:
    return pytest.importorskip("sshsig", reason="sshsig is not installed: pip install 'peerveil[sign]'")


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("keys")
    for name, kind in (("chair", "ed25519"), ("other", "ed25519"), ("long", "rsa"), ("curve", "ecdsa")):
        subprocess.run([KEYGEN, "-q", "-t", kind, "-N", "", "-C", "someone", "-f", str(folder / name)], check=True)
    return folder


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Base:
    release, weights = made(conference(12, 5), "laplace")
    folder = release.save(tmp_path_factory.mktemp("signed") / "out", report=False)
    return Base(name="laplace", folder=folder, weights=weights)


@pytest.fixture
def signed(base: Base, keys: Path, tmp_path: Path, sshsig: Any) -> Path:
    folder = Path(shutil.copytree(base.folder, tmp_path / "signed"))
    sign(folder, keys / "chair")
    return folder


def signature_of(found: pv.Verification) -> tuple[str, str]:
    check = found.checks[-1]
    assert check.name == "signature"
    return check.result, check.found


def test_a_signature_holds_for_its_key(signed: Path, base: Base, keys: Path) -> None:
    verification = pv.verify(signed, base.weights, signed_by=keys / "chair.pub")
    assert verification
    result, words = signature_of(verification)
    shown = subprocess.run([KEYGEN, "-lf", str(keys / "chair.pub")], capture_output=True, text=True, check=True).stdout
    assert result == "holds"
    assert shown.split()[1] in words


def test_openssh_itself_accepts_it(signed: Path, keys: Path) -> None:
    allowed = keys / "openssh_allowed"
    allowed.write_text(f"chair@example.org {(keys / 'chair.pub').read_text()}")
    command = [KEYGEN, "-Y", "verify", "-f", str(allowed), "-I", "chair@example.org", "-n", NAMESPACE]
    with (signed / "release.json").open("rb") as contents:
        subprocess.run([*command, "-s", str(signed / SIGNATURE)], stdin=contents, check=True, capture_output=True)


def test_long_keys_and_files_of_allowed_signers(base: Base, keys: Path, tmp_path: Path, sshsig: Any) -> None:
    folder = Path(shutil.copytree(base.folder, tmp_path / "signed"))
    sign(folder / "release.json", keys / "long")
    sign(folder, keys / "long")  # again: the older signature is replaced
    allowed = tmp_path / "allowed_signers"
    chair, long = ((keys / f"{name}.pub").read_text().strip() for name in ("chair", "long"))
    allowed.write_text(f'# chairs\n* {chair}\n\nx@example.org namespaces="git,peerveil-*" {long}\n')
    assert len(trusted_keys(allowed)) == 2
    assert pv.verify(folder, base.weights, signed_by=allowed)
    allowed.write_text(f'* {chair}\nx@example.org namespaces="git" {long}\n')
    assert pv.verify(folder, base.weights, signed_by=allowed).failed == ("signature",)


def test_without_a_key_to_trust_nothing_is_said_of_the_author(signed: Path, base: Base) -> None:
    verification = pv.verify(signed, base.weights)
    result, words = signature_of(verification)
    assert verification
    assert result == "not checked"
    assert "SHA256:" in words
    assert signature_of(pv.verify(base.folder, base.weights)) == ("not checked", "unsigned: authorship not checked")


def forge(document: dict[str, Any], **changes: Any) -> str:
    document |= changes
    document["digest"] = document_digest(document)
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


@pytest.mark.promise("P-THREAT-1")
@pytest.mark.slow
def test_consistent_inventions_are_refused_where_a_signature_is_asked_for(
    signed: Path, base: Base, keys: Path, tmp_path: Path
) -> None:
    """Each of these is a folder that Peerveil could have written, so without a signature all are accepted."""
    document, release = base.document, base.release()
    noise = np.random.default_rng(9).laplace(0, release.mechanism["scale"], release.reviewers)
    invented = pv.refine(
        np.sort(np.linspace(3, 8, release.reviewers)) + noise,
        base.weights,
        mechanism=pv.Laplace(scale=release.mechanism["scale"]),
    )
    invented = replace(invented, guarantee=release.guarantee, public=release.public)
    texts = {
        "invented": invented.to_json(),
        "later": replace(release, created=release.created - timedelta(days=400)).to_json(),
        "licence": forge(base.document, licence="CC0-1.0"),
        "citation": forge(base.document, citation="Somebody else, 2026."),
        "charge": forge(base.document, charge="0123456789abcdef"),
        "note": forge(base.document, notes=[*document["notes"], "Certified."]),
        "spaces": json.dumps(document),
    }
    for name, text in texts.items():
        folder = Path(shutil.copytree(signed, tmp_path / name))
        (folder / "release.json").write_text(text, encoding="utf-8")
        pv.Release.load(folder).save(tmp_path / "again", report=False, overwrite=True)
        shutil.copy(tmp_path / "again" / "release.csv", folder)
        assert "signature" in pv.verify(folder, base.weights, signed_by=keys / "chair.pub").failed, name
        assert "signature" in pv.verify(folder, base.weights).failed, name  # nor does the signature fit without a key
        (folder / SIGNATURE).unlink()
        assert "signature" in pv.verify(folder, base.weights, signed_by=keys / "chair.pub").failed, name
        assert pv.verify(folder, base.weights), name


@pytest.mark.promise("P-THREAT-1")
def test_signatures_of_others_or_for_others_are_refused(signed: Path, base: Base, keys: Path) -> None:
    good = (signed / SIGNATURE).read_bytes()
    file = signed / "release.json"

    def by_openssh(key: str, namespace: str, contents: bytes) -> bytes:
        command = [KEYGEN, "-q", "-Y", "sign", "-n", namespace, "-f", str(keys / key)]
        return subprocess.run(command, input=contents, capture_output=True, check=True).stdout

    bad = {
        "another key": by_openssh("other", NAMESPACE, file.read_bytes()),
        "another purpose": by_openssh("chair", "git", file.read_bytes()),
        "another file": by_openssh("chair", NAMESPACE, file.read_bytes() + b" "),
        "a kind of key that is not known": by_openssh("curve", NAMESPACE, file.read_bytes()),
        "cut": good[: len(good) // 2],
        "empty": b"",
        "no text": b"\xff\xfe\x00",
        "endless": b"-" * 200_000,
        "one letter": good.replace(b"A", b"B", 1),
    }
    for name, signature in bad.items():
        (signed / SIGNATURE).write_bytes(signature)
        found = pv.verify(signed, base.weights, signed_by=keys / "chair.pub")
        assert found.failed == ("signature",), name
        assert not any("internal" in check.found for check in found.checks), name


def test_what_cannot_be_used_is_an_error(base: Base, keys: Path, tmp_path: Path, sshsig: Any) -> None:
    folder = Path(shutil.copytree(base.folder, tmp_path / "out"))
    (tmp_path / "words").write_text("not a key\n")
    for file, words in (("chair", "private key"), ("curve.pub", "neither Ed25519 nor RSA")):
        with pytest.raises(pv.FileError, match=words):
            pv.verify(folder, base.weights, signed_by=keys / file)
    for unusable in (tmp_path / "words", tmp_path / "absent"):
        with pytest.raises(pv.FileError):
            pv.verify(folder, base.weights, signed_by=unusable)
        with pytest.raises(pv.FileError):
            sign(folder, unusable)
    with pytest.raises(
        pv.FileError, match=r"curve: is a key of type ecdsa-sha2-nistp\d+, .* \(ssh-keygen -t ed25519 makes"
    ):
        sign(folder, keys / "curve")
    with pytest.raises(pv.FileError, match="cannot be read"):
        sign(tmp_path / "absent", keys / "chair")
    with pytest.raises(pv.InputError, match="folder"):
        pv.verify(base.release(), base.weights, signed_by=keys / "chair.pub")
    assert not (folder / SIGNATURE).exists()


def test_the_command_line(run: Run, base: Base, keys: Path, tmp_path: Path, sshsig: Any) -> None:
    reviews = conference(12, 5)
    rows = [
        f"{paper},{';'.join(map(str, row))}"
        for paper, row in zip(reviews.papers, reviews.public("all").rows(), strict=True)
    ]
    (tmp_path / "public.csv").write_text("\n".join(["paper,ratings", *rows]))
    folder = shutil.copytree(base.folder, tmp_path / "out")
    check = ("verify", str(folder), "--public", "public.csv", "--score-scale", "1,10")
    assert run(*check, "--signed-by", str(keys / "chair.pub")).code == 1
    assert "unsigned: authorship not checked" in run(*check).out
    made = run("sign", str(folder), "--key", str(keys / "chair"))
    assert made.code == 0
    assert "SHA256:" in made.out
    assert run(*check, "--signed-by", str(keys / "chair.pub")).code == 0
    assert run(*check, "--signed-by", str(keys / "other.pub")).code == 1
    assert run(*check, "--signed-by", "absent").code == 2
    assert run("sign", str(folder), "--key", "absent").code == 2


def test_without_the_package_the_remedy_is_told(
    base: Base, keys: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sshsig", None)
    for attempt in (
        lambda: sign(base.folder, keys / "chair"),
        lambda: pv.verify(base.folder, base.weights, signed_by=keys / "chair.pub"),
    ):
        with pytest.raises(pv.InputError, match=r"pip install 'peerveil\[sign\]'"):
            attempt()
    folder = Path(shutil.copytree(base.folder, tmp_path / "out"))
    (folder / SIGNATURE).write_text("a signature")
    result, words = signature_of(pv.verify(folder, base.weights))
    assert result == "not checked"
    assert "peerveil[sign]" in words


def test_without_openssh_the_remedy_is_told(
    base: Base, keys: Path, sshsig: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("peerveil.releases.signatures.shutil.which", lambda _: None)
    with pytest.raises(pv.InputError, match="install OpenSSH"):
        sign(base.folder, keys / "chair")


class TestReplacing:
    def test_a_signed_release_is_replaced_like_another_if_asked_for(self, signed: Path, base: Base) -> None:
        with pytest.raises(pv.OutputError, match="already holds files"):
            base.release().save(signed, report=False)
        assert (signed / SIGNATURE).exists()
        base.release().save(signed, report=False, overwrite=True)
        assert not (signed / SIGNATURE).exists()
        assert pv.verify(signed, base.weights)

    def test_beside_a_file_of_others_it_is_kept(self, signed: Path, base: Base) -> None:
        (signed / "release.json.sig.old").write_text("by the chairs")
        with pytest.raises(pv.OutputError, match=r"does not write there \(1\)"):
            base.release().save(signed, report=False, overwrite=True)
        assert (signed / SIGNATURE).exists()

    @pytest.mark.parametrize("tracks", [False, True])
    def test_the_command_says_that_the_signature_is_gone(
        self, run: Run, keys: Path, tmp_path: Path, tracks: bool, sshsig: Any
    ) -> None:
        rows = [f"p{i},r{(i + k) % 6},{1 + (i * k) % 5},track {i % 2}" for i in range(12) for k in range(2)]
        (tmp_path / "reviews.csv").write_text("\n".join(["paper,reviewer,score,track", *rows]) + "\n")
        out = tmp_path / "out"
        command = ["release", str(tmp_path / "reviews.csv"), "--public", "all", "--noise-scale", "1", "--no-report"]
        command += ["-o", str(out), *(["--group-column", "track"] if tracks else [])]
        assert run(*command).code == 0
        places = [out / "track-0", out / "track-1"] if tracks else [out]
        for place in places:
            sign(place, keys / "chair")
        assert run(*command).code == 2
        assert all((place / SIGNATURE).exists() for place in places)
        shown = run(*command, "--overwrite")
        assert shown.code == 0, shown
        assert ("2 signatures were removed" if tracks else "the signature of the replaced release was") in shown.err
        assert not any((place / SIGNATURE).exists() for place in places)
        assert "signature" not in run(*command, "--overwrite").err


def test_the_type_of_a_key_is_told_from_its_signature(keys: Path) -> None:
    for name, kind in (("chair", "ssh-ed25519"), ("long", "ssh-rsa"), ("curve", "ecdsa-sha2-nistp256")):
        command = [KEYGEN, "-q", "-Y", "sign", "-n", NAMESPACE, "-f", str(keys / name)]
        made_by = subprocess.run(command, input=b"words", capture_output=True, check=True).stdout
        assert key_type(made_by) == kind
        assert key_type(made_by[:60]) == "unknown"
    assert key_type(b"") == "unknown"
