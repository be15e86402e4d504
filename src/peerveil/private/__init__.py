"""Everything that touches who wrote which review. Only the actions (app) and the package's list of names import it."""
