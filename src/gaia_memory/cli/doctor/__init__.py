"""The checks of `gaia doctor`. They only look: they create, change and repair nothing."""
