"""Several profiles of a person, one for each set of facts they are made of: contexts have different ones."""

from __future__ import annotations

from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    """Make the fingerprint a part of the key; the profiles that are there stay."""
    with op.batch_alter_table("gaia_profiles") as table:
        table.drop_constraint("pk_gaia_profiles", type_="primary")
        table.create_primary_key("pk_gaia_profiles", ["partition", "fingerprint"])
