"""Modules of apcore as an agent: each module is a skill, called through the pipeline of the
executor.

Loaded where it is imported, and where ``a2a-gen serve`` gets modules of apcore.

    from a2a_runtime.features.apcore import serve
    serve(registry)

    server ──── an agent of a registry on a port, or as an ASGI app
      │
    source ──── the modules as a source of skills
      ├─ modules      a module as the descriptor of a skill
      ├─ inputs       parts of a message as the input of a module
      ├─ outputs      the output as an artifact
      ├─ approvals    questions for approvals
      ├─ calls        the executor, in all of its releases
      └─ errors       what callers read of an error

    auth ────── authenticators by the names of apcore
    client ──── the client by the names of apcore, without a server

Extra ``apcore``. Releases from 0.6.0 on are known by the members of their objects, not by their
classes.
"""

from typing import TYPE_CHECKING

from a2a_runtime.base.importing import lazy_names

if TYPE_CHECKING:
    from a2a_runtime.features.apcore.auth import JWTAuthenticator
    from a2a_runtime.features.apcore.client import A2AClient
    from a2a_runtime.features.apcore.server import async_serve, serve
    from a2a_runtime.features.apcore.source import ApcoreSource
    from a2a_runtime.features.apcore.stores import InMemoryTaskStore

__all__ = [
    "A2AClient",
    "ApcoreSource",
    "InMemoryTaskStore",
    "JWTAuthenticator",
    "async_serve",
    "serve",
]
if not TYPE_CHECKING:
    __getattr__ = lazy_names(__name__, __all__, "client", "stores", "auth", "source", "server")
