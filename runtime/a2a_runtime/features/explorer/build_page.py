"""The page of the explorer: ES modules and a style sheet, joined into one HTML file.

    page/index.html    the frame, with a mark for the styles and one for the modules
    page/*.css         in the order of their names
    page/*.js          each becomes a function of its own, after those that it imports

A module has only these imports and exports, so that joining needs no parser of JavaScript; anything
else is an error with its place:

    import { name, other } from "./module.js";
    export const name = …
    export function name(…
    export async function name(…
    export class Name …

The wheel has the joined file and not its sources; a checkout joins them on first use. Only the
standard library is imported, because the build of the wheel runs this module too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

SOURCES = Path(__file__).with_name("page")
_STYLE_MARK = "/* styles */"
_MODULE_MARK = "/* modules */"
_IMPORT = re.compile(
    r'^import \{ (?P<names>[\w, ]+) \} from "\./(?P<module>\w+)\.js";\n', re.MULTILINE
)
_EXPORT = re.compile(
    r"^export (?P<kind>const|function|async function|class) (?P<name>\w+)", re.MULTILINE
)
_OTHER = re.compile(r"^(?:import|export)\b.*$", re.MULTILINE)
_CLOSING = re.compile(r"</(?:script|style)|<!--", re.IGNORECASE)


class PageError(Exception):
    """A source of the page cannot be joined; the message has its place."""


def build_page(sources: Path = SOURCES) -> str:
    """Join the sources into the HTML file."""
    modules = {path.stem: path.read_text(encoding="utf-8") for path in sorted(sources.glob("*.js"))}
    styles = "".join(path.read_text(encoding="utf-8") for path in sorted(sources.glob("*.css")))
    frame = (sources / "index.html").read_text(encoding="utf-8")
    script = "".join(_wrap(name, modules[name], modules) for name in sort_modules(modules))
    for kind, text in (("script", script), ("style", styles)):
        if found := _CLOSING.search(text):
            raise PageError(
                f"{kind}: {found.group()!r} would end it in HTML; write it in two pieces"
            )
    return frame.replace(_STYLE_MARK, f"\n{styles}").replace(_MODULE_MARK, f"\n{script}")


def sort_modules(modules: Mapping[str, str]) -> list[str]:
    """Sort modules so that each comes after those that it imports."""
    imports = {
        name: [found["module"] for found in _IMPORT.finditer(text)]
        for name, text in modules.items()
    }
    for name, wanted in imports.items():
        for missing in set(wanted) - modules.keys():
            raise PageError(f"{name}.js: imports {missing}.js, which is not there")
    try:
        return [*TopologicalSorter(imports).static_order()]
    except CycleError as error:
        raise PageError(
            f"{' imports '.join(map(str, error.args[1]))}: modules import each other; let "
            "one of them emit a topic"
        ) from error


def _wrap(name: str, text: str, modules: Mapping[str, str]) -> str:
    """Write a module as a constant that holds its exports."""
    for found in _IMPORT.finditer(text):
        exported = {each["name"] for each in _EXPORT.finditer(modules[found["module"]])}
        for missing in set(found["names"].split(", ")) - exported:
            raise PageError(f"{name}.js: {found['module']}.js does not export {missing}")
    exports = [found["name"] for found in _EXPORT.finditer(text)]
    body = _EXPORT.sub(
        r"\g<kind> \g<name>", _IMPORT.sub(r"const { \g<names> } = \g<module>_module;\n", text)
    )
    if other := _OTHER.search(body):
        raise PageError(
            f"{name}.js: {other.group()!r} is an import or export that joining does not know"
        )
    return (
        f"const {name}_module = (() => {{\n{body.rstrip()}\nreturn {{ {', '.join(exports)} "
        f"}};\n}})();\n"
    )
