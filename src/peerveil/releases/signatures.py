"""SSH signatures of a release: made by OpenSSH's ssh-keygen, checked by the package sshsig.

The signature is over the exact bytes of release.json. Everything else in the folder follows from that file, and
`verify` checks that it does, so the signature covers the folder. Peerveil never reads a private key.
"""

from __future__ import annotations

import base64
import os
import re
import shutil
import struct
import subprocess
import tempfile
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peerveil.errors import FileError, InputError, SignatureError, write_failure
from peerveil.tables.opening import cannot_read, file_to_read, read_text

if TYPE_CHECKING:
    from sshsig import PublicKey

#: What the signature is for: one made for another purpose does not count.
NAMESPACE = "peerveil-release"

#: The signature of release.json, beside it.
SIGNATURE = "release.json.sig"

#: The types of keys whose signatures can be checked.
CHECKED = ("ssh-ed25519", "ssh-rsa")

#: Where a signature names the type of its key: after a mark of 6 letters, a version and the length of the key.
_TYPE_AT = 14
_TYPE = re.compile(r"[a-z0-9@.-]{1,64}")

#: A signature is a few hundred bytes, one of a long RSA key a few thousand.
_LONGEST = 100_000


def sign(folder: str | os.PathLike[str], key: str | os.PathLike[str]) -> str:
    """Sign a release: writes ``release.json.sig`` beside its release.json; returns the fingerprint of the key.

    Args:
        folder: a release's folder, or its release.json.
        key: a private key of OpenSSH (Ed25519 or RSA), or a public key whose private one an SSH agent holds. ssh-keygen
            asks for its passphrase, if it has one.
    """
    _need_sshsig()
    program = shutil.which("ssh-keygen")
    if program is None:
        raise InputError("signing needs the program ssh-keygen of OpenSSH 8.0 or newer; install OpenSSH")
    place = release_file(folder)
    contents = read_bytes(place)
    holder = file_to_read(key)
    if not holder.is_file():
        raise FileError("cannot be read: there is no such key", file=str(holder))
    command = [program, "-q", "-Y", "sign", "-n", NAMESPACE, "-f", str(holder)]
    made = subprocess.run(command, input=contents, capture_output=True, check=False)  # noqa: S603 - no shell, a list
    if made.returncode:
        raise FileError("is no key that ssh-keygen can sign with, or its passphrase is wrong", file=str(holder))
    if (kind := key_type(made.stdout)) not in CHECKED:
        raise FileError(
            f"is a key of type {kind}, whose signatures nobody could check with verify; sign with an Ed25519 or RSA "
            "key (ssh-keygen -t ed25519 makes one)",
            file=str(holder),
        )
    fingerprint: str = signer(contents, made.stdout).sha256_str()
    _write_over(place.with_name(SIGNATURE), made.stdout)
    return fingerprint


def signer(contents: bytes, signature: bytes) -> PublicKey:
    """The public key that signed these contents.

    Raises:
        SignatureError: if the signature is not one of these contents for :data:`NAMESPACE`.
    """
    sshsig = _need_sshsig()
    problem = ""
    try:
        key: PublicKey = sshsig.check_signature(contents, signature, NAMESPACE)
    except NotImplementedError:
        problem = f"it is signed by a key of type {key_type(signature)}, whose signatures cannot be checked; sign with "
        problem += "an Ed25519 or RSA key"
    except Exception:  # noqa: BLE001 - whatever the file holds, it is no signature of these contents
        problem = f"the signature is not one of this release.json, made for {NAMESPACE!r}"
    else:
        return key
    raise SignatureError(problem)


def key_type(signature: bytes) -> str:
    """The type of the key that made a signature, as OpenSSH names it; "unknown" where the signature is none.

    >>> key_type(b"no signature")
    'unknown'
    """
    lines = [line for line in signature.split() if b"-" not in line and line not in (b"BEGIN", b"END", b"SSH")]
    try:
        blob = base64.b64decode(b"".join(lines), validate=True)
        (size,) = struct.unpack_from(">I", blob, _TYPE_AT)
        name = blob[_TYPE_AT + 4 : _TYPE_AT + 4 + size].decode("ascii")
    except (ValueError, struct.error):
        return "unknown"
    return name if blob.startswith(b"SSHSIG") and _TYPE.fullmatch(name) else "unknown"


