"""Neighbouring assignments, sensitivity, accounting, guarantees, budgets, noise laws and bins."""
