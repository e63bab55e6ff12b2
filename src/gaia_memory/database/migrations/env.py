"""What Alembic runs: the scripts, on the connection and in the transaction it was given."""

from alembic import context

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=None,
    version_table="gaia_alembic_version",
)
context.run_migrations()
