"""Commands on published releases that neither refine nor check them: signatures, withdrawals, sampled tables."""
