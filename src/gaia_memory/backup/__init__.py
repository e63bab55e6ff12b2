"""Backup, restore and recovery of the files of memory."""
