"""Actions shared by the command line and the page."""
