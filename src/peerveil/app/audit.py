"""Audits of a mechanism's claims on worst-case neighbours."""

from __future__ import annotations

from dataclasses import fields, replace

from peerveil.app.parsing import mechanism_or_auto
from peerveil.app.requests import AuditRequest
from peerveil.mechanisms import Laplace
from peerveil.private.audit import Audit
from peerveil.private.audit import audit as audit_mechanism
from peerveil.support import parallel


def audit(request: AuditRequest, progress: parallel.Progress) -> Audit:
    """Return the findings of an audit, one per case."""
    arguments = {field.name: getattr(request, field.name) for field in fields(request) if field.name != "noise"}
    noise = replace(request.noise, mechanism=request.noise.mechanism or Laplace.name)
    mechanism = mechanism_or_auto(noise)
    return audit_mechanism(mechanism, delta=request.noise.delta, progress=progress, **arguments)
