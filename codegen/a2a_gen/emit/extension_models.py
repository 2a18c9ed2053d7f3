"""Models of a dialect that extends another: subclasses of its models, with the members that are
new.

Types that are equal are those of the older dialect, so a value of the newer one is accepted
wherever the older one is. The bodies of members are cut out of the modules that
datamodel-code-generator writes for the whole dialect.

    class Task(v1_0.Task):
        artifacts: list[Artifact] | None = None       its items have new members
        generation: Integer | None = None             it is new itself
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from itertools import chain

from a2a_gen.emit.normalizer import BASE, imports
from a2a_gen.emit.render import docstring, header
from a2a_gen.ir.extension import find_changed_fields, find_changed_types
from a2a_gen.ir.model import Contract, ContractDialect, iter_types
from a2a_gen.ir.types import Family, ListOf, Record

_PYRIGHT = "pyright: ignore[reportIncompatibleVariableOverride]  # models are frozen"
_MYPY = "type: ignore[assignment]"


def emit_extension(
    dialect: ContractDialect,
    families: tuple[Family, ...],
    contract: Contract,
    bodies: Mapping[str, str],
) -> dict[str, bytes]:
    """Emit the package of an extending dialect from the bodies of all of its modules, by path
    relative to the package.
    """
    changed = find_changed_types(contract, dialect)
    homes: dict[str, str] = {}
    for family in families:
        homes |= {str(each.name): str(family.module) for each in family.types}
    files = {f"{dialect.name}/__init__.py": _write_exports(dialect, families, changed)}
    for family in families:
        if any(each.name in changed for each in family.types):
            writer = _ModuleWriter(dialect, family, contract, changed, homes)
            files[f"{dialect.name}/{family.module}.py"] = writer.write(bodies[family.module])
    return files


def _write_exports(
    dialect: ContractDialect, families: tuple[Family, ...], changed: Collection[str]
) -> bytes:
    names = sorted(str(each.name) for each in iter_types(families))
    older = ", ".join(name for name in names if name not in changed)
    lines = [f"from ..{dialect.extends} import {older}\n"]
    for family in families:
        found = sorted(each.name for each in family.types if each.name in changed)
        if found:
            lines.append(f"from .{family.module} import {', '.join(found)}\n")
    listed = "".join(f"    {name!r},\n" for name in names)
    head = f"{header(family.file for family in families)}\n"
    head += docstring(f"The types of {dialect.title}.", 0)
    return f"{head}\n\n{''.join(lines)}\n__all__ = [\n{listed}]\n".encode()


class _ModuleWriter:
    """Writes one module of an extending dialect."""

    def __init__(
        self,
        dialect: ContractDialect,
        family: Family,
        contract: Contract,
        changed: frozenset[str],
        homes: Mapping[str, str],
    ) -> None:
        self._dialect = dialect
        self._family = family
        self._contract = contract
        self._changed = changed
        self._homes = homes

    def write(self, body: str) -> bytes:
        """Write the module from the body of the whole one."""
        tree = ast.parse(body)
        kept = [
            node
            for node in tree.body
            if isinstance(node, ast.ClassDef) and node.name in self._changed
        ]
        classes = [self._cut(node, body) for node in kept]
        libraries = [
            ast.unparse(node)
            for node in tree.body
            if isinstance(node, ast.Import | ast.ImportFrom) and not getattr(node, "level", 0)
        ]
        nodes = chain.from_iterable(ast.walk(ast.parse(text)) for text in classes)
        names = {each.id for each in nodes if isinstance(each, ast.Name)}
        head = f"{header([self._family.file])}\n{docstring(self._family.description, 0)}\n\n"
        head += imports(self._family, self._contract)
        own = "\n".join(
            (*libraries, f"from .. import {self._dialect.extends}", *self._import_types(names))
        )
        text = f"{head}{own}\n\n\n" + "\n\n\n".join(classes) + "\n"
        return text.replace(f"from {BASE} import ", "from ..base import ").encode()

    def _import_types(self, names: Collection[str]) -> Iterator[str]:
        """Import the types that the classes use: changed ones from their modules, all others from
        the older dialect.
        """
        for name in sorted(self._homes.keys() & names):
            if name not in self._changed:
                yield f"from ..{self._dialect.extends} import {name}"
            elif self._homes[name] != self._family.module:
                yield f"from .{self._homes[name]} import {name}"

    def _cut(self, node: ast.ClassDef, body: str) -> str:
        """Cut a class out of its module, without the members that the older one has."""
        lines = body.splitlines()
        record = self._contract.type(self._dialect.name, node.name)
        older = self._contract.type(self._dialect.extends or "", node.name)
        if older is None or not isinstance(record, Record) or not isinstance(older, Record):
            return "\n".join(lines[node.lineno - 1 : node.end_lineno])
        wanted = find_changed_fields(self._contract, self._dialect, record, self._changed)
        cut = [f"class {node.name}({self._dialect.extends}.{node.name}):"]
        # the docstring stands before the members
        is_wanted = True
        name = ""
        for each in node.body:
            if isinstance(each, ast.AnnAssign | ast.Assign):
                name = ""
                if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
                    name = each.target.id
                is_wanted = name in wanted
            if is_wanted:
                text = lines[each.lineno - 1 : each.end_lineno]
                if isinstance(each, ast.AnnAssign):
                    text[-1] += self._comment(record, older, name)
                cut += text
        return "\n".join(cut)

    @staticmethod
    def _comment(record: Record, older: Record, name: str) -> str:
        """Tell type checkers that a member may have a narrower type than in the older model."""
        field = next(each for each in record.fields if each.python == name)
        if older.field(field.wire) is None:
            return ""
        # Mypy accepts a narrower type of a frozen member, but no list of a narrower type.
        if isinstance(field.type, ListOf):
            return f"  # {_MYPY}  # {_PYRIGHT}"
        return f"  # {_PYRIGHT}"
