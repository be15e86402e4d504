"""Audits: the claims of a mechanism, tested on worst-case neighbours."""

from __future__ import annotations

from peerveil.app.parsing import mechanism_or_auto
from peerveil.app.requests import AuditRequest
from peerveil.private.audit import Audit
from peerveil.private.audit import audit as audit_mechanism
from peerveil.support import parallel


def audit(request: AuditRequest, progress: parallel.Progress) -> Audit:
    """The findings of an audit, one per case."""
    return audit_mechanism(
        mechanism_or_auto(request.noise),
        unit=request.unit,
        load=request.load,
        public=request.public,
        draws=request.draws,
        confidence=request.confidence,
        delta=request.noise.delta,
        case=request.case,
        workers=request.workers,
        progress=progress,
    )
