"""`peerveil refine`: refinement of a published noisy vector."""

from __future__ import annotations

from peerveil.app.requests import RefineRequest
from peerveil.cli import options as opt
from peerveil.cli.working import working


@opt.with_options
def refine(request: RefineRequest, *, as_json: opt.AsJson = False, everything: opt.Everything = False) -> None:
    """Refine a published noisy vector with public data: more accurate, and equally private.

    A release.json already states its quantity, its noise and the public loads.
    """
    from peerveil.app.refine import refine
    from peerveil.cli.show import report_release, report_unsigned
    from peerveil.releases.signatures import count_signatures

    signed = count_signatures(request.output)
    with working("Reading") as step:
        refined = refine(request, step=step)
    report_unsigned(signed)
    report = not request.no_report
    report_release(refined, request.output, as_json=as_json, everything=everything, report=report, refined=True)
