#pragma once
// The part of the config schema that does not depend on operators, variants or policies.

#include <string_view>

namespace gla_bench {

inline constexpr std::string_view config_schema_frame = R"json(
{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "gla-bench config",
  "description": "What `gla-bench run`, `verify`, `plan`, `compile` and `bench` take.",
  "type": "object",
  "properties": {
    "$schema": {"type": "string"},
    "description": {"type": "string", "description": "One line, echoed in the records."},
    "backend": {
      "enum": ["auto", "host", "cuda"],
      "description": "auto: the GPU where there is one, else the host."
    },
    "candidates": {
      "type": "array",
      "items": {"type": "string", "minLength": 1},
      "minItems": 1,
      "description": "Paths of the manifests of kernels from outside the program (candidates.schema.json), from this file's folder. Their variants may then be named in sweeps."
    },
    "sweeps": {"type": "array", "items": {"$ref": "#/$defs/sweep"}, "minItems": 1},
    "policy": {"$ref": "#/$defs/policy"},
    "tuned": {
      "type": "string",
      "minLength": 1,
      "description": "Path of the tuned table that the variant \"auto\" goes by, from this file's folder (default: the user's own of the device, else the one that came with the program)."
    }
  },
  "required": ["sweeps"],
  "additionalProperties": false,
  "$defs": {
    "flags": {
      "oneOf": [{"type": "boolean"}, {"type": "array", "items": {"type": "boolean"}, "minItems": 1}]
    },
    "scale": {
      "oneOf": [
        {"type": "null"},
        {"type": "number", "minimum": -1000000.0, "maximum": 1000000.0, "not": {"const": 0}}
      ]
    },
    "dims": {
      "type": "array",
      "items": {"type": "integer", "minimum": 1, "maximum": 512},
      "minItems": 1,
      "maxItems": 16
    },
    "sweep": {
      "type": "object",
      "properties": {
        "operator": {},
        "direction": {},
        "variants": {
          "description": "all: every variant, which may then refuse a problem by name as long as it solves another. auto: what the tuned table chooses for each problem."
        },
        "refusals_allowed": {
          "type": "boolean",
          "description": "Whether `gate` accepts that a variant refuses every tile of a problem. Default: true for \"all\", else false."
        },
        "dtypes": {
          "type": "array",
          "items": {"enum": ["float32", "fp32", "float", "bfloat16", "bf16", "float16", "fp16", "half"]},
          "minItems": 1
        },
        "layouts": {"type": "array", "items": {"enum": ["seq_first", "head_first"]}, "minItems": 1},
        "gates": {"description": "Regimes of the inputs, or \"all\"."},
        "shapes": {
          "description": "A list of shapes (objects, or tuples of the operator's extents in their order), or {\"product\": axes} or {\"zip\": axes}."
        },
        "initial_state": {"$ref": "#/$defs/flags"},
        "final_state": {"$ref": "#/$defs/flags"},
        "scale": {
          "oneOf": [
            {"$ref": "#/$defs/scale"},
            {"type": "array", "items": {"$ref": "#/$defs/scale"}, "minItems": 1, "maxItems": 16}
          ],
          "description": "A scale, or a list of them; null: the operator's default."
        },
        "seed": {"type": "integer", "minimum": 0, "maximum": 18446744073709551615},
        "tiles": {
          "type": "object",
          "additionalProperties": {
            "type": "object",
            "properties": {
              "where": {
                "type": "array",
                "items": {"type": "string", "minLength": 1, "maxLength": 2000},
                "minItems": 1,
                "description": "Conditions on the axes that all have to hold: \"block_v <= chunk and chunk % 16 == 0\"."
              },
              "t1": {
                "type": "string",
                "minLength": 1,
                "description": "A T1 file (t1.schema.json) whose space is to be tried, in place of all else."
              }
            },
            "additionalProperties": {"type": "array", "items": {"type": "integer"}, "minItems": 1},
            "if": {"required": ["t1"]},
            "then": {"maxProperties": 1}
          },
          "description": "By variant and axis: the values to try. An axis that an implementation lacks keeps its default."
        },
        "arithmetic": {
          "type": "array",
          "items": {"enum": ["float32", "tf32", "bfloat16", "float16"]},
          "minItems": 1,
          "description": "What the products of a candidate may be computed in, as its variant declares: [\"float32\"] refuses tiles that round float32 inputs to tf32. All where it is not given."
        },
        "max_tiles": {
          "type": "integer",
          "minimum": 0,
          "maximum": 1000000,
          "description": "At most so many tiles of a variant per problem, in the order of its space (of drawn problems: in a drawn order); 0: all."
        },
        "rare_tiles": {
          "type": "boolean",
          "description": "Also tries the values of tile axes that were nowhere ahead in records (gla-bench list says which). They are left out where this is false or missing, unless `tiles` names their axis, a variant takes the problem with no others, or problems are drawn."
        },
        "tensors": {
          "description": "Inputs from a .safetensors file in place of drawn ones, with the names that they have there."
        },
        "options": {
          "description": "The operator's options: a value, or a list of values to try each. true and false stand for \"true\" and \"false\"."
        },
        "random": {
          "type": "object",
          "properties": {
            "cover": {
              "const": "pairs",
              "description": "As few problems as hold every pair of values of all axes, tile axes among them."
            },
            "problems": {
              "type": "integer",
              "minimum": 1,
              "maximum": 20000,
              "description": "How many; with `cover` at most so many, and as many as it takes where it is not given."
            },
            "kernels": {
              "type": "integer",
              "minimum": 1,
              "maximum": 1000,
              "description": "Combinations of what kernels are compiled for (dims, dtype, options, ragged or not). Where it is not given: 12; with `cover` as many as it takes."
            },
            "least_tokens": {
              "type": "integer",
              "minimum": 1,
              "maximum": 1048576,
              "description": "Of a sequence, or of all ragged ones together."
            },
            "most_tokens": {
              "type": "integer",
              "minimum": 1,
              "maximum": 1048576,
              "description": "4096 where it is not given, with `cover` 2400."
            },
            "key_dim": {"$ref": "#/$defs/dims"},
            "value_dim": {"$ref": "#/$defs/dims"},
            "digest": {
              "type": "string",
              "description": "Written with the records: what was drawn. Other rules of drawing show by it."
            }
          },
          "anyOf": [{"required": ["problems"]}, {"required": ["cover"]}],
          "additionalProperties": false,
          "description": "In place of shapes: problems drawn from `seed`; the other axes are what they are drawn from, all there are where not given (of options: those that `options` names, or all without it). Of each variant one drawn tile, unless max_tiles says otherwise."
        }
      },
      "required": ["operator", "variants"],
      "additionalProperties": false,
      "oneOf": [
        {
          "required": ["dtypes", "shapes"],
          "not": {"anyOf": [{"required": ["tensors"]}, {"required": ["random"]}]}
        },
        {
          "required": ["tensors"],
          "not": {
            "anyOf": [
              {"required": ["shapes"]},
              {"required": ["dtypes"]},
              {"required": ["gates"]},
              {"required": ["initial_state"]},
              {"required": ["seed"]},
              {"required": ["random"]}
            ]
          }
        },
        {
          "required": ["random"],
          "not": {"anyOf": [{"required": ["tensors"]}, {"required": ["shapes"]}]}
        }
      ]
    }
  }
}
)json";

}  // namespace gla_bench
