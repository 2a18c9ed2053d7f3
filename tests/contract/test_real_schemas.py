"""Schemas of real projects, from packages of PyPI and npm: each becomes a package that reads what its schema accepts, or is refused with a cure.

Twelve run always, all of them in `make soak`.
"""

from __future__ import annotations

import json
import tomllib
from importlib import import_module
from itertools import islice
from pathlib import Path

import jsonschema_rs
import pytest
from contract.plain_packages import imported
from contract.skill_cases import neighbours
from peers.environments import environment

from a2a_gen.problems import ContractError
from a2a_gen.source.yaml_text import parse

ROOT = Path(__file__).parents[2]
VENDOR, STORE, CYCLONEDX = "check_jsonschema/builtin_schemas/vendor", "validate_pyproject_schema_store/resources", "cyclonedx/schema/_res"


def _read_tool(name: str) -> object:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"][name]


WORKFLOW = parse((ROOT / "docs" / "ci" / "contract-gate.yml").read_text(encoding="utf-8"))[0]
BOM = {"$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json", "bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1, "components": []}
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
    f"{VENDOR}/compose-spec.json": {"services": {"web": {"image": "nginx", "ports": ["80:80", {"target": 443}], "environment": {"A": 1, "B": None}}}},
    f"{VENDOR}/dependabot.json": {"version": 2, "updates": [{"package-ecosystem": "pip", "directory": "/", "schedule": {"interval": "daily"}}]},
    f"{VENDOR}/readthedocs.json": {
        "version": 2,
        "build": {"os": "ubuntu-24.04", "tools": {"python": "3.12"}},
        "sphinx": {"configuration": "conf.py"},
    },
    f"{VENDOR}/github-actions.json": {"name": "a", "description": "b", "runs": {"using": "node20", "main": "index.js"}},
    "npm:turbo/package/schema.json": {"tasks": {"build": {"dependsOn": ["^build"], "outputs": ["dist/**"], "cache": True}}, "ui": "stream"},
    "npm:@changesets/config/package/schema.json": {"access": "public", "baseBranch": "main", "fixed": [["a", "b"]], "commit": False},
    "jsonschema_specifications/schemas/draft7/metaschema.json": {"type": ["object", "null"], "properties": {"a": {"$ref": "#"}}, "default": None},
}
"""The schemas of every run, each with a document that it accepts."""
REFUSED = {
    "lerna-schema.json": "is not part of this project",
    "typedoc-config.schema.json": "is not a supported draft",
    "renovate.json": "are too many to generate",
    "drone-ci.json": "cannot be read",
    "pdm.schema.json": "is not part of this project",
    **dict.fromkeys(("nbformat.v3.schema.json", "nbformat.v4.schema.json", "nbformat.v4.5.schema.json"), "is not a supported draft"),
}
"""What is refused, and why: too large, incomplete without files of others, of draft-04, or of an address that is no draft."""


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
    files = [file, *(file.parent / f"{name}.SNAPSHOT.schema.json" for name in ("cryptography-defs", "jsf-0.82", "spdx") if CYCLONEDX in path)]
    return {each.name: each.read_text(encoding="utf-8") for each in files if each.is_file()}


def check(path: str, tmp_path: Path, example: object) -> None:
    """Build and import a package, and compare it with its schema on an example and on documents near it."""
    files = read_files(path)
    name = Path(path).name
    # Their files refer to each other by names that are not those of their $id.
    schemas = {each: {key: value for key, value in json.loads(str(body)).items() if key != "$id"} for each, body in files.items()}
    registry = jsonschema_rs.Registry([(f"file:///{each}", schema) for each, schema in schemas.items()])
    judge = jsonschema_rs.validator_for(schemas[name], base_uri=f"file:///{name}", registry=registry, validate_formats=True, offline=True)
    with imported(tmp_path, files) as package:
        made = import_module(f"{package}.schemas")
        form = next(each for each in vars(made).values() if isinstance(each, made.PackageSchema))  # of the first file, whole
        assert judge.is_valid(example)
        for document in islice(neighbours(example), 0, 400, 3):  # type: ignore[arg-type]  # all are JSON
            assert form.validator.is_valid(document) == judge.is_valid(document), document
            if judge.is_valid(document):
                assert form.serialize(form.parse(document)) == document


@pytest.mark.peer
@pytest.mark.slow
@pytest.mark.parametrize("path", ALWAYS, ids=show_path)
def test_real_schemas_of_every_run(path: str, tmp_path: Path) -> None:
    """Each reads a real document, and is its schema near it."""
    check(path, tmp_path, ALWAYS[path])


OTHERS = (
    *(f"{VENDOR}/{name}.json" for name in ("azure-pipelines", "bamboo-spec", "bitbucket-pipelines", "buildkite", "changie", "circle-ci")),
    *(f"{VENDOR}/{name}.json" for name in ("citation-file-format", "cloudbuild", "codecov", "drone-ci", "github-issue-forms", "gitlab-ci")),
    *(f"{VENDOR}/{name}.json" for name in ("meltano", "mergify", "renovate", "taskfile", "travis", "woodpecker-ci")),
    *(f"{STORE}/{name}.schema.json" for name in ("cibuildwheel", "maturin", "pdm", "pixi", "poe", "poetry", "pyright", "scikit-build")),
    *(f"{STORE}/{name}.schema.json" for name in ("setuptools", "tombi", "tox", "ty", "uv")),
    *(f"{CYCLONEDX}/bom-{version}.SNAPSHOT.schema.json" for version in ("1.2", "1.4", "1.5", "1.7")),
    *(f"nbformat/{name}.schema.json" for name in ("v3/nbformat.v3", "v4/nbformat.v4", "v4/nbformat.v4.5")),
    "altair/vegalite/v6/schema/vega-lite-schema.json",
    *("npm:@angular/cli/package/lib/config/schema.json", "npm:@biomejs/biome/package/configuration_schema.json"),
    *("npm:@cspell/cspell-types/package/cspell.schema.json", "npm:knip/package/schema.json", "npm:lerna/package/schemas/lerna-schema.json"),
    *("npm:markdownlint/package/schema/markdownlint-config-schema-strict.json", "npm:oxlint/package/configuration_schema.json"),
    *(f"npm:nx/package/schemas/{name}-schema.json" for name in ("nx", "project", "workspace", "migrations")),
    *("npm:typedoc/package/typedoc-config.schema.json", "npm:vega/package/build/vega-schema.json"),
    "npm:vega-lite/package/build/vega-lite-schema.json",
)


@pytest.mark.peer
@pytest.mark.soak
@pytest.mark.parametrize("path", OTHERS, ids=show_path)
def test_all_real_schemas(path: str, tmp_path: Path) -> None:
    """Each builds and imports, or is refused with a cure."""
    files, text = read_files(path), REFUSED.get(Path(path).name)
    if text is None:
        with imported(tmp_path, files) as package:
            types = import_module(f"{package}.types")
            assert [name for name in types.__all__ if getattr(types, name) is None] == []
    else:
        with pytest.raises(ContractError, match=text), imported(tmp_path, files):
            pass
