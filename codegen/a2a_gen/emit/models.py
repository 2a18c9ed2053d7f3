"""Pydantic models: one module per family of types, made by datamodel-code-generator from normalised schemas.

Every name that it chose is compared with the name of the intermediate form, because everything else that is generated uses those.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Final

from datamodel_code_generator import GenerateConfig, InputFileType, PythonVersion, generate
from datamodel_code_generator.enums import DataModelType, NamingStrategy, StrictTypes, TargetPydanticVersion
from datamodel_code_generator.parser import LiteralType

from a2a_gen.emit.normalizer import BASE, imports, normalize
from a2a_gen.emit.render import docstring, header
from a2a_gen.ir.model import Contract
from a2a_gen.ir.types import Enumeration, Family, NamedType, Record
from a2a_gen.problems import ContractError, Place, Problem
from a2a_gen.source.documents import Document

# datamodel-code-generator as every package is made with it: the options that all have in common, in one place.
#
# It writes the bodies of modules: our templates say how a class looks, ruff orders and formats afterwards, and the head of a file is ours.
#

_TEMPLATES: Final = Path(__file__).parent / "dmcg"
_MARK: Final = "# body\n"


def options(base_class: str) -> GenerateConfig:
    """Give what all packages have in common; who makes one sets the rest."""
    return GenerateConfig(
        input_file_type=InputFileType.JsonSchema,
        output_model_type=DataModelType.PydanticV2BaseModel,
        target_python_version=PythonVersion.PY_311,
        target_pydantic_version=TargetPydanticVersion.V2_12,
        base_class=base_class,
        custom_template_dir=_TEMPLATES,
        custom_file_header=_MARK.strip(),
        # Names and types
        snake_case_field=True,
        naming_strategy=NamingStrategy.PrimaryFirst,
        use_annotated=True,
        field_constraints=True,
        strict_nullable=True,
        use_exact_imports=True,
        use_object_type=True,
        use_standard_collections=True,
        use_type_alias=True,
        use_union_operator=True,
        skip_root_model=True,
        # Text
        use_field_description=True,
        use_schema_description=True,
        use_single_line_docstring=True,
        disable_future_imports=True,
        disable_timestamp=True,
        formatters=[],
        # Nothing from outside
        allow_remote_refs=False,
        strict_refs=True,
    )


def bodies(folder: Path, config: GenerateConfig) -> dict[str, str]:
    """Make the code of every module of a folder of schemas, without its head, by the module's name."""
    made = generate(folder, config=config)
    modules = made.items() if isinstance(made, dict) else ()
    return {path[0].removesuffix(".py"): str(code).partition(_MARK)[2] for path, code in modules}


def emit(contract: Contract, documents: Mapping[str, Document]) -> dict[str, bytes]:
    """Write the models of every dialect, by path relative to the package."""
    files: dict[str, bytes] = {}
    for dialect in sorted({family.dialect for family in contract.families}):
        families = tuple(family for family in contract.families if family.dialect == dialect)
        files |= _package(dialect, families, contract, documents)
    return files


def _package(dialect: str, families: tuple[Family, ...], contract: Contract, documents: Mapping[str, Document]) -> dict[str, bytes]:
    made = _generate(families, contract, documents)
    problems = [problem for family in families for problem in _differences(family, made.get(family.module, ""))]
    if problems:
        raise ContractError(problems)
    modules = {f"{dialect}/{family.module}.py": _module(family, made[family.module], contract) for family in families}
    return {f"{dialect}/__init__.py": _exports(dialect, families, contract), **modules}


# --- datamodel-code-generator ----------------------------------------------------------------------------------------------------------------------


def _generate(families: tuple[Family, ...], contract: Contract, documents: Mapping[str, Document]) -> dict[str, str]:
    """Give the code of every module by the module's name."""
    with TemporaryDirectory(prefix="a2a-gen-") as folder:
        # References from file to file need files.
        for family in families:
            schema = json.dumps(normalize(family, documents[family.file].data, contract))
            Path(folder, PurePosixPath(family.file).name).write_text(schema, encoding="utf-8")
        return bodies(Path(folder), _config(families))


def _config(families: tuple[Family, ...]) -> GenerateConfig:
    older = {
        f"{named.name}.{field.wire}": (field.wire, *field.aliases)
        for family in families
        for named in family.types
        if isinstance(named, Record)
        for field in named.fields
        if field.aliases
    }
    config = options(f"{BASE}.WireModel")
    config.aliases = {member: list(names) for member, names in older.items()}
    config.serialization_aliases = {member: names[0] for member, names in older.items()}
    config.capitalise_enum_members = True
    config.strict_types = [StrictTypes.bool, StrictTypes.int, StrictTypes.float]
    config.apply_default_values_for_required_fields = True
    config.enum_field_as_literal = LiteralType.Off
    config.set_default_enum_member = True
    config.use_specialized_enum = True
    config.use_subclass_enum = True
    return config


# --- modules ---------------------------------------------------------------------------------------------------------------------------------------


def _module(family: Family, body: str, contract: Contract) -> bytes:
    head = f"{header([family.file])}\n{docstring(family.description, 0)}\n"
    text = f"{head}\n{imports(family, contract)}{body.lstrip()}"
    return text.replace(f"from {BASE} import ", "from ..base import ").encode()


def _exports(dialect: str, families: tuple[Family, ...], contract: Contract) -> bytes:
    title = next((each.title for each in contract.dialects if each.name == dialect), dialect)
    lines = "".join(f"from .{family.module} import {', '.join(sorted(named.name for named in family.types))}\n" for family in families)
    names = sorted(named.name for family in families for named in family.types)
    listed = "".join(f"    {name!r},\n" for name in names)
    text = f"{header(family.file for family in families)}\n{docstring(f'The types of {title}.', 0)}\n\n{lines}\n__all__ = [\n{listed}]\n"
    return text.encode()


# --- comparing names -------------------------------------------------------------------------------------------------------------------------------


def _differences(family: Family, body: str) -> Iterator[Problem]:
    """Find every name that is not the one that the rest of the generated code will use."""
    made = {name: members for node in ast.parse(body).body for name, members in _declared_names(node)}
    for named in family.types:
        if named.name not in made:
            yield _problem(named.place, f"the model of {named.name} has another name: the module has {', '.join(sorted(made))}")
        elif made[named.name] != (wanted := _members(named)):
            yield _problem(named.place, f"the members of {named.name} have the names {made[named.name]} instead of {wanted}")
    for name in sorted(made.keys() - {named.name for named in family.types}):
        yield _problem(Place(family.file), f"there is a model {name} that no type of the contract has asked for")


def _declared_names(node: ast.stmt) -> Iterator[tuple[str, tuple[str, ...]]]:
    match node:
        case ast.ClassDef(name=name, body=body):
            names = [_target(each) for each in body]
            yield name, tuple(each for each in names if each and not each.startswith("__"))
        case ast.Assign():
            yield _target(node), ()
        case _:
            return  # imports and docstrings


def _target(node: ast.stmt) -> str:
    match node:
        case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
            return name
        case _:
            return ""


def _members(named: NamedType) -> tuple[str, ...]:
    match named:
        case Record():
            return tuple(field.python for field in named.fields)
        case Enumeration():
            return tuple(value.python for value in named.values)
        case _:
            return ()


def _problem(place: Place, text: str) -> Problem:
    return Problem(place, "A2A-M01", text, "give the type or member a name that is no word of Python or Pydantic, and that no other one has")
