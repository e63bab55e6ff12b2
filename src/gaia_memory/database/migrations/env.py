"""Run by Alembic: applies the scripts on the given connection, in its transaction."""

from alembic import context

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=None,
    version_table="gaia_alembic_version",
)
context.run_migrations()
