"""datamodel-code-generator as every package is made with it: the options that all have in common, in one place.

It writes the bodies of modules: our templates say how a class looks, ruff orders and formats afterwards, and the head of a file is ours.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from datamodel_code_generator import GenerateConfig, InputFileType, PythonVersion, generate
from datamodel_code_generator.enums import DataModelType, NamingStrategy, TargetPydanticVersion

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
