"""Registry of what can be plugged into the core, by name: a feature is imported when its name is
asked for, and by nothing else.

Each row is ``module:attribute`` below ``a2a_runtime``. ``tests/unit/test_registry.py`` loads all
rows and checks their kinds.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import SplitResult, unquote

from a2a_contract.dialects import DIALECTS as CONTRACT_DIALECTS
from a2a_contract.dialects import MESH, V1_1_DRAFT
from a2a_runtime.base.importing import import_from_string
from a2a_runtime.ports.dialect_support import NO_SUPPORT, DialectSupport
from a2a_runtime.ports.keys import NO_KEYS, ProcessKeys
from a2a_runtime.ports.process_part import ProcessPart
from a2a_runtime.ports.wire_variant import VariantKey, WireVariant

if TYPE_CHECKING:
    from a2a_runtime.ports.feature import AppParts
    from a2a_runtime.settings import Settings
    from a2a_runtime.surface import Surface

OFF = "off"
"""Value of a setting that switches something off."""

AUTO = "auto"

_MESH = MESH.name


class Row(NamedTuple):
    """Something that a setting plugs in."""

    name: str
    is_wanted: Callable[[Settings], bool]


def _wants_metrics(settings: Settings) -> bool:
    return settings.metrics_path != OFF


def _wants_traces(settings: Settings) -> bool:
    """Traces are on where they are wanted, or where the process uses OpenTelemetry already."""
    return settings.traces != OFF and (
        settings.traces != AUTO or "opentelemetry.trace" in sys.modules
    )


OBSERVERS = (
    Row("features.telemetry.metrics:build_metrics", _wants_metrics),
    Row("features.telemetry.tracing:build_tracing", _wants_traces),
)
"""Functions of the settings that build an observer, or ``None``; in the order in which they wrap.
"""


class PartRow(NamedTuple):
    """A part of a process that surfaces want."""

    name: str
    is_wanted: Callable[[Sequence[Surface]], bool]


class FeatureRow(NamedTuple):
    """A feature that settings, surfaces or an option of the plugin plug in."""

    name: str
    is_wanted: Callable[[AppParts, Sequence[Surface]], bool]


def _wants_grpc(parts: AppParts, surfaces: Sequence[Surface]) -> bool:
    address = parts.settings.grpc or parts.options.get("grpc")
    return bool(address or any(each.grpc for each in surfaces))


def _wants_mesh(parts: AppParts, surfaces: Sequence[Surface]) -> bool:
    has_surface = any(_MESH in each.dialects for each in surfaces)
    return has_surface or parts.options.get("mesh") is not None


def _wants_plain_skills(_parts: AppParts, surfaces: Sequence[Surface]) -> bool:
    for surface in surfaces:
        if surface.agent.sources or any(each.contract for each in surface.skills.values()):
            return True
    return False


def _wants_explorer(parts: AppParts, _surfaces: Sequence[Surface]) -> bool:
    return parts.settings.explorer


def _wants_metrics_route(parts: AppParts, _surfaces: Sequence[Surface]) -> bool:
    return _wants_metrics(parts.settings)


def _wants_landing_page(parts: AppParts, _surfaces: Sequence[Surface]) -> bool:
    return not parts.has_host


def _always(_parts: AppParts, _surfaces: Sequence[Surface]) -> bool:
    return True


def _have_sources(surfaces: Sequence[Surface]) -> bool:
    return any(each.agent.sources for each in surfaces)


def _have_webhooks(surfaces: Sequence[Surface]) -> bool:
    return any(each.agent.capabilities.push_notifications for each in surfaces)


PROCESS_PARTS = (
    PartRow("features.sources.part:SourcesPart", _have_sources),
    PartRow("features.push.part:PushPart", _have_webhooks),
)
"""Classes of parts of a process, in the order in which they open."""

FEATURES = (
    FeatureRow("features.grpc.feature:GrpcFeature", _wants_grpc),
    FeatureRow("features.heartbeat.feature:HeartbeatFeature", _wants_mesh),
    FeatureRow("features.explorer.feature:ExplorerFeature", _wants_explorer),
    FeatureRow("features.telemetry.feature:MetricsFeature", _wants_metrics_route),
    FeatureRow("features.catalog.feature:CatalogFeature", _always),
    FeatureRow("features.openapi.feature:OpenApiFeature", _always),
    FeatureRow("features.pages.feature:LandingPage", _wants_landing_page),
    FeatureRow("features.plain_skills.feature:PlainSkillsFeature", _wants_plain_skills),
)
"""Classes of features, in the order in which they are asked."""

_DRAFTS = [each.name for each in CONTRACT_DIALECTS.values() if each.includes(V1_1_DRAFT)]

DIALECTS: Mapping[str, str] = {
    **dict.fromkeys(_DRAFTS, "features.draft_1_1.dialect:SUPPORT"),
    _MESH: "features.mesh.dialect:SUPPORT",
}
"""Support of dialects that have rules of their own, by name."""


class VariantRow(NamedTuple):
    """A variant of the wire, and the members of requests that only it reads."""

    name: str
    members: frozenset[str] = frozenset()
    """Written here as text, so that an unknown member loads no variant."""


VARIANTS: Mapping[VariantKey, VariantRow] = {
    "double_base64": VariantRow("features.double_base64.variant:DoubleBase64"),
    "srs_forms": VariantRow(
        "features.srs.variant:SrsForms",
        frozenset(
            (
                "authentication",
                "contextId",
                "cursor",
                "limit",
                "messageId",
                "taskId",
                "token",
                "url",
            )
        ),
    ),
    "1.0.1": VariantRow("features.profile_1_0_1.variant:Profile101"),
}
"""Variants of a surface, by the key of a project file."""


class StoreRow(NamedTuple):
    """A store, by the scheme of its URL."""

    name: str
    """Function that builds it: ``build(url, options, *, attach)``. With ``attach``, another process
    may run on the store.
    """
    is_address: Callable[[SplitResult], bool]
    """Whether a URL of the scheme is complete. It is asked before the store is loaded."""
    forms: str = ""
    """How such a URL is written, for the error of one that is wrong."""
    is_shared: bool = False
    """Whether several processes may use the store."""
    drivers: frozenset[str] = frozenset()
    """Drivers that addresses for SQLAlchemy name; the store has a driver of its own."""
    parameters: Mapping[str, str] = MappingProxyType({})
    """Names of parameters, by their names in addresses for SQLAlchemy."""


def _is_word(parts: SplitResult) -> bool:
    """Return whether the scheme is the whole address."""
    return not parts.scheme


def _has_file(parts: SplitResult) -> bool:
    if parts.netloc or not parts.path.startswith("/"):
        return False
    return unquote(parts.path) not in ("/", "/:memory:")


def _has_server(parts: SplitResult) -> bool:
    return bool(parts.netloc or parts.query)


STORES: Mapping[str, StoreRow] = {
    "memory": StoreRow("stores.memory.store:build", _is_word, "memory"),
    "sqlite": StoreRow(
        "stores.sqlite.store:build",
        _has_file,
        "sqlite:///tasks.db, sqlite:////var/lib/agent/tasks.db (absolute path)",
        drivers=frozenset(("aiosqlite", "pysqlite")),
    ),
    "postgresql": StoreRow(
        "features.postgres.store:build",
        _has_server,
        "postgresql://user@host/database",
        is_shared=True,
        drivers=frozenset(("asyncpg", "psycopg", "psycopg2", "psycopg_async")),
        parameters={"ssl": "sslmode"},
    ),
    "postgres": StoreRow("features.postgres.store:build", _has_server, is_shared=True),
}
"""Stores by the schemes of their URLs."""

STORAGE = "features.simple_stores.store:SimpleStore"
"""The store that is made of an object with storage methods."""
HOST_COMMANDS = "cli.host:build_group"
"""Function that builds the commands of a host's app."""

