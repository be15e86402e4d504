"""`peerveil sign`: the signature of a release."""

from __future__ import annotations

from typing import Annotated

import typer

from peerveil.cli import options as opt


def sign(
    release: opt.ReleasePlace,
    *,
    key: Annotated[
        str,
        typer.Option(help="SSH key (Ed25519 or RSA), e.g. ~/.ssh/id_ed25519, or the .pub file of a key in an agent."),
    ],
) -> None:
    """Sign a release with your SSH key, so that readers can check who published it: writes release.json.sig.

    ssh-keygen signs; Peerveil does not read your private key. Publish your public key. Readers check the signature
    with: peerveil verify out --public public.csv --signed-by key.pub
    """
    from pathlib import Path

    from peerveil.cli.show import out
    from peerveil.releases.signatures import SIGNATURE
    from peerveil.releases.signatures import sign as make_signature

    fingerprint = make_signature(release, Path(key).expanduser())
    out.print(f"Signed by the key {fingerprint}: {SIGNATURE}", soft_wrap=True)
