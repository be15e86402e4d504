"""Opening, sniffing and reading tables from files and frames."""
