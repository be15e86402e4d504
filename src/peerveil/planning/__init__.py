"""Plans: rehearsals of releases on public data alone."""
