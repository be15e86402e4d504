"""`peerveil audit`: a mechanism's claim, put to the test."""

from __future__ import annotations

from typing import Annotated

import typer

from peerveil.cli import options as opt
from peerveil.cli.groups import NoiseOptions, grouped

# ruff: noqa: PLC0415 - commands import what they need when they run


@grouped
def audit(
    *,
    noise: NoiseOptions,
    unit: opt.Unit = "reviewer",
    load: Annotated[int, typer.Option(help="Reviews of each reviewer in the audited records.")] = 2,
    public: Annotated[str, typer.Option(help="Whether 'all' scores of the records are public, or 'none'.")] = "all",
    draws: Annotated[int, typer.Option(help="Releases of each of the two records.")] = 20_000,
    confidence: Annotated[float, typer.Option(help="With which the lower bounds are to hold.")] = 0.99,
    workers: opt.Workers = None,
    as_json: opt.AsJson = False,
) -> None:
    """Test the claim of a mechanism: release two worst-case neighbours many times, and try to tell them apart.

    Exit code 1 if the claim is contradicted.
    """
    from peerveil.cli.show import facts_table, out, print_json
    from peerveil.cli.working import counting
    from peerveil.private.audit import audit as run_audit

    mechanism = noise.chosen()
    with counting("Releasing worst-case neighbours") as progress:
        found = run_audit(
            mechanism,
            unit=unit,
            load=load,
            public=public,
            draws=draws,
            confidence=confidence,
            delta=noise.delta,
            workers=workers,
            progress=progress,
        )
    if as_json:
        print_json(
            {
                "claim": found.guarantee.summary,
                "draws": found.draws,
                "confidence": found.confidence,
                "delta": found.delta,
                "claimed": found.claimed,
                "epsilon": found.epsilon,
                "delta_found": found.delta_found,
                "passed": found.passed,
            }
        )
    else:
        at = f" at delta {found.delta:g}" if found.delta else ""
        facts: dict[str, object] = {
            "claim": found.guarantee.summary,
            "claimed": f"epsilon {found.claimed:.6g}{at}",
            "found": f"epsilon is at least {found.epsilon:.4g}{at}; delta at the claimed epsilon at least "
            f"{found.delta_found:.2g}",
            "how sure": f"each with confidence {found.confidence:g}, from {found.draws} releases of each record",
            "result": "the claim stands" if found.passed else "THE CLAIM IS CONTRADICTED",
        }
        out.print(facts_table(facts))
    if not found.passed:
        raise typer.Exit(1)
