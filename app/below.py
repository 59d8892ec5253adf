"""Below a path of a proxy (GRADIO_ROOT_PATH), which may cut that path off or leave it: here every path has it."""

from collections.abc import Sequence
from urllib.parse import urlsplit

from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Receive, Scope, Send


class Below:
    """Puts the proxy's path before those that come without it, also before those of our own that begin like it.

    Starlette takes `/lab/trace` of a server below `/lab` for its `/trace`, and finds nothing.
    """

    def __init__(self, app: ASGIApp, routes: Sequence[BaseRoute]) -> None:
        """Wrap an application; `routes` are our own."""
        self.app, self.routes = app, routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand on."""
        given = str(scope.get("root_path", ""))
        if given and scope["type"] in ("http", "websocket"):
            root, path = urlsplit(given).path.rstrip("/"), str(scope["path"])
            cut = not f"{path}/".startswith(f"{root}/") or self._own({**scope, "root_path": ""})
            scope = {**scope, "root_path": root, "path": root + path if cut else path}
        await self.app(scope, receive, send)

    def _own(self, scope: Scope) -> bool:
        return any(route.matches(scope)[0] is not Match.NONE for route in self.routes)


def path_of(scope: Scope) -> str:
    """The path of a request below that of the proxy."""
    return str(scope.get("path", "")).removeprefix(str(scope.get("root_path", "")))
