"""Files of any kind, written safely."""
