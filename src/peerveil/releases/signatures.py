"""SSH signatures of releases, made by OpenSSH's ssh-keygen and checked by the package sshsig.

A signature covers the bytes of release.json; `verify` checks that all other files follow from it. Peerveil never reads
a private key.
"""

from __future__ import annotations

import base64
import os
import re
import shutil
import struct
import subprocess
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peerveil.errors import FileError, InputError, SignatureError
from peerveil.support.atomic_files import replace_file
from peerveil.tables.opening import file_to_read, guarded, read_text

if TYPE_CHECKING:
    from sshsig import PublicKey

#: The namespace of signatures; signatures for other purposes are not accepted.
NAMESPACE = "peerveil-release"

#: The file of the signature of release.json.
SIGNATURE = "release.json.sig"

#: The supported key types.
CHECKED = ("ssh-ed25519", "ssh-rsa")

#: The offset of the key type in a signature, after magic bytes, version and length of the key.
_TYPE_AT = 14
_TYPE = re.compile(r"[a-z0-9@.-]{1,64}")

#: The greatest length of a signature in bytes; those of long RSA keys have a few thousand.
_LONGEST = 100_000


def sign(folder: str | os.PathLike[str], key: str | os.PathLike[str]) -> str:
    """Write the signature of a release to ``release.json.sig`` and return the fingerprint of the key.

    Args:
        folder: a release's folder, or its release.json.
        key: an OpenSSH private key (Ed25519 or RSA), or a public key whose private key is in an SSH agent. ssh-keygen
            asks for a passphrase if needed.
    """
    place = release_file(folder)
    contents = read_bytes(place)
    signature = make_signature(contents, key)
    fingerprint: str = signer(contents, signature).sha256_str()
    replace_file(place.with_name(SIGNATURE), lambda stage: stage.write_bytes(signature))
    return fingerprint


def make_signature(contents: bytes, key: str | os.PathLike[str], namespace: str = NAMESPACE) -> bytes:
    """Return the signature of these contents by a key, as in :func:`sign`."""
    _need_sshsig()
    program = shutil.which("ssh-keygen")
    if program is None:
        raise InputError("signing needs the program ssh-keygen of OpenSSH 8.0 or newer; install OpenSSH")
    key_file = file_to_read(key)
    if not key_file.is_file():
        raise FileError("cannot be read: there is no such key", file=str(key_file))
    command = [program, "-q", "-Y", "sign", "-n", namespace, "-f", str(key_file)]
    signed = subprocess.run(command, input=contents, capture_output=True, check=False)  # noqa: S603 - no shell
    if signed.returncode:
        raise FileError("is not a key that ssh-keygen can sign with, or its passphrase is wrong", file=str(key_file))
    if (kind := key_type(signed.stdout)) not in CHECKED:
        raise FileError(
            f"is a key of type {kind}, whose signatures verify cannot check; sign with an Ed25519 or RSA key "
            "(ssh-keygen -t ed25519 makes one)",
            file=str(key_file),
        )
    return signed.stdout


def signer(contents: bytes, signature: bytes, namespace: str = NAMESPACE) -> PublicKey:
    """Return the public key that signed these contents.

    Raises:
        SignatureError: if the signature is not valid for these contents and this namespace.
    """
    sshsig = _need_sshsig()
    try:
        key: PublicKey = sshsig.check_signature(contents, signature, namespace)
        return key  # noqa: TRY300 - the error is raised outside of the handlers
    except NotImplementedError:
        problem = f"it is signed by a key of type {key_type(signature)}, whose signatures cannot be checked; sign with "
        problem += "an Ed25519 or RSA key"
    except Exception:  # noqa: BLE001 - any failure means that the signature is invalid
        signed = "release.json" if namespace == NAMESPACE else "file"
        problem = f"the signature is not a valid signature of this {signed} for {namespace!r}"
    raise SignatureError(problem)


def key_type(signature: bytes) -> str:
    """Return the OpenSSH type of the key that made a signature; "unknown" if it is not a signature.

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
    """Return the number of signed releases in a folder and its subfolders."""
    return sum(file.is_file() for pattern in (SIGNATURE, f"*/{SIGNATURE}") for file in Path(folder).glob(pattern))


def trusted_keys(path: str | os.PathLike[str]) -> list[PublicKey]:
    """Return the keys in an OpenSSH public key or allowed_signers file.

    Raises:
        FileError: if the file contains no key or an unsupported one.
    """
    _need_sshsig()
    name, text = read_text(path)
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1)]
    if any("PRIVATE KEY" in line for _, line in lines[:1]):
        raise FileError("is a private key; give the public one, which ends in .pub", file=name)
    read = (_key(line, number, name) for number, line in lines if line and not line.startswith("#"))
    keys = [key for key in read if key is not None]
    if not keys:
        raise FileError(f"holds no public key for {NAMESPACE}; give an OpenSSH public key", file=name)
    return keys


def _key(line: str, number: int, name: str) -> PublicKey | None:
    """The key in a line; ``None`` if the line is for other namespaces."""
    from sshsig import PublicKey  # noqa: PLC0415 - an optional package
    from sshsig.allowed_signers import AllowedSigner  # noqa: PLC0415

    problem = "is not an OpenSSH public key, nor a line of an allowed_signers file"
    try:
        if line.startswith(("ssh-", "ecdsa-", "sk-")):
            return PublicKey.from_openssh_str(line)
        allowed = AllowedSigner.parse(line)
        options = {key.lower(): value for key, value in (allowed.options or {}).items()}
        namespaces = options.pop("namespaces", NAMESPACE)
        if not any(fnmatchcase(NAMESPACE, pattern.strip()) for pattern in namespaces.split(",")):
            return None
        if not options:
            return PublicKey.from_openssh_str(f"{allowed.key_type} {allowed.base64_key}")
        problem = f"has the option {min(options)!r}, which cannot be checked here; take the key into a file of its own"
    except NotImplementedError:
        problem = "holds a key that is neither Ed25519 nor RSA; other types are not supported"
    except Exception:  # noqa: BLE001, S110 - the text of any error would contain the line
        pass
    raise FileError(problem, file=name, line=number)


def signature_beside(place: Path) -> bytes | None:
    """Return the signature beside a release.json; ``None`` if there is none."""
    file = place.with_name(SIGNATURE)
    if not file.is_file():
        return None
    if file.stat().st_size > _LONGEST:
        raise SignatureError(f"{SIGNATURE} is too large to be a signature")
    return read_bytes(file)


def release_file(path: str | os.PathLike[str]) -> Path:
    """Return the path of a release.json, given itself or its folder."""
    place = file_to_read(path)
    return place / "release.json" if place.is_dir() else place


def read_bytes(place: Path) -> bytes:
    """Return the content of a file."""
    return guarded(lambda: file_to_read(place).read_bytes(), str(place))


def _need_sshsig() -> Any:
    try:
        import sshsig  # noqa: PLC0415 - an optional package
    except ImportError:
        raise InputError("signatures need the package sshsig: pip install 'peerveil[sign]'") from None
    return sshsig
