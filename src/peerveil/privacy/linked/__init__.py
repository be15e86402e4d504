"""Numbers about people who reviewed for two conferences, and their sensitivity. All inputs are public."""
