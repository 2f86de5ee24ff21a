#pragma once
// How a manifest stands in JSON (support/fields/fields.hpp).

#include <limits>

#include "harness/config/candidates/functions.hpp"
#include "harness/config/candidates/manifest.hpp"
#include "harness/records/problem_fields.hpp"
#include "harness/support/fields/read.hpp"
#include "harness/support/fields/schema.hpp"
#include "harness/support/fields/write.hpp"

namespace gla_bench {

/// A whole number, or an expression as text.
template <>
struct Codec<Formula> {
  static Json write(const Formula& formula) { return formula.text(); }
  static Formula read(const JsonNode& node) {
    using Range = std::numeric_limits<std::int64_t>;
    if (node.json().is_number()) {
      const std::int64_t number = node.integer(Range::min() + 1, Range::max());
      return Formula(std::to_string(number));
    }
    if (!node.is_string()) node.fail("a whole number, or an expression as text");
    try {
      return Formula(node.text());
    } catch (const ExpressionError& error) {
      node.fail(std::string("an expression that can be read: ") + error.what());
    }
  }
  template <class Parts>
  static Json schema(Parts&) {
    return {{"oneOf",
             Json::array({Json{{"type", "integer"}}, Json{{"type", "string"}, {"minLength", 1}}})}};
  }
};

/// {"bfloat16": "float32"}: an arithmetic by dtype.
template <>
struct Codec<DtypeArithmetic> {
  static std::vector<std::string> names() {
    std::vector<std::string> list;
    for (const DType dtype : problem_dtypes) list.emplace_back(name(dtype));
    return list;
  }
  static Json write(const DtypeArithmetic& dtypes) {
    Json json = Json::object();
    for (const auto& [dtype, arithmetic] : dtypes)
      json[std::string(name(dtype))] = name(arithmetic);
    return json;
  }
  static DtypeArithmetic read(const JsonNode& node) {
    node.expect_keys(names());
    DtypeArithmetic dtypes;
    for (const auto& [key, value] : node.members())
      dtypes[*parse_dtype(key)] = read_enum<Arithmetic>(value);
    if (dtypes.empty()) node.fail("at least one dtype");
    return dtypes;
  }
  template <class Parts>
  static Json schema(Parts& parts) {
    Json properties = Json::object();
    for (const std::string& dtype : names()) properties[dtype] = parts.template of<Arithmetic>({});
    return {{"type", "object"},
            {"properties", std::move(properties)},
            {"additionalProperties", false},
            {"minProperties", 1}};
  }
};

/// "q", "scale" or {"int32": "seq"}.
template <>
struct Codec<ManifestArgument> {
  static constexpr std::string_view narrow = "int32", wide = "int64";

