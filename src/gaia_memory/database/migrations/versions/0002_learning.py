"""Who talks in a conversation and how; what clearing left behind; turns said while the clock was behind."""

from __future__ import annotations

import hashlib

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
OWNER = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Add columns to the ledger, and the table of late turns."""
    op.add_column("gaia_conversations", sa.Column("active_owner", OWNER, comment="who talks in it"))
    if op.get_bind().dialect.name == "postgresql":
        op.alter_column("gaia_conversations", "lease_owner", type_=OWNER)
    op.add_column(
        "gaia_conversations",
        sa.Column(
            "is_foreign",
            sa.Boolean(),
            nullable=False,
            server_default=sa.false(),
            comment="somebody else's Runner talks in it",
        ),
    )
    op.add_column(
        "gaia_conversations",
        sa.Column(
            "is_private",
            sa.Boolean(),
            nullable=False,
            server_default=sa.false(),
            comment="what is said is not to be learned",
        ),
    )
    op.add_column(
        "gaia_conversations",
        sa.Column("bad_answers", NUMBER, nullable=False, server_default="0", comment="in a row, of the model"),
    )
    op.add_column(
        "gaia_conversations",
        sa.Column("failing_since", sa.Double(), comment="when the first of these attempts failed"),
    )
    op.add_column(
        "gaia_conversations",
        sa.Column("rewound_at", sa.Double(), comment="since when cleared talk is still in the host's session"),
    )
    _app_keys()
    _indexes()
    op.create_table(
        "gaia_late_turns",
        sa.Column("conversation", sa.String(256), nullable=False),
        sa.Column("invocation_id", sa.Text(), nullable=False, comment="percent-encoded"),
        sa.Column("began", sa.Double(), nullable=False, comment="by the clock that was behind the watermark"),
        sa.PrimaryKeyConstraint("conversation", "invocation_id", name="pk_gaia_late_turns"),
        sa.ForeignKeyConstraint(
            ["conversation"], ["gaia_conversations.conversation"], name="fk_gaia_late_turns_conversation"
        ),
    )


def _app_keys() -> None:
    op.add_column(
        "gaia_conversations",
        sa.Column("app_key", sa.String(256), nullable=False, server_default="", comment="the app as a key"),
    )
    # Short ids are their own key.
    op.execute("UPDATE gaia_conversations SET app_key = app WHERE length(app) <= 256")
    connection = op.get_bind()
    for app in connection.execute(sa.text("SELECT DISTINCT app FROM gaia_conversations WHERE app_key = ''")).scalars():
        key = "sha256-" + hashlib.sha256(app.encode()).hexdigest()
        change = sa.text("UPDATE gaia_conversations SET app_key = :key WHERE app = :app")
        connection.execute(change, {"key": key, "app": app})


def _indexes() -> None:
    op.drop_index("ix_gaia_conversations_undone", "gaia_conversations")
    undone = "turn_no > done_turn_no"
    nobody = f"{undone} AND active_until IS NULL AND lease_until IS NULL"
    _index("free", f"{nobody} AND NOT parked AND retry_at IS NULL", "app_key", "touched", "conversation", "person")
    _index("at_rest", f"{nobody} AND attempts >= 0", "app_key", "touched", "conversation")
    _index("undone", undone, "person", "touched")
    _index("talking", "active_until IS NOT NULL", "active_until")
    _index("talkers", "active_until IS NOT NULL", "active_owner")
    _index("leased", "lease_until IS NOT NULL", "lease_until")
    _index("workers", "lease_until IS NOT NULL", "lease_owner")
    _index("put_off", "retry_at IS NOT NULL", "retry_at")
    _index("rewound", "rewound_at IS NOT NULL", "cleared_at")


def _index(name: str, holds: str, *columns: str) -> None:
    where = sa.text(holds)
    op.create_index(
        f"ix_gaia_conversations_{name}", "gaia_conversations", columns, sqlite_where=where, postgresql_where=where
    )
