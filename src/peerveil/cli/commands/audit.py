"""`peerveil audit`: a test of a mechanism's claim."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from peerveil.app.requests import AuditRequest
from peerveil.cli import options as opt

if TYPE_CHECKING:
    from peerveil.private.audit import Audit


@opt.with_options
def audit(request: AuditRequest, *, as_json: opt.AsJson = False) -> None:
    """Test the claims of a mechanism: release worst-case neighbours many times, and try to tell them apart.

    Exit code 1 if a claim is contradicted.
    """
    from peerveil.app.audit import audit
    from peerveil.cli.show import facts_table, out, print_json, rows_table
    from peerveil.cli.working import counting

    with counting("Releasing worst-case neighbours") as progress:
        result = audit(request, progress)
    if as_json:
        print_json(_document(result), "audit")
    else:
        measure = "epsilon" if result.worst.pure else "rho"
        columns = ("case", f"{measure} claimed", "worst pair", "found", "noise", "verdict")
        rows = []
        for case in result.findings:
            numbers = (f"{case.limit:.4g}", f"{case.loss:.4g}", f"{case.found:.3g}")
            rows.append((case.case, *numbers, case.noise or "as stated", "stands" if case.passed else "FALSE"))
        out.print(rows_table(columns, rows))
        out.print()
        out.print(facts_table(_facts(result).items()))
    if not result.passed:
        raise typer.Exit(1)


_SHARED = ("draws", "delta", "claimed", "epsilon", "delta_found", "passed")
_CASE = (*_SHARED, "rho_found", "loss", "supported", "noise")


def _document(result: Audit) -> dict[str, Any]:
    """Return the worst case and every case, as JSON has them."""
    cases = [
        {"case": finding.case, "claim": finding.guarantee.summary} | {name: getattr(finding, name) for name in _CASE}
        for finding in result.findings
    ]
    facts = {name: getattr(result, name) for name in (*_SHARED, "confidence")}
    return {"claim": result.guarantee.summary, **facts, "cases": cases}


def _facts(result: Audit) -> dict[str, object]:
    worst = result.worst
    at = f" at delta {worst.delta:g}" if worst.delta else ""
    draws = sorted({finding.draws for finding in result.findings})
    releases = " to ".join(map(str, (draws[0], draws[-1])[: len(draws)]))
    return {
        "claim": worst.guarantee.summary,
        "worst pair": "the privacy loss between the two records, if the noise is as stated",
        "found": "a lower bound of the loss from the releases alone, whatever the noise is; closest to its claim: "
        f"{worst.case} with epsilon {worst.epsilon:.4g} of {worst.claimed:.6g}{at}",
        "confidence": f"{result.confidence:g} for all bounds together, from {releases} releases of each record",
        "result": "the claim stands" if result.passed else "THE CLAIM IS CONTRADICTED",
    }
