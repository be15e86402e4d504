"""Mechanisms: how a vector of means is made private."""

from peerveil.mechanisms.base import OWN, External, Gaussian, Histogram, Laplace, SinhNormal

__all__ = ["OWN", "External", "Gaussian", "Histogram", "Laplace", "SinhNormal"]
