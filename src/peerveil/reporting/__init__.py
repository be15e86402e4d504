"""Charts and reports of what is published."""
