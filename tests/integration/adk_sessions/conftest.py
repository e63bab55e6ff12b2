"""What the tests of ADK's session services share."""

from support.hosts.session_services import service

__all__ = ["service"]
