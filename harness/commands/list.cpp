// gla-bench list: what there is to run.

#include <algorithm>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "core/candidate_name.hpp"
#include "core/error.hpp"
#include "core/extents.hpp"
#include "harness/backends/sources/architecture.hpp"
#include "harness/commands/commands.hpp"
#include "harness/commands/shared/auto_choice.hpp"
#include "harness/commands/shared/drawn_table.hpp"
#include "harness/commands/shared/dtype_argument.hpp"
#include "harness/config/space/rare_tiles.hpp"
#include "harness/config/sweep.hpp"
#include "harness/support/json.hpp"
#include "harness/support/numbers.hpp"
#include "harness/support/text.hpp"

namespace gla_bench::commands {
namespace {

struct ListOptions {
  std::string op;
  bool json = false;
  Shape shape;                       ///< of an operator that had every extent
  std::vector<std::int64_t> common;  ///< --shape: Operator{}.extents in their order
  std::string dtype = "bfloat16";
  std::string arch = "sm_90a";
  std::string model;  ///< path of a cost model; empty: that of any device with CUDA
  CandidateOptions candidates;
};

constexpr std::size_t most_predicted = 5;  // of a problem's candidates

/// The candidates that a model predicts to be fastest on its own device.
void print_predicted(const cost_model::Predictor& predictor, const Catalog& catalog,
                     const Problem& problem, const Limits& limits) {
  const auto ranked = predictor.rank(catalog, problem, [&](const Candidate& candidate) {
    return !candidate.variant->reject(candidate.problem, candidate.tile, limits);
  });
  if (ranked.empty()) return;
  std::cout << "  predicted to be fastest there, " << name(problem.direction) << ", by "
            << predictor.source() << ":\n";
  for (std::size_t i = 0; i < std::min(most_predicted, ranked.size()); ++i) {
    const cost_model::Ranked& one = ranked[i];
    std::cout << "    " << format_ms(1e3 * one.prediction.seconds) << " ms  "
              << candidate_name(one.candidate.variant->name, one.candidate.tile) << "\n";
  }
}

/// The values of an axis that a sweep tries unless it asks for more, and those besides.
std::string values_of(const Variant& variant, std::size_t axis) {
  const std::vector<int>& all = variant.space[axis].values;
  const std::vector<int> usual = usual_space(variant, {}, rare_tiles())[axis].values;
  std::vector<std::string> texts, rare;
  for (const int value : all) {
    const bool is_usual = std::find(usual.begin(), usual.end(), value) != usual.end();
    (is_usual ? texts : rare).push_back(std::to_string(value));
  }
  return join(texts) + (rare.empty() ? "" : "; rare: " + join(rare));
}

void print_constraints(const Variant& variant, const Problem& problem, const Limits& limits) {
  const Candidates found = candidates(variant, problem, {}, limits);
  const std::size_t total = found.accepted.size() + found.rejected.size();
  std::cout << "      " << total << (total == 1 ? " tile, " : " tiles, ") << found.accepted.size()
            << " accepted\n";
  std::map<std::string, std::vector<const Rejected*>> by_kind;
  for (const Rejected& rejected : found.rejected)
    by_kind[without_digits(rejected.reason)].push_back(&rejected);
  for (const auto& [kind, list] : by_kind) {
    const std::string tile = describe(list.front()->candidate.tile);
    std::cout << "      refuses " << list.size() << ", such as "
              << (tile.empty() ? "the tile" : tile) << ": " << list.front()->reason << "\n";
  }
}

void print_variant(const Variant& variant, const Problem& problem, const Limits& limits) {
  std::cout << "    " << variant.name << " [" << name(variant.backend)
            << (variant.direction == Direction::forward
                    ? ""
                    : ", " + std::string(name(variant.direction)))
            << "] " << variant.summary << "\n";
  for (std::size_t i = 0; i < variant.space.size(); ++i) {
    const TileAxis& axis = variant.space[i];
    std::cout << "      " << axis.name << ": " << values_of(variant, i) << "  (" << axis.meaning
              << ")\n";
  }
  print_constraints(variant, problem, limits);
}

/// Extents that every problem of some operator has, but that most operators lack.
std::vector<ExtentAxis> other_extents() {
  std::vector<ExtentAxis> list;
  const std::vector<std::string> common = Operator{}.extents;
  for (const ExtentAxis& axis : extent_axes) {
    const auto has = [&](const std::vector<std::string>& names) {
      return std::find(names.begin(), names.end(), axis.name) != names.end();
    };
    if (!has(common) && std::any_of(operators().begin(), operators().end(),
                                    [&](const Operator& op) { return has(op.extents); }))
      list.push_back(axis);
  }
  return list;
}

/// "--model-dim" for model_dim.
std::string option_name(const ExtentAxis& axis) {
  std::string text = "--" + std::string(axis.name);
  std::replace(text.begin(), text.end(), '_', '-');
  return text;
}

/// Takes what --shape says into the shape. @throws InputError for an extent that is too large
void take_common(ListOptions& options) {
  const std::vector<std::string> common = Operator{}.extents;
  for (std::size_t i = 0; i < common.size(); ++i) {
    const ExtentAxis& axis = extent_axis(common[i]);
    if (options.common[i] > axis.most)
      throw InputError("--shape: found " + std::to_string(options.common[i]) + ", expected " +
                       common[i] + " of 1 to " + std::to_string(axis.most));
    options.shape.*axis.extent = options.common[i];
  }
}

/// The shape that is asked for, of the extents that the operator has.
Shape shape_for(const Operator& op, const Shape& asked) {
  Shape shape;
  for (const std::string& extent : op.extents) {
    const ExtentAxis& axis = extent_axis(extent);
    shape.*axis.extent = asked.*axis.extent;
  }
  return shape;
}

std::string extents_of(const Operator& op) {
  std::string text = join(op.extents);
  if (!op.optional_extents.empty()) text += " (and " + join(op.optional_extents) + ")";
  return text;
}

Json variant_to_json(const Variant& variant) {
  Json json{{"name", variant.name},
            {"backend", name(variant.backend)},
            {"direction", name(variant.direction)},
            {"summary", variant.summary},
            {"axes", Json::array()}};
  for (const TileAxis& axis : variant.space)
    json["axes"].push_back(
        {{"name", axis.name}, {"values", axis.values}, {"meaning", axis.meaning}});
  return json;
}

/// Prints, for programs, everything that does not depend on a problem.
Json catalog_to_json(const Catalog& catalog) {
  Json list = Json::array();
  for (const Operator& op : catalog.operators) {
    Json json{{"name", op.name},
              {"summary", op.summary},
              {"directions", Json::array()},
              {"extents", op.extents},
              {"optional_extents", op.optional_extents},
              {"gates", op.gates},
              {"inputs", input_names(op)},
              {"options", Json::array()},
              {"variants", Json::array()}};
    for (const Direction direction : op.directions) json["directions"].push_back(name(direction));
    for (const OptionAxis& axis : op.options)
      json["options"].push_back(
          {{"name", axis.name}, {"values", axis.values}, {"meaning", axis.meaning}});
    for (const Variant& variant : catalog.variants)
      if (variant.op == op.name) json["variants"].push_back(variant_to_json(variant));
    list.push_back(std::move(json));
  }
  return list;
}

/// What an operator computes, and the names of its variants.
void print_overview(const Catalog& catalog, const Operator& op) {
  std::cout << op.name << ": " << op.summary << "\n";
  for (const Direction direction : op.directions)
    for (const BackendId backend : {BackendId::cuda, BackendId::host}) {
      std::vector<std::string> names;
      for (const Variant& variant : catalog.variants)
        if (variant.op == op.name && variant.direction == direction && variant.backend == backend)
          names.push_back(variant.name);
      if (!names.empty())
        std::cout << "  " << name(direction) << ", " << name(backend) << ": " << join(names)
                  << "\n";
    }
}

/// All of an operator. Tiles are tried on the problem, those of CUDA within the limits.
void print_operator(const Catalog& catalog, const Operator& op, Problem problem,
                    const Limits& cuda_limits, const std::string& arch) {
  std::vector<std::string> directions;
  for (const Direction direction : op.directions) directions.emplace_back(name(direction));
  std::cout << op.name << ": " << op.summary << "\n  directions: " << join(directions)
            << "\n  extents: " << extents_of(op) << "\n  gates: " << join(op.gates) << "\n";
  for (const OptionAxis& axis : op.options)
    std::cout << "  " << axis.name << ": " << join(axis.values) << "  (" << axis.meaning << ")\n";
  for (const Direction direction : op.directions) std::cout << drawn_axes(catalog, op, direction);
  std::cout << "  variants, with their tiles for " << describe(problem) << " on the host and "
            << arch << ":\n";
  for (const Variant& variant : catalog.variants) {
    if (variant.op != op.name) continue;
    problem.direction = variant.direction;
    print_variant(variant, problem, variant.backend == BackendId::cuda ? cuda_limits : Limits{});
  }
}

void list(const ListOptions& options) {
  const Catalog catalog = options.candidates.catalog();
  if (options.json) {
    std::cout << catalog_to_json(catalog).dump(1) << "\n";
    return;
  }
  if (options.op.empty()) {  // All of it has two thousand lines, and counts draws for seconds.
    for (const Operator& op : catalog.operators) print_overview(catalog, op);
    std::cout << "\ngla-bench list OPERATOR shows its options, and each variant with its tiles.\n";
    return;
  }
  const auto arch = parse_architecture(options.arch);
  if (!arch) throw InputError("--arch: found \"" + options.arch + "\", expected one like sm_90a");
  const Operator* const op = catalog.find_operator(options.op);
  if (op == nullptr)
    throw InputError("unknown operator \"" + options.op + "\", expected one of " +
                     join(catalog.operator_names()));
  const auto predictor = predictor_for(options.model, BackendId::cuda, {});
  Problem problem;
  problem.op = op->name;
  problem.dtype = *parse_dtype(options.dtype);
  problem.shape = shape_for(*op, options.shape);
  problem.gate = default_gate(*op);
  print_operator(catalog, *op, problem, limits_of(*arch), options.arch);
  if (!predictor) return;
  for (const Direction direction : op->directions) {
    problem.direction = direction;
    print_predicted(*predictor, catalog, problem, limits_of(*arch));
  }
}

}  // namespace

void add_list(CLI::App& program, Context&) {
  auto options = std::make_shared<ListOptions>();
  CLI::App* command = program.add_subcommand(
      "list",
      "Operators and variants, and of one operator the tiles, and which a variant refuses and why");
  CLI::Option* const op =
      command
          ->add_option("operator", options->op,
                       "all of this operator: options, variants, tiles (default: names of all)")
          ->type_name("OPERATOR");
  for (const std::string& extent : Operator{}.extents)
    options->common.push_back(extent_axis(extent).usual);
  command
      ->add_option("--shape", options->common,
                   join(Operator{}.extents, " ") + " of the problem that tiles are tried on")
      ->expected(static_cast<int>(options->common.size()))
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 32))
      ->capture_default_str()
      ->needs(op);
  for (const ExtentAxis& axis : other_extents()) {
    std::int64_t& value = options->shape.*axis.extent = axis.usual;
    command
        ->add_option(option_name(axis), value,
                     std::string(axis.name) + ", " + std::string(axis.meaning))
        ->check(CLI::Range(std::int64_t{1}, axis.most))
        ->capture_default_str()
        ->needs(op);
  }
  command->add_option("--dtype", options->dtype, "its dtype")
      ->transform(dtype_argument())
      ->capture_default_str()
      ->needs(op);
  command->add_option("--arch", options->arch, "the architecture that CUDA tiles are tried on")
      ->capture_default_str()
      ->needs(op);
  command
      ->add_option("--model", options->model,
                   "the cost model of the times that are predicted (default: the first that is "
                   "found)")
      ->type_name("MODEL")
      ->needs(op);
  options->candidates.add_to(*command);
  command->add_flag("--json", options->json,
                    "operators, options, variants and axes as JSON, whatever the problem");
  command->footer(
      "Examples:\n  gla-bench list\n"
      "  gla-bench list gla --shape 4 8192 32 64 64 --dtype float32 --arch sm_80");
  command->callback([options] {
    take_common(*options);
    list(*options);
  });
}

}  // namespace gla_bench::commands
