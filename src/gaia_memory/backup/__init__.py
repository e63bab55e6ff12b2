"""Backup and restore of the files of memory."""