  static Json write(const ManifestArgument& argument) {
    if (argument.kind == ManifestArgument::Kind::named) return argument.name;
    const bool is_narrow = argument.kind == ManifestArgument::Kind::int32;
    return {{std::string(is_narrow ? narrow : wide), field_to_json(argument.value)}};
  }
  static ManifestArgument read(const JsonNode& node) {
    if (node.is_string()) return {ManifestArgument::Kind::named, node.text(), {}};
    if (!node.is_object())
      node.fail("a name, or {\"int32\": expression} or {\"int64\": expression}");
    node.expect_keys({std::string(narrow), std::string(wide)});
    const auto members = node.members();
    if (members.size() != 1) node.fail("one member, int32 or int64");
    return {
        members[0].first == narrow ? ManifestArgument::Kind::int32 : ManifestArgument::Kind::int64,
        "", Codec<Formula>::read(members[0].second)};
  }
  template <class Parts>
  static Json schema(Parts& parts) {
    Json forms = Json::array({Json{{"type", "string"}, {"minLength", 1}}});
    for (const std::string_view type : {narrow, wide}) {
      Json form{{"type", "object"}};
      form["properties"][std::string(type)] = parts.template of<Formula>({});
      form["required"] = Json::array({type});
      form["additionalProperties"] = false;
      forms.push_back(std::move(form));
    }
    return {{"oneOf", std::move(forms)}};
  }
};

template <class Visitor>
void fields(Visitor& visit, Of<TileAxis>) {
  visit.of("tile_axis", "A parameter that can be tuned.");
  visit("name", &TileAxis::name, {.about = "Its name in expressions and records."});
  visit("values", &TileAxis::values, {"The values to try; the first is the default."});
  visit("meaning", &TileAxis::meaning,
        {.about = "One line for `gla-bench list`.", .presence = Presence::added});
}

template <class Visitor>
void fields(Visitor& visit, Of<ManifestCondition>) {
  visit.of("condition", "What a problem, a tile and a device have to be; others are refused.");
  visit("condition", &ManifestCondition::condition,
        {"An expression that is not 0 where the kernel can run; it may also name `arch`, "
         "`shared_per_block` and `multiprocessors`."});
  visit("message", &ManifestCondition::message,
        {.about = "The reason that stands in the record of a refusal.",
         .expected = "why it is refused",
         .filled = true});
}

template <class Visitor>
void fields(Visitor& visit, Of<ManifestRegion>) {
  visit.of("region", "Scratch memory, which holds NaN before each verified call.");
  visit("name", &ManifestRegion::name, {"Its name among arguments."});
  visit("bytes", &ManifestRegion::bytes, {"Its size.", "bytes"});
}

template <class Visitor>
void fields(Visitor& visit, Of<ManifestBytes>) {
  visit.of("bytes", "What is moved through device memory, by calculation.");
  visit("read", &ManifestBytes::read, {"What is read.", "bytes"});
  visit("write", &ManifestBytes::write, {"What is written.", "bytes"});
}

template <class Visitor>
void fields(Visitor& visit, Of<ManifestLaunch>) {
  using enum Presence;
  visit.of("launch", "One step of a call: a kernel, or a region that is set to zero.");
  visit("entry", &ManifestLaunch::entry,
        {.about = "The kernel's name, which extern \"C\" keeps.", .presence = sparse});
  visit("grid", &ManifestLaunch::grid, {.about = "Blocks along x, y and z.", .presence = sparse});
  visit("block", &ManifestLaunch::block,
        {.about = "Threads along x, y and z.", .presence = sparse});
  visit("shared_bytes", &ManifestLaunch::shared_bytes,
        {.about = "Dynamic shared memory of a block; none where it is not given.",
         .unit = "bytes",
         .presence = sparse});
  visit("arguments", &ManifestLaunch::arguments,
        {.about = "What the kernel takes, in its order: the address of a tensor or a region by its "
                  "name (null for a tensor that the problem lacks), `scale` (a float), or a number "
                  "of 4 or 8 bytes.",
         .presence = sparse});
  visit("zero", &ManifestLaunch::zero,
        {.about = "In place of a kernel: the region to be set to zero.", .presence = sparse});
  visit("stage", &ManifestLaunch::stage,
        {.about = "The stage of the computation that its time belongs to; all launches name one, "
                  "or none does.",
         .presence = sparse});
  visit("bytes", &ManifestLaunch::bytes,
        {.about = "What it moves, for the report of its stage.", .presence = sparse});
}

template <class Visitor>
void fields(Visitor& visit, Of<Manifest>) {
  using enum Presence;
  visit.of("manifest",
           "A CUDA kernel or a function in Python from outside the program, for `--candidates` and "
           "a config's \"candidates\". Made by `gla-bench schema candidates`.");
  visit("$schema", &Manifest::schema,
        {.about = "The path of this schema, for editors.", .presence = sparse});
  visit("variant", &Manifest::variant,
        {.about = "The name of the variant that it becomes: letters, digits and _.",
         .expected = "the name of a variant",
         .filled = true,
         .letters = "abcdefghijklmnopqrstuvwxyz0123456789_"});
  visit("summary", &Manifest::summary,
        {.about = "One line for `gla-bench list`.", .presence = added});
  visit("operator", &Manifest::op, {"The operator that it computes."});
  visit("direction", &Manifest::direction,
        {.about = "Whether it computes the operator, its gradient or both.", .presence = added});
  visit("backend", &Manifest::backend,
        {.about = "Where it runs; a kernel only on cuda.", .presence = added});
  visit("dtypes", &Manifest::dtypes,
        {"The dtypes of the problems that it takes, each with what its products are computed in, "
         "which decides the bounds of errors."});
  visit("layouts", &Manifest::layouts,
        {.about = "The layouts that it takes; [\"seq_first\"] where they are not given.",
         .presence = added});
  visit("options", &Manifest::options,
        {.about = "Those of the operator's options of which it takes every value; of the others it "
                  "takes the default.",
         .presence = added});
  visit("source", &Manifest::source,
        {.about = "The CUDA source, from the manifest's folder.",
         .presence = sparse,
         .expected = "the path of a source",
         .filled = true});
  visit("function", &Manifest::function,
        {.about = "In place of a source and its launches: a function in Python, as file.py:name "
                  "from the manifest's folder.",
         .presence = sparse,
         .expected = "a function in Python, as file.py:name",
         .filled = true});
  visit("framework", &Manifest::framework,
        {.about = "What the function's tensors are.",
         .presence = sparse,
         .names = function_frameworks,
         .expected = "a framework of Python"});
  visit("arguments", &Manifest::arguments,
        {.about = "What the function takes, by name: tensors, `scale`, and numbers of the problem "
                  "and the tile. It returns the outputs that are none of them, in the operator's "
                  "order.",
         .presence = sparse});
  visit("headers", &Manifest::headers,
        {.about = "The files that it includes in quotes, or other files of the function's code.",
         .presence = added,
         .expected = "the path of a header",
         .filled = true});
  visit("constants", &Manifest::constants,
        {.about = "Macros that are defined before the source, by name; their values are whole "
                  "numbers.",
         .presence = added});
  visit("tile", &Manifest::tile, {.about = "Parameters that can be tuned.", .presence = added});
  visit("requires", &Manifest::conditions,
        {.about = "What has to hold; the first that does not is the reason of a refusal.",
         .presence = added});
  visit("workspace", &Manifest::workspace, {.about = "Scratch memory.", .presence = added});
  visit("launches", &Manifest::launches,
        {.about = "The steps of one call, in their order.", .presence = sparse});
  visit("bytes", &Manifest::bytes,
        {.about = "What a call moves; each input read once and each output written once where it "
                  "is not given.",
         .presence = sparse});
  visit("flops", &Manifest::flops,
        {.about = "The floating-point operations of a call; the operator's own least where it is "
                  "not given.",
         .presence = sparse});
  visit("reproducible", &Manifest::reproducible,
        {.about = "Whether a repeated call gives the same bits; false where sums form in any "
                  "order.",
         .presence = added});
  visit("peer", &Manifest::peer,
        {.about = "Whether another project's implementation is measured beside the candidates: a "
                  "peer wins nothing, and the gate warns where it fails.",
         .presence = added});
  visit.rule(R"({"oneOf": [{"required": ["source", "launches"]},
                           {"required": ["function", "framework", "arguments"]}]})");
}

}  // namespace gla_bench