PROJECT_APP = "features.project.app:build_app"
"""Function that builds the app of a folder."""

KEYS = "features.keys.process:read_keys"
"""Function that reads the keys which the settings name."""

AUTHENTICATORS: Mapping[str, str] = {
    "jwt": "features.keys.project:build_jwt",
    "api-keys": "auth.authenticators:build_api_keys",
    "basic": "auth.authenticators:build_basic",
    "mutual-tls": "auth.authenticators:build_mtls",
}
"""Functions that build an authenticator, by the ``kind`` of a table ``[auth.*]`` of an
``a2a.toml``: ``build(name, table, folder, environment)``.

The authenticator describes one scheme, which has the name of the table. A wrong value is a
``ValueError``, to which the caller adds the name of the table.
"""


def load(name: str) -> object:
    """Import what a row names."""
    return import_from_string(f"a2a_runtime.{name}")


def load_function(name: str) -> Callable[..., object]:
    """Import a function, or a class, that a row names."""
    found = load(name)
    if not callable(found):
        raise TypeError(f"{name} is no function")
    return found


def read_keys(settings: Settings, surfaces: Sequence[Surface]) -> ProcessKeys:
    """Read the keys of a process; without any, nothing is loaded."""
    if not settings.signing_keys and not settings.encryption_keys:
        return NO_KEYS
    keys = load_function(KEYS)(settings, surfaces)
    if not isinstance(keys, ProcessKeys):
        raise TypeError(f"{KEYS} reads no keys")
    return keys


def load_part(name: str) -> ProcessPart:
    """Load a part of a process."""
    kind = load(name)
    if not (isinstance(kind, type) and issubclass(kind, ProcessPart)):
        raise TypeError(f"{name} is no part of a process")
    return kind()


@cache
def find_support(dialect: str) -> DialectSupport:
    """Find the support of a dialect."""
    if dialect not in DIALECTS:
        return NO_SUPPORT
    found = load(DIALECTS[dialect])
    if not isinstance(found, DialectSupport):
        raise TypeError(f"{DIALECTS[dialect]} is no support of a dialect")
    return found


def load_variants(given: Iterable[WireVariant | VariantKey]) -> Iterator[WireVariant]:
    """Return variants of the wire, and load those that are given by their keys."""
    for each in given:
        if isinstance(each, WireVariant):
            yield each
            continue
        if each not in VARIANTS:
            raise ValueError(
                f"variants: unknown variant {each!r}; use one of {', '.join(VARIANTS)}"
            )
        name = VARIANTS[each].name
        kind = load(name)
        if not (isinstance(kind, type) and issubclass(kind, WireVariant)):
            raise TypeError(f"{name} is no variant")
        yield kind()


def load_readers(member: str) -> Iterator[WireVariant]:
    """Load the variants that may read a member of a request."""
    return load_variants(key for key, row in VARIANTS.items() if member in row.members)
