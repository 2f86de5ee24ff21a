#!/usr/bin/env python3
"""Writes into configs/schema/config.schema.json what each operator has.

    update_schema.py PROGRAM            from `PROGRAM list --json`
    update_schema.py PROGRAM --check    says whether it is out of date, exit code 1

The rest of the schema is written by hand. Needs nothing but Python 3.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

SCHEMA = Path(__file__).resolve().parent.parent / "configs" / "schema" / "config.schema.json"
MOST = {"batch": 1 << 20, "seq": 1 << 32, "heads": 1 << 16, "key_dim": 512, "value_dim": 512,
        "key_seq": 1 << 32, "key_heads": 1 << 16, "model_dim": 1 << 20, "columns": 1 << 24,
        "sequences": 1 << 20}


def unique(values):
    return list(dict.fromkeys(values))


def extent(name):
    return {"type": "integer", "minimum": 1, "maximum": MOST[name]}


def one_or_list(schema):
    return {"oneOf": [schema, {"type": "array", "items": schema, "minItems": 1}]}


def shapes(operator):
    """A list of shapes, {"product": axes} or {"zip": axes}."""
    names = operator["extents"] + operator["optional_extents"]
    common = {"type": "object", "required": operator["extents"], "additionalProperties": False}
    shape = common | {"properties": {name: extent(name) for name in names}}
    tuple_ = {"type": "array", "prefixItems": [extent(name) for name in operator["extents"]],
              "items": False, "minItems": len(operator["extents"])}
    axes = common | {"properties": {name: one_or_list(extent(name)) for name in names}}
    combined = [{"type": "object", "properties": {kind: axes}, "required": [kind],
                 "additionalProperties": False} for kind in ("product", "zip")]
    return {"oneOf": [{"type": "array", "items": {"oneOf": [shape, tuple_]}, "minItems": 1}, *combined]}


def option(axis):
    values = list(axis["values"])
    if "true" in values:
        values += [True, False]
    return one_or_list({"enum": values}) | {"description": axis["meaning"]}


def all_or_some(values, others=()):
    some = {"type": "array", "items": {"enum": values + list(others)}, "minItems": 1}
    return {"oneOf": [{"const": "all"}, some]}


def sweep(operator):
    variants = unique(v["name"] for v in operator["variants"])
    strings = {name: {"type": "string"} for name in operator["inputs"]}
    return {
        "direction": one_or_list({"enum": operator["directions"]}),
        "variants": all_or_some(variants, ["auto"]),
        "gates": all_or_some(operator["gates"]),
        "shapes": shapes(operator),
        "options": {"type": "object", "additionalProperties": False,
                    "properties": {axis["name"]: option(axis) for axis in operator["options"]}},
        "tiles": {"type": "object", "propertyNames": {"enum": variants}},
        "tensors": {"type": "object", "required": ["file"], "additionalProperties": False,
                    "properties": {"file": {"type": "string", "minLength": 1}} | strings},
    }


def updated(schema, operators):
    """Each operator's part stands in $defs; a sweep that names the operator must satisfy it."""
    defs = {name: part for name, part in schema["$defs"].items() if not name.startswith("sweep_of_")}
    cases = []
    for operator in operators:
        name = "sweep_of_" + operator["name"]
        defs[name] = {"properties": sweep(operator)}
        cases.append({"if": {"properties": {"operator": {"const": operator["name"]}}},
                      "then": {"$ref": "#/$defs/" + name}})
    defs["sweep"]["properties"]["operator"] = {"enum": [o["name"] for o in operators]}
    defs["sweep"]["allOf"] = cases
    return schema | {"$defs": defs}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--check", action="store_true", help="write nothing, exit with 1 when stale")
    options = parser.parse_args()
    listed = subprocess.run([options.program, "list", "--json"], capture_output=True, check=True)
    text = SCHEMA.read_text()
    new = json.dumps(updated(json.loads(text), json.loads(listed.stdout)), indent=1) + "\n"
    if options.check:
        if new != text:
            print(f"{SCHEMA.name} is not what the program has; run scripts/update_schema.py PROGRAM")
            return 1
        return 0
    SCHEMA.write_text(new)
    return 0


if __name__ == "__main__":
    sys.exit(main())
