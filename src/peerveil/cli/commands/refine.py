"""`peerveil refine`: a noisy vector that someone published, sharpened."""

from __future__ import annotations

from peerveil.app.requests import RefineRequest
from peerveil.cli import options as opt
from peerveil.cli.working import working

# ruff: noqa: PLC0415 - commands import what they need when they run


@opt.with_options
def refine(request: RefineRequest, *, as_json: opt.AsJson = False) -> None:
    """Sharpen a noisy vector that someone published: never less accurate, and as private.

    A release.json says itself what it is of, how it was made private, and which loads are public.
    """
    from peerveil.app.refine import refine
    from peerveil.cli.show import report_release, tell_unsigned
    from peerveil.releases.signatures import count_signatures

    signed = count_signatures(request.output)
    with working("Reading") as step:
        refined = refine(request, step=step)
    tell_unsigned(signed)
    report_release(refined, request.output, as_json=as_json, report=not request.no_report)
