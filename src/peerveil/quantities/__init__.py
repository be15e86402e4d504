"""Quantities: what each review weighs."""
