"""The dashboard: pages for people who read and correct memory in a browser. They work without scripts, too."""
