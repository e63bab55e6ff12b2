"""`gaia serve`: memory over HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gaia_memory.cli.engines import ConfigOption, load_config
from gaia_memory.cli.ui.terminal import print_line, print_note
from gaia_memory.errors import InvalidInputError
from gaia_memory.threads import run_in_thread

if TYPE_CHECKING:
    from gaia_memory.config.sources.load import LoadedConfig

EXAMPLES = """
Examples:

`gaia serve` serves memory at http://127.0.0.1:8100 and prints the admin's token when it makes it.

`gaia serve token --role user:ada` prints a new token, and the line for `server.tokens` that admits it.

`curl -H "Authorization: Bearer $(cat ~/.gaia/server.token)" localhost:8100/v1/people` lists everybody.
"""

app = typer.Typer(name="serve", invoke_without_command=True)


@app.callback(epilog=EXAMPLES)
def serve(
    context: typer.Context,
    host: Annotated[str, typer.Option("--host", help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65_535, help="The port; 0 for any.")] = 8100,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Listen for other machines without TLS and without a proxy.")
    ] = False,
    tls_certificate: Annotated[
        Path | None, typer.Option("--tls-certificate", help="A PEM file; serves HTTPS.", exists=True, dir_okay=False)
    ] = None,
    tls_key: Annotated[
        Path | None, typer.Option("--tls-key", help="The key of the certificate.", exists=True, dir_okay=False)
    ] = None,
    config: ConfigOption = None,
) -> None:
    """Serve memory over HTTP: a REST interface and pages for a browser."""
    if context.invoked_subcommand is not None:
        return
    if (tls_certificate is None) != (tls_key is None):
        raise typer.BadParameter("pass both --tls-certificate and --tls-key, or neither")
    loaded = load_config(config)
    if not (_is_loopback(host) or tls_certificate or loaded.config.server.trusted_hosts or insecure):
        raise typer.BadParameter(
            f"{host} can be reached by other machines, and without TLS everybody on the way reads the tokens and what "
            "people said. Pass --tls-certificate and --tls-key, or put a proxy with TLS in front and name it in "
            "`server.trusted_hosts`, or accept that with --insecure",
            param_hint="--host",
        )
    asyncio.run(_serve(loaded, host, port, tls_certificate, tls_key))


@app.command("token")
def token(
    role: Annotated[str, typer.Option("--role", help="`admin`, `reader` or `user:ID`.")],
) -> None:
    """Make a token, and print it with the line for `server.tokens` that admits it. It is stored nowhere."""
    from gaia_memory.config.sections.server_section import ServerConfig
    from gaia_memory.server.access.access_tokens import hash_token, new_token

    made = new_token()
    hashed = hash_token(made)
    try:
        ServerConfig(tokens={hashed: role})
    except ValueError as error:
        raise typer.BadParameter(f"{role!r} is no role: use admin, reader or user:ID", param_hint="--role") from error
    print_note("The token, shown only here:")
    print_line(made)
    print_note("The entry below `server:` `tokens:` in gaia.yaml:")
    print_line(f'    "{hashed}": {json.dumps(role)}')


async def _serve(
    loaded: LoadedConfig, host: str, port: int, tls_certificate: Path | None, tls_key: Path | None
) -> None:
    import uvicorn

    from gaia_memory.runtime import open_memory
    from gaia_memory.server.access.access_tokens import TOKEN_FILE_NAME, ensure_admin_token
    from gaia_memory.server.application import memory_app

    async with open_memory(loaded) as gaia:
        made, is_new = await run_in_thread(ensure_admin_token, gaia.config.home)
        settings = uvicorn.Config(
            memory_app(gaia),
            host=host,
            port=port,
            ssl_certfile=tls_certificate,
            ssl_keyfile=tls_key,
            # The address of the peer decides whose header is believed. Paths contain the ids of people.
            proxy_headers=False,
            access_log=False,
            server_header=False,
            log_config=None,
            timeout_graceful_shutdown=5,
        )
        server = uvicorn.Server(settings)
        listener = _listen(host, port)
        scheme = "https" if tls_certificate else "http"
        shown_host = f"[{host}]" if ":" in host else host
        print_line(f"memory is served at {scheme}://{shown_host}:{listener.getsockname()[1]}")
        if is_new:
            print_line(f"the admin's token, shown once: {made}")
        else:
            print_note(f"the admin's token is in {gaia.config.home / TOKEN_FILE_NAME}")
        with listener:
            await server.serve(sockets=[listener])


def _listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens at an address. Uvicorn's own ends the process without a word if it is in use."""
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        reason = f"port {port} of {host} cannot be used ({os.strerror(error.errno or 0)})"
        raise InvalidInputError(f"{reason}: pass another --port, 0 for any, or another --host") from error


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
