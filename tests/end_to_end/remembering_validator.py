"""The standard's JSON Schema validator, fast enough for all committed records."""
import json
import math

from jsonschema import Draft202012Validator, validators


def remembering(schema):
    """The standard's validator, which goes through a subschema once for each scalar, and for each list
    or object of a few scalars: the committed records hold half a million numbers, and of most all that
    a schema asks is whether they are some. Only what is right is remembered, so that every fault is
    found where it stands."""
    right, of_kind = set(), {}

    def asks_kind_alone(part):
        """Whether numbers that are whole, or are not, are all the same to it."""
        if id(part) not in of_kind:
            if isinstance(part, dict) and part.get("$ref", "").startswith("#/$defs/"):
                of_kind[id(part)] = len(part) == 1 and asks_kind_alone(
                    schema["$defs"][part["$ref"].removeprefix("#/$defs/")])
            else:
                of_kind[id(part)] = isinstance(part, dict) and all(
                    key in ("type", "description")
                    or key == "enum" and all(isinstance(value, str) for value in values)
                    or key in ("oneOf", "anyOf") and all(map(asks_kind_alone, values))
                    for key, values in part.items())
        return of_kind[id(part)]

    def key_of(value, part):
        """What is the same for values that are all right, or all wrong; None for what is not remembered."""
        if isinstance(value, (dict, list)):
            parts = value.values() if isinstance(value, dict) else value
            if len(value) > 16 or any(isinstance(one, (dict, list)) for one in parts):
                return None
            return id(part), json.dumps(value)
        if type(value) in (int, float) and math.isfinite(value) and asks_kind_alone(part):
            return id(part), value == int(value)
        return id(part), type(value), value

    def descend(validator, value, part, place):
        key = key_of(value, part)
        errors = validator.descend(value, part, path=place, schema_path=None)
        if key is None:
            yield from errors
            return
        errors = list(errors)
        if not errors:
            right.add(key)
        yield from errors

    def items(validator, part, instance, whole):
        if isinstance(instance, list):
            for place in range(len(whole.get("prefixItems", [])), len(instance)):
                if key_of(instance[place], part) not in right:
                    yield from descend(validator, instance[place], part, place)

    def properties(validator, parts, instance, _):
        if isinstance(instance, dict):
            for name, part in parts.items():
                if name in instance and key_of(instance[name], part) not in right:
                    yield from descend(validator, instance[name], part, name)

    def additional(validator, part, instance, whole):
        if not isinstance(part, dict) or "patternProperties" in whole:
            yield from usual(validator, part, instance, whole)
        elif isinstance(instance, dict):
            for name in instance.keys() - whole.get("properties", {}).keys():
                if key_of(instance[name], part) not in right:
                    yield from descend(validator, instance[name], part, name)

    def reference(validator, target, instance, whole):
        name = target.removeprefix("#/$defs/")
        if name == target:
            yield from usual_reference(validator, target, instance, whole)
        elif key_of(instance, schema["$defs"][name]) not in right:
            yield from descend(validator, instance, schema["$defs"][name], None)

    usual = Draft202012Validator.VALIDATORS["additionalProperties"]
    usual_reference = Draft202012Validator.VALIDATORS["$ref"]
    return validators.extend(Draft202012Validator, {
        "items": items, "properties": properties, "additionalProperties": additional,
        "$ref": reference})(schema)
