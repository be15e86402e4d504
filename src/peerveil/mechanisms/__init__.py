"""Mechanisms that make a vector of means private, one module each."""

# In order of registration, which is the order in plans and charts; those of other modules follow.
from peerveil.mechanisms.laplace import Laplace  # isort: skip
from peerveil.mechanisms.histogram import Histogram  # isort: skip
from peerveil.mechanisms.gaussian import Gaussian  # isort: skip
from peerveil.mechanisms.sinh_normal import SinhNormal  # isort: skip
from peerveil.mechanisms.base import OWN, Asked, Described, Mechanism, OwnMechanism, Settled, register
from peerveil.mechanisms.external import External, kind_of, mechanism_from
from peerveil.support.discovery import import_declared

__all__ = [
    "OWN",
    "Asked",
    "Described",
    "External",
    "Gaussian",
    "Histogram",
    "Laplace",
    "Mechanism",
    "OwnMechanism",
    "Settled",
    "SinhNormal",
    "kind_of",
    "mechanism_from",
    "register",
]

import_declared("mechanisms")
