"""Jobs as mappings: their text in YAML, and values put into them."""

from __future__ import annotations

# Type checkers take it as true; to import `typing` would take half of the time of this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

#: Words that some readers of YAML take for another value than a text.
NO_TEXTS = {"true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf"}


def _scalar(value: Any) -> str:
    """A value on one line: as it is where every reader takes it for this text, else as JSON."""
    import json

    if isinstance(value, str):
        words = value.replace("-", "_").replace(" ", "_")
        if words.isidentifier() and words.isascii() and value == value.strip():
            if value.lower() not in NO_TEXTS and value[0].isalpha():
                return value
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_scalar(element) for element in value)}]"
    if hasattr(value, "items"):
        inner = (f"{_scalar(str(key))}: {_scalar(of)}" for key, of in value.items())
        return f"{{{', '.join(inner)}}}"
    if hasattr(value, "item"):
        value = value.item()
    # JSON is YAML.
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def yaml_of(job: Mapping[str, Any], indent: str = "") -> str:
    """A mapping in YAML: blocks down to where one line holds the rest."""
    text = ""
    for key, value in job.items():
        line = f"{indent}{_scalar(str(key))}: {_scalar(value)}"
        nested = hasattr(value, "items") and any(hasattr(of, "items") for of in value.values())
        if nested or (hasattr(value, "items") and len(line) > 90):
            text += f"{indent}{_scalar(str(key))}:\n{yaml_of(value, indent + '  ')}"
        else:
            text += line + "\n"
    return text


def merged(job: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """A job with the values of another one: mappings are merged, everything else is replaced."""
    found = dict(job)
    for key, value in more.items():
        both = hasattr(value, "items") and hasattr(found.get(key), "items")
        found[key] = merged(found[key], value) if both else value
    return found


def placed(job: Mapping[str, Any], path: Sequence[str], value: Any) -> dict[str, Any]:
    """A job with this value at this path, in place of what is there."""
    first, *rest = path
    return {**job, first: placed(job.get(first, {}), rest, value) if rest else value}
