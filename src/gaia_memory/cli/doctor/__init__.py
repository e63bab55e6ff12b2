"""What `gaia doctor` looks at. Every check only looks: it makes, changes and repairs nothing."""
