"""Shared by the tests of ADK's session services."""

from support.hosts.session_services import service

__all__ = ["service"]
