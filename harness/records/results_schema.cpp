#include "harness/records/results_schema.hpp"

#include "harness/records/extended.hpp"
#include "harness/records/problem_fields.hpp"
#include "harness/records/record_file.hpp"
#include "harness/records/shards/shard.hpp"
#include "harness/support/fields/schema.hpp"

namespace gla_bench {
namespace {

/// The file around the records (record_file.hpp). Its parts are added behind it.
constexpr std::string_view frame = R"({
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "gla-bench results",
  "description": "What `gla-bench run` and `verify` write and `gate` and `report` read. Made by `gla-bench schema results`.",
  "type": "object",
  "properties": {
    "schema_version": {"const": 0},
    "environment": {
      "description": "The program, the machine and the device that the records are of.",
      "type": "object",
      "properties": {
        "shard": {
          "description": "Which share of the config's problems the file is of (--shard): 3/8 is the third of eight.",
          "type": "string", "pattern": "^[1-9][0-9]*/[1-9][0-9]*$"
        },
        "shard_problems": {
          "description": "How many problems the whole config has, in a shard's file.",
          "type": "number"
        }
      },
      "additionalProperties": {"type": ["string", "number", "boolean"]}
    },
    "config": {
      "description": "The config as it ran, see config.schema.json; the newest one of an extended file.",
      "type": "object",
      "required": ["sweeps"]
    },
    "extended": {
      "description": "How the file was continued under other configs (--extend) or with other sources (--resume), in order. The environment stays that of the first run.",
      "type": "array",
      "minItems": 1
    },
    "asked": {
      "description": "What the shard has to bring: its problems, in the config's order. Only in a shard's file.",
      "type": "array"
    },
    "parts": {
      "description": "The shards that the file was merged from (merge), in order. The environment is that of the first.",
      "type": "array",
      "minItems": 1
    },
    "records": {"description": "One record for each candidate.", "type": "array"}
  },
  "required": ["schema_version", "environment", "config", "records"],
  "additionalProperties": false
})";

}  // namespace

Json results_schema() {
  Json schema = parse_json(frame, "the frame of the results schema");
  SchemaParts parts(false);
  Json& properties = schema["properties"];
  properties["schema_version"]["const"] = schema_version;
  properties["extended"]["items"] = parts.reference<Extension>();
  properties["asked"]["items"] = parts.reference<AskedPoint>();
  properties["parts"]["items"] = parts.reference<MergedPart>();
  properties["records"]["items"] = parts.reference<Record>();
  schema["$defs"] = parts.parts();
  return schema;
}

}  // namespace gla_bench
