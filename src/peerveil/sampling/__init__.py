"""Sampled tables of papers, pseudonymous reviewers and scores, drawn from the posterior of a release."""
