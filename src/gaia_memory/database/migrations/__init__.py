"""The history of the tables since 0.4: one script per version, applied in order and never changed afterwards."""

REVISIONS = ("0016", "0017", "0018", "0019", "0020", "0021", "0022", "0023")
"""Every version this package knows, oldest first."""

FIRST_RELEASE = "0.4"
"""What wrote the first of them; it opens and migrates an older home."""
