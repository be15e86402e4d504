"""Quantities: definitions of review weights. Add your own with `register`."""

from peerveil.quantities.base import HiddenReach, Judged, Lone, Quantity, Words, register, unregister
from peerveil.quantities.columns import Column, Share
from peerveil.quantities.criteria_maps import Normalized, Subjectivity
from peerveil.quantities.disagreement import Disagreement
from peerveil.quantities.functions import QuantityLike
from peerveil.quantities.miscalibration import Miscalibration
from peerveil.quantities.ratings import Ratings

_OWN = (Ratings(), Miscalibration(), Disagreement(), Normalized(), Subjectivity())
for _quantity in _OWN:
    register(_quantity)

#: The quantities that come with this package.
QUANTITIES = tuple(quantity.name for quantity in _OWN)

__all__ = [
    "QUANTITIES",
    "Column",
    "HiddenReach",
    "Judged",
    "Lone",
    "Quantity",
    "QuantityLike",
    "Share",
    "Words",
    "register",
    "unregister",
]
