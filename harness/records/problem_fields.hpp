#pragma once
// How a problem and a candidate's name stand in records, journals and selections.

#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/extents.hpp"
#include "core/problem.hpp"
#include "core/variant.hpp"
#include "harness/records/dtype_json.hpp"
#include "harness/records/record.hpp"
#include "harness/records/selection.hpp"
#include "harness/records/shape_json.hpp"
#include "harness/support/fields/fields.hpp"

namespace gla_bench {

template <>
struct EnumNames<Direction> {
  static constexpr std::string_view expected = "a direction";
  static constexpr auto values = directions;
};

template <>
struct EnumNames<Layout> {
  static constexpr std::string_view expected = "a layout";
  static constexpr std::array values{Layout::seq_first, Layout::head_first};
};

template <>
struct EnumNames<Arithmetic> {
  static constexpr std::string_view expected = "an arithmetic";
  static constexpr std::array values{Arithmetic::float32, Arithmetic::tf32, Arithmetic::bfloat16,
                                     Arithmetic::float16};
};

template <>
struct EnumNames<BackendId> {
  static constexpr std::string_view expected = "a backend";
  static constexpr std::array values{BackendId::host, BackendId::cuda};
};

/// Read by any of its names, and written by one.
template <>
struct Codec<DType> {
  static Json write(DType dtype) { return name(dtype); }
  static DType read(const JsonNode& node) { return read_dtype(node); }
  template <class Parts>
  static Json schema(Parts&) {
    Json names = Json::array();
    for (const DType dtype : problem_dtypes) names.push_back(name(dtype));
    return {{"enum", std::move(names)}};
  }
};

template <>
struct Codec<Shape> {
  static Json write(const Shape& shape) { return shape_to_json(shape); }
  static Shape read(const JsonNode& node) { return read_shape(node); }
  template <class Parts>
  static Json schema(Parts&) {
    return shape_schema();
  }
};

/// The two ends of an interval.
template <>
struct Codec<std::array<double, 2>> {
  static Json write(const std::array<double, 2>& ends) {
    return Json::array({number_to_json(ends[0]), number_to_json(ends[1])});
  }
  static std::array<double, 2> read(const JsonNode& node) {
    const auto ends = node.items();
    if (ends.size() != 2) node.fail("two numbers, the ends of an interval");
    return {ends[0].any_number(), ends[1].any_number()};
  }
  template <class Parts>
  static Json schema(Parts& parts) {
    return {{"type", "array"},
            {"items", parts.template of<double>({})},
            {"minItems", 2},
            {"maxItems", 2}};
  }
};

/// Inputs that were read from a file.
struct StoredTensors {
  std::string file;
  std::map<std::string, std::string> names;
};

template <class Visitor>
void fields(Visitor& visit, Of<StoredTensors>) {
  visit.of("stored_tensors", "Inputs that were read from a .safetensors file.");
  visit("file", &StoredTensors::file, {"The path of the file."});
  visit("names", &StoredTensors::names,
        {"The names in the file by the operator's names, where they differ."});
}

template <class Visitor>
void fields(Visitor& visit, Of<Problem>) {
  using enum Presence;
  visit.of("problem", "What is computed.");
  visit("operator", &Problem::op, {"The operator: gla, retention, attention, ..."});
  visit("direction", &Problem::direction,
        {"Whether the operator, its gradient or both are computed."});
  visit("dtype", &Problem::dtype, {"What the tensors store."});
  visit("layout", &Problem::layout,
        {"The order of the axes: seq_first is [B,T,H,D], head_first is [B,H,T,D]."});
  visit("shape", &Problem::shape, {"The extents of the problem."});
  visit("gate", &Problem::gate,
        {"The regime that the inputs are drawn from, or file where they are read."});
  visit("seed", &Problem::seed, {"The seed of the drawn inputs."});
  visit("initial_state", &Problem::initial_state,
        {.about = "Whether an initial state is an input.", .presence = added});
  visit("final_state", &Problem::final_state,
        {.about = "Whether the final state is an output.", .presence = added});
  visit("scale", &Problem::scale,
        {.about = "The factor of the queries; null for the operator's default.",
         .presence = added,
         .least = least_finite,
         .most = most_finite});
  visit.computed(
      "tensors",
      [](const Problem& problem) {
        return problem.tensors.empty()
                   ? std::optional<StoredTensors>()
                   : std::optional(StoredTensors{problem.tensors, problem.tensor_names});
      },
      [](Problem& problem, std::optional<StoredTensors> stored) {
        problem.tensors = stored ? stored->file : "";
        if (stored) problem.tensor_names = std::move(stored->names);
      },
      {.about = "The file that the inputs are from; null where they are drawn.",
       .presence = added});
  visit("options", &Problem::options,
        {.about = "The operator's options that are not at their defaults.", .presence = sparse});
}

/// A candidate's name, as journals have it.
template <class Visitor>
void fields(Visitor& visit, Of<RecordKey>) {
  visit.of("candidate", "What a record is of.");
  visit.computed(
      "variant", [](const RecordKey& key) -> const std::string& { return std::get<1>(key); },
      [](RecordKey& key, std::string variant) { std::get<1>(key) = std::move(variant); },
      about_variant);
  visit.computed(
      "backend", [](const RecordKey& key) { return std::get<2>(key); },
      [](RecordKey& key, BackendId backend) { std::get<2>(key) = backend; }, about_backend);
  visit.computed(
      "tile", [](const RecordKey& key) -> const Tile& { return std::get<3>(key); },
      [](RecordKey& key, Tile tile) { std::get<3>(key) = std::move(tile); }, about_tile);
  visit.inlined([](const RecordKey& key) -> const Problem& { return std::get<0>(key); },
                [](RecordKey& key, Problem problem) { std::get<0>(key) = std::move(problem); });
}

/// The same, as people may write it. Without a tile it names the candidate of a variant that has no
/// axes.
template <class Visitor>
void fields(Visitor& visit, Of<Selection>) {
  FieldInfo tile = about_tile;
  tile.presence = Presence::added;
  visit.of("selection", "One candidate by its names.");
  visit("variant", &Selection::variant, about_variant);
  visit("manifest", &Selection::manifest, about_manifest);
  visit("backend", &Selection::backend, about_backend);
  visit("tile", &Selection::tile, tile);
  visit.inlined(
      [](const Selection& selection) -> const Problem& { return selection.problem; },
      [](Selection& selection, Problem problem) { selection.problem = std::move(problem); });
}

}  // namespace gla_bench
