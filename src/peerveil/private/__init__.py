"""Everything that touches who wrote which review. Only the package's front, the command line and the page import it."""
