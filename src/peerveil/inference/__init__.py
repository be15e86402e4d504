"""Bayesian inference from public data and noisy output: priors, likelihoods, posteriors and estimators."""
