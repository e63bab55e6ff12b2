"""Who may use the server."""
