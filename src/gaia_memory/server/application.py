"""`memory_app`: the server as an ASGI application over an open memory."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from fastapi import Depends, FastAPI
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from gaia_memory.server.access.access_control import AccessControl
from gaia_memory.server.access.access_gate import AccessGate
from gaia_memory.server.pages import fact_pages, home_pages, login_page, person_tabs
from gaia_memory.server.pages.page_renderer import STATIC_FOLDER
from gaia_memory.server.problem_details import ERROR_ANSWERS, add_error_handlers
from gaia_memory.server.routes import (
    conversation_routes,
    event_routes,
    fact_routes,
    overview_routes,
    recall_routes,
    transfer_routes,
)
from gaia_memory.server.routes.person import require_database
from gaia_memory.server.routes.request_forms import refuse_repeated_parameters

if TYPE_CHECKING:
    from gaia_memory.adk.gaia import Gaia

_ROUTERS = (
    fact_routes.router,
    recall_routes.router,
    conversation_routes.router,
    overview_routes.router,
    transfer_routes.router,
    event_routes.router,
)


def memory_app(gaia: Gaia) -> ASGIApp:
    """Return the REST interface and the pages over an open memory, to be served or mounted on an application.

    Every route but `/health` and `/login` needs a token: that of `server.token` in the home, which the first request
    makes, or one that `server.tokens` lists. The memory must stay open as long as the application is served, and on the
    same event loop.
    """
    app = build_api()
    app.state.gaia = gaia
    app.state.conditional_writes = asyncio.Lock()
    app.state.access = access = AccessControl(gaia)
    return AccessGate(app, access)


def build_api() -> FastAPI:
    """Return the application without a memory and without a gate: its routes and their description."""
    once = [Depends(refuse_repeated_parameters)]
    app = FastAPI(
        title="gaia-memory", version="1", docs_url=None, redoc_url=None, dependencies=once, responses=ERROR_ANSWERS
    )
    for router in _ROUTERS:
        app.include_router(router, dependencies=[Depends(require_database)])
    app.include_router(login_page.router)
    app.router.routes += [*home_pages.ROUTES, *fact_pages.ROUTES, *person_tabs.ROUTES]
    app.mount("/static", StaticFiles(directory=STATIC_FOLDER, check_dir=False))
    add_error_handlers(app)
    return app
