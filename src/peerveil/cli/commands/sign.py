"""`peerveil sign`: sign a release, so that readers can check who published it."""

from __future__ import annotations

from typing import Annotated

import typer

from peerveil.cli import options as opt

# ruff: noqa: PLC0415 - commands import what they need when they run


def sign(
    release: opt.ReleasePlace,
    *,
    key: Annotated[
        str,
        typer.Option(help="Your SSH key (Ed25519 or RSA), e.g. ~/.ssh/id_ed25519, or the .pub of a key in an agent."),
    ],
) -> None:
    """Sign a release with your SSH key: writes release.json.sig beside it.

    ssh-keygen makes the signature; Peerveil does not read your private key. Publish your public key where readers
    expect it. They check with: peerveil verify out --public public.csv --signed-by key.pub
    """
    from pathlib import Path

    from peerveil.cli.show import out
    from peerveil.releases.signatures import SIGNATURE
    from peerveil.releases.signatures import sign as make_signature

    fingerprint = make_signature(release, Path(key).expanduser())
    out.print(f"Signed by the key {fingerprint}: {SIGNATURE}", highlight=False)
