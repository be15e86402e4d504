"""What every other package may use: parallel work, atomic files, threads, argument checks, versions."""
