"""Creation of a store from a URL or the name of an object, and validation of store objects."""

from __future__ import annotations

import re
from collections.abc import Callable
from inspect import iscoroutinefunction, signature
from pathlib import PurePath
from urllib.parse import parse_qsl, quote, urlencode

from a2a_runtime.base.importing import ImportFromStringError, explain_missing, import_from_string
from a2a_runtime.errors import UnsupportedStoreError
from a2a_runtime.ports.registry import STORAGE, STORES, load_function
from a2a_runtime.stores.address import hide_secrets, parse_address
from a2a_runtime.stores.base import DEFAULT_OPTIONS, RunQueue, Store, StoreOptions
from a2a_runtime.stores.optional import FileStore

_ATTRIBUTES = ("is_durable", "runs_again", "accepts_task_ids")
_STORAGE_METHODS = frozenset({"load_task", "create_task", "update_task"})
_STORE_METHODS = [name for name in dir(Store) if not name.startswith("_")]
_OBJECT_NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")
_URL_FORMS = (
    f"{', '.join(row.forms for row in STORES.values() if row.forms)}, "
    "or module:attribute for a store of your own"
)


def create_store(
    url: str, options: StoreOptions = DEFAULT_OPTIONS, *, attach: bool = False
) -> Store:
    """Create the store for a URL, or for the name of a store or a storage (``module:attribute``),
    to be opened by the caller.

    With ``attach`` it can be opened while another process runs on it, by a command that reads or
    deletes tasks.
    """
    if is_object_name(url):
        if attach:
            raise UnsupportedStoreError(
                f"store: {url!r} belongs to the process that serves, and cannot be opened beside it"
            )
        return _import_store(url, options)
    url = to_plain_url(url)
    parts = parse_address(url)
    row = STORES.get(parts.scheme or url)
    if row is None or not row.is_address(parts):
        raise UnsupportedStoreError(
            f"store: {hide_secrets(url)!r} is not a store URL; use {_URL_FORMS}"
        )
    with explain_missing("store"):
        build = load_function(row.name)
    return validate_store(build(url, options, attach=attach))


def is_object_name(url: str) -> bool:
    """Return whether a store is named as an object of Python, ``module:attribute``, and not by a
    URL.
    """
    return _OBJECT_NAME.fullmatch(url) is not None and url.partition(":")[0] not in STORES


def _import_store(name: str, options: StoreOptions) -> Store:
    """Import a store, or a storage, which gets the store that it needs; a class or a function is
    called without arguments.
    """
    try:
        found = import_from_string(name)
    except ImportFromStringError as error:
        raise UnsupportedStoreError(f"store: {name!r}: {error}; use {_URL_FORMS}") from error
    found = _call_factory(name, found) if callable(found) else found
    if not _STORAGE_METHODS.isdisjoint(dir(found)) and not hasattr(found, "read_events"):
        found = load_function(STORAGE)(found, options)
    return validate_store(found)


def _call_factory(name: str, factory: Callable[..., object]) -> object:
    try:
        signature(factory).bind()
    except TypeError as error:
        raise UnsupportedStoreError(
            f"store: {name!r}: {error}; name an object, or a function without parameters "
            "that returns one"
        ) from error
    if iscoroutinefunction(factory):
        raise UnsupportedStoreError(
            f"store: {name!r}: an async function; write a plain one, and open what it needs "
            "in __aenter__ of the storage"
        )
    return factory()


def to_plain_url(url: str) -> str:
    """Convert an address as it is written for SQLAlchemy: without the driver, and with the name
    that TLS has in Postgres.
    """
    dialect, separator, rest = url.partition("://")
    name, _, driver = dialect.partition("+")
    row = STORES.get(name)
    if row is None or driver not in row.drivers:
        return url
    address, _, query = rest.partition("?")
    plain = f"{name}{separator}{address}"
    parameters = [
        (row.parameters.get(key, key), value)
        for key, value in parse_qsl(query, keep_blank_values=True)
    ]
    if parameters:
        plain += f"?{urlencode(parameters, quote_via=quote)}"
    return plain


async def try_store(url: str) -> Store:
    """Open and close the store for a URL, and return it, beside a process that may run on it.

    A file that is not there is created, as at a start. A store of one's own is created and
    not opened: it may be open already.
    """
    if is_object_name(url):
        return create_store(url)
    store = create_store(url, attach=True)
    if isinstance(store, FileStore) and not store.path.exists():
        store = create_store(url)
    await store.open()
    await store.close()
    return store


def find_missing_methods(store: object) -> list[str]:
    """Return the names of the store methods that an object lacks."""
    return [name for name in _STORE_METHODS if not callable(getattr(store, name, None))]


def validate_store(store: object) -> Store:
    """Return the object as a store; raise ``UnsupportedStoreError`` if it is incomplete."""
    missing = [
        *find_missing_methods(store),
        *(name for name in _ATTRIBUTES if not hasattr(store, name)),
    ]
    if isinstance(store, Store) and not missing:
        return store
    name = type(store).__name__
    if "read_events" in missing and _STORAGE_METHODS.isdisjoint(missing):
        raise UnsupportedStoreError(
            f"{name}: not a store; wrap it, SimpleStore({name}(…)) of "
            f"a2a_runtime.features.simple_stores, or add {', '.join(missing)}"
        )
    raise UnsupportedStoreError(f"{name}: not a store; add {', '.join(missing)}")


def check_store(store: object) -> None:
    """Refuse what is no store, and no URL of one, before anything is opened; a name
    (``module:attribute``) is imported at the start.
    """
    if isinstance(store, str):
        if not is_object_name(store):
            create_store(store)
    elif not isinstance(store, Store) and (
        isinstance(store, PurePath) or len(find_missing_methods(store)) == len(_STORE_METHODS)
    ):
        raise UnsupportedStoreError(f"store: {store!r} is not a store; use {_URL_FORMS}")
    else:
        validate_store(store)


def require_queue(store: Store) -> RunQueue:
    """Return a store as the queue of workers, or raise ``UnsupportedStoreError``."""
    if not isinstance(store, RunQueue):
        raise UnsupportedStoreError(
            f"{type(store).__name__}: no queue for workers, which this store does not have; "
            'set store = "postgresql://…" (A2A_STORE), or remove runs_on = "workers" (A2A_RUNS_ON)'
        )
    return store


def is_shared(store: Store | str) -> bool:
    """Return whether several processes may use a store, or the one for a URL."""
    if isinstance(store, str):
        row = STORES.get(to_plain_url(store).partition("://")[0])
        return row is not None and row.is_shared
    return store.notifier() is not None