def count_signatures(folder: str | os.PathLike[str]) -> int:
    """How many signed releases a folder holds: itself, or the folders in it."""
    place = Path(folder)
    if not place.is_dir():
        return 0
    return sum(file.is_file() for file in (*place.glob(SIGNATURE), *place.glob(f"*/{SIGNATURE}")))


def trusted_keys(path: str | os.PathLike[str]) -> list[PublicKey]:
    """The public keys of a file: an OpenSSH public key, or an allowed_signers file with those of several people.

    Raises:
        FileError: if the file holds no key, or one that cannot be used.
    """
    _need_sshsig()
    name, text = read_text(path)
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1)]
    if any("PRIVATE KEY" in line for _, line in lines[:1]):
        raise FileError("is a private key; give the public one, which ends in .pub", file=name)
    keys = [_key(line, number, name) for number, line in lines if line and not line.startswith("#")]
    found = [key for key in keys if key is not None]
    if not found:
        raise FileError(f"holds no public key for {NAMESPACE}; give an OpenSSH public key", file=name)
    return found


def _key(line: str, number: int, name: str) -> PublicKey | None:
    """The key in a line; ``None`` where the line is for signatures of other things."""
    from sshsig import PublicKey  # noqa: PLC0415 - an optional package
    from sshsig.allowed_signers import AllowedSigner  # noqa: PLC0415

    problem = "is not an OpenSSH public key, nor a line of an allowed_signers file"
    try:
        if line.startswith(("ssh-", "ecdsa-", "sk-")):
            return PublicKey.from_openssh_str(line)
        allowed = AllowedSigner.parse(line)
        options = {key.lower(): value for key, value in (allowed.options or {}).items()}
        meant = options.pop("namespaces", NAMESPACE)
        if not any(fnmatchcase(NAMESPACE, pattern.strip()) for pattern in meant.split(",")):
            return None
        if not options:
            return PublicKey.from_openssh_str(f"{allowed.key_type} {allowed.base64_key}")
        problem = f"has the option {min(options)!r}, which cannot be checked here; take the key into a file of its own"
    except NotImplementedError:
        problem = "holds a key that is neither Ed25519 nor RSA; other kinds cannot be checked"
    except Exception:  # noqa: BLE001, S110 - the parser raises many kinds, whose text holds the line
        pass
    raise FileError(problem, file=name, line=number)


def signature_beside(place: Path) -> bytes | None:
    """The signature beside a release.json; ``None`` where there is none."""
    file = place.with_name(SIGNATURE)
    if not file.is_file():
        return None
    if file.stat().st_size > _LONGEST:
        raise SignatureError(f"{SIGNATURE} is too large to be a signature")
    return read_bytes(file)


def release_file(path: str | os.PathLike[str]) -> Path:
    """The release.json that a path means: itself, or the one in a folder."""
    place = file_to_read(path)
    return place / "release.json" if place.is_dir() else place


def read_bytes(place: Path) -> bytes:
    """What a file holds, byte by byte."""
    problem = ""
    try:
        return file_to_read(place).read_bytes()
    except OSError as error:
        problem = cannot_read(error)
    raise FileError(problem, file=str(place))


def _write_over(place: Path, contents: bytes) -> None:
    """Write a file in one step, in place of an older one."""
    try:
        with tempfile.TemporaryDirectory(prefix=".peerveil-", dir=place.parent) as folder:
            stage = Path(folder) / place.name
            stage.write_bytes(contents)
            stage.replace(place)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise write_failure(f"{place} cannot be written: {reason}", error) from None


def _need_sshsig() -> Any:
    try:
        import sshsig  # noqa: PLC0415 - an optional package
    except ImportError:
        raise InputError("signatures need the package sshsig: pip install 'peerveil[sign]'") from None
    return sshsig
