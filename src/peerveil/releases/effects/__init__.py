"""Effects: the published difference between two groups of reviewers, and its verification."""
