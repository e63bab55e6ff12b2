"""`gaia grow`: facts proposed from how people use their agents."""
