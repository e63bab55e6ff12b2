"""When a profile was made, and by whom: the model, or the fallback without it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

WHO = "`model` or `fallback`"


def upgrade() -> None:
    """Add columns, empty for the profiles that are there."""
    op.add_column("gaia_profiles", sa.Column("made_at", sa.Double()))
    op.add_column("gaia_profiles", sa.Column("made_by", sa.String(16), comment=WHO))
    op.add_column("gaia_conversations", sa.Column("profile_made_at", sa.Double()))
    op.add_column("gaia_conversations", sa.Column("profile_made_by", sa.String(16), comment=WHO))
