"""Mechanisms: how a vector of means is made private, one module each."""

# The order of registration: plans compare mechanisms, and pictures colour them, in this order.
from peerveil.mechanisms.laplace import Laplace  # isort: skip
from peerveil.mechanisms.histogram import Histogram  # isort: skip
from peerveil.mechanisms.gaussian import Gaussian  # isort: skip
from peerveil.mechanisms.sinh_normal import SinhNormal  # isort: skip
from peerveil.mechanisms.base import OWN, Asked, Described, Mechanism, OwnMechanism, Settled, register
from peerveil.mechanisms.external import External, kind_of, mechanism_from

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
