"""Actions on published releases that need no private data: sampled tables."""
