"""Code that any package may use: parallel tasks, atomic files, threads, argument checks, versions."""
