"""Validates JSON by the schemas of tools/api/schemas, with the keywords that these use and no others: Debian's Python has no jsonschema.

The schemas allow members that they do not name, since new ones may appear. `validate` does not, so that it finds members without a schema."""

import functools
import json
import re

from driver import ROOT

FOLDER = ROOT / "tools" / "api" / "schemas"
SUFFIX = ".schema.json"
TYPES = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool, "null": type(None)}
KEYWORDS = {"$schema", "$defs", "$ref", "title", "description", "type", "const", "minimum", "required", "properties", "patternProperties", "additionalProperties", "items", "minItems", "maxItems", "allOf", "anyOf"}


class SchemaError(Exception):
    """A schema with something that this module does not understand."""


def names():
    return sorted(path.name[: -len(SUFFIX)] for path in FOLDER.glob(f"*{SUFFIX}"))


def of_library():
    """Names of the schemas of what a function of the library gives: their titles or descriptions name it."""
    return [name for name in names() if name != "parts" and re.search(r"\b(npar_\w+|NPAR_\w+)", read(name)["title"] + read(name)["description"])]


@functools.lru_cache(maxsize=None)
def read(name):
    return json.loads((FOLDER / f"{name}{SUFFIX}").read_text())


class Schema:
    """A schema or a part of one, and the file in which it is."""

    applied = set()  # identities of the contents that some value was compared with

    def __init__(self, content, file):
        unknown = set(content) - KEYWORDS
        if unknown:
            raise SchemaError(f"{file}: unknown keywords {sorted(unknown)}")
        self.content, self.file = content, file

    @classmethod
    def of(cls, name):
        return cls(read(name), name)

    def part(self, content):
        return Schema(content, self.file)

    def list_of(self, keyword):
        return [self.part(each) for each in self.content.get(keyword, [])]

    def referred(self):
        """The schema that `$ref` names, in a list; empty without."""
        if "$ref" not in self.content:
            return []
        file, _, path = self.content["$ref"].partition("#/")
        file = file[: -len(SUFFIX)] or self.file
        return [Schema(functools.reduce(lambda target, step: target[step], path.split("/"), read(file)), file)]

    def of_member(self, name):
        """The schemas that this part itself has for a member of its objects."""
        found = [each for key, each in self.content.get("properties", {}).items() if key == name]
        found += [each for pattern, each in self.content.get("patternProperties", {}).items() if re.search(pattern, name)]
        if not found and "additionalProperties" in self.content:
            found = [self.content["additionalProperties"]]
        return [self.part(each) for each in found]

    def knows(self, name):
        return bool(self.of_member(name)) or any(each.knows(name) for each in (*self.referred(), *self.list_of("allOf"), *self.list_of("anyOf")))

    def errors(self, value, place="", closed=True, alone=True):
        """Returns what is wrong with a value, each with its place. `closed`: so is a member without a schema. Not `alone`: other schemas hold for
        the same value, and may have its members."""
        self.applied.add(id(self.content))
        wanted = self.content.get("type", [])
        wanted = [wanted] if isinstance(wanted, str) else wanted
        if wanted and not any(isinstance(value, TYPES[one]) and (one == "boolean") == isinstance(value, bool) for one in wanted):
            return [f"{place}: {value!r:.60} is not of type {' or '.join(wanted)}"]
        found = []
        if "const" in self.content and (value != self.content["const"] or isinstance(value, bool)):
            found.append(f"{place}: {value!r:.60} is not {self.content['const']!r}")
        if isinstance(value, (int, float)) and value < self.content.get("minimum", value):
            found.append(f"{place}: {value} is below {self.content['minimum']}")
        if isinstance(value, list):
            if not self.content.get("minItems", 0) <= len(value) <= self.content.get("maxItems", len(value)):
                found.append(f"{place}: it has {len(value)} elements")
            if "items" in self.content:
                items = self.part(self.content["items"])
                found += [error for number, each in enumerate(value) for error in items.errors(each, f"{place}[{number}]", closed)]
        if isinstance(value, dict):
            found += [f"{place}: member '{name}' is missing" for name in self.content.get("required", []) if name not in value]
            found += [error for name, each in value.items() for schema in self.of_member(name) for error in schema.errors(each, f"{place}.{name}", closed)]
            found += [f"{place}: member '{name}' has no schema" for name in value if closed and alone and not self.knows(name)]
        for schema in (*self.referred(), *self.list_of("allOf")):
            found += schema.errors(value, place, closed, alone=False)
        choices = [schema.errors(value, place, closed, alone=False) for schema in self.list_of("anyOf")]
        return found + (min(choices, key=len) if choices else [])

    def parts(self):
        """This schema and all its parts."""
        inside = [each for keyword in ("properties", "patternProperties", "$defs") for each in self.content.get(keyword, {}).values()]
        inside += [self.content[keyword] for keyword in ("items", "additionalProperties") if keyword in self.content]
        inside += [each for keyword in ("allOf", "anyOf") for each in self.content.get(keyword, [])]
        yield self
        for each in inside:
            yield from self.part(each).parts()

    def members(self):
        """{name: schema} of the members that this part itself names."""
        return {name: self.part(each) for name, each in self.content.get("properties", {}).items()}

    def is_applied(self):
        return id(self.content) in self.applied


def validate(document, name):
    """Returns what is wrong with a document: nothing if it has exactly what its schema says, and the schema's number first."""
    if not isinstance(document, dict) or next(iter(document), None) != "schema":
        return ["'schema' is not the first member"]
    return Schema.of(name).errors(document)
