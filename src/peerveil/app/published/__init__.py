"""Actions on published releases: sampled tables."""
