"""What public data and noisy output make likely: priors, likelihoods, posteriors, estimators."""
