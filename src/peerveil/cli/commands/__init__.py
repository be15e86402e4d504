"""A module a command: what it is asked for, and which work that is."""
