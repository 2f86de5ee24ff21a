#include "harness/emit/golden.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>

#include "core/error.hpp"
#include "harness/support/numbers.hpp"
#include "harness/support/text.hpp"
#include "harness/tensors/staging.hpp"
#include "harness/verify/verify.hpp"

namespace gla_bench {
namespace {

/// What the extents of the two cases are where their ranges allow it: odd ones, several blocks.
const std::array<std::map<std::string, std::int64_t>, 2> wanted{{{{"batch", 2},
                                                                  {"seq", 201},
                                                                  {"heads", 3},
                                                                  {"key_seq", 330},
                                                                  {"key_heads", 2},
                                                                  {"columns", 1000},
                                                                  {"sequences", 3}},
                                                                 {{"batch", 1},
                                                                  {"seq", 391},
                                                                  {"heads", 2},
                                                                  {"key_seq", 1100},
                                                                  {"key_heads", 1},
                                                                  {"columns", 300},
                                                                  {"sequences", 5}}}};

/// The problem with inputs that can be drawn at any size.
Problem drawn(const Operator& op, Problem problem) {
  if (problem.tensors.empty()) return problem;
  problem.tensors.clear();
  problem.tensor_names.clear();
  problem.gate = default_gate(op);
  return problem;
}

double bytes_of(const Operator& op, const Problem& problem) {
  double bytes = 0;
  for (const TensorSpec& tensor : op.tensors(problem))
    bytes += static_cast<double>(tensor.role == TensorSpec::Role::input ? tensor.memory_bytes()
                                                                        : 8 * tensor.elements());
  return bytes;
}

/// Float64 values in the order in which the output is stored.
std::string stored_bytes(const TensorSpec& spec, Layout layout, std::span<const double> values) {
  // Places fit a float exactly: goldens are small.
  std::vector<float> places(values.size());
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = static_cast<float>(i);
  const std::vector<float> order = to_storage_order(spec, layout, places);
  std::vector<double> stored(values.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    stored[i] = values[static_cast<std::size_t>(order[i])];
  std::string bytes(stored.size() * sizeof(double), '\0');
  std::memcpy(bytes.data(), stored.data(), bytes.size());
  return bytes;
}

std::string input_bytes(const TensorSpec& spec, Layout layout, std::span<const float> values) {
  std::vector<std::byte> stored(static_cast<std::size_t>(spec.memory_bytes()));
  pack(spec, layout, values, stored);
  return {reinterpret_cast<const char*>(stored.data()), stored.size()};
}

GoldenCase case_of(const Operator& op, const Candidate& candidate, const RunTimeCall& call,
                   const Extents& extents, const std::string& name) {
  const Problem problem = with_extents(drawn(op, candidate.problem), call.extents, extents);
  ProblemTruth truth(op, problem, op.draw(problem), nullptr, ReferencePlace::host);
  const Arithmetic arithmetic = candidate.variant->arithmetic(problem, candidate.tile);
  GoldenCase golden{name, "case " + name + "\n", {}};
  for (std::size_t i = 0; i < extents.size(); ++i)
    golden.lines += "extent " + call.extents[i].name + " " + std::to_string(extents[i]) + "\n";
  golden.lines += "scale " + format_exact(scale_of(op, problem)) + "\n";
  for (const TensorSpec& spec : op.tensors(problem)) {
    const std::string file = name + "." + spec.name + ".bin";
    golden.lines += "shape " + spec.name + " " + std::string(gla_bench::name(spec.dtype));
    for (const std::int64_t extent : storage_extents(spec, problem.layout))
      golden.lines += " " + std::to_string(extent);
    golden.lines += "\n";
    if (spec.role == TensorSpec::Role::input) {
      golden.files.emplace_back(file,
                                input_bytes(spec, problem.layout, truth.inputs().at(spec.name)));
      golden.lines += "input " + spec.name + " " + file + " " +
                      std::to_string(spec.memory_bytes()) + " " +
                      std::to_string(spec.first_byte()) + "\n";
      continue;
    }
    const Bounds allowed =
        bounds(default_tolerance(), arithmetic, spec, truth.baseline(arithmetic).at(spec.name));
    golden.files.emplace_back(file,
                              stored_bytes(spec, problem.layout, truth.expected().at(spec.name)));
    golden.lines += "output " + spec.name + " " + file + " " + std::to_string(spec.elements()) +
                    " " + format_exact(allowed.rel_l2) + "\n";
  }
  golden.lines += "end\n";
  return golden;
}

}  // namespace

std::vector<Extents> golden_extents(const RunTimeCall& call) {
  std::vector<Extents> list;
  for (const auto& wish : wanted) {
    Extents extents;
    for (const RunTimeExtent& extent : call.extents) {
      const auto found = wish.find(extent.name);
      extents.push_back(
          std::clamp(found == wish.end() ? extent.own : found->second, extent.least, extent.most));
    }
    if (std::find(list.begin(), list.end(), extents) == list.end()) list.push_back(extents);
  }
  return list;
}

std::vector<GoldenCase> golden_cases(const Operator& op, const Candidate& candidate,
                                     const RunTimeCall& call, double most_bytes) {
  const std::vector<Extents> all = golden_extents(call);
  double bytes = 0;
  for (const Extents& extents : all)
    bytes += bytes_of(op, with_extents(candidate.problem, call.extents, extents));
  if (bytes > most_bytes)
    throw InputError(describe(candidate) +
                     ": the smallest problems that its launcher can be tested "
                     "with take " +
                     format_bytes(bytes) + ", more than " + format_bytes(most_bytes) +
                     " (--golden-bytes)");
  std::vector<GoldenCase> cases;
  for (const Extents& extents : all)
    cases.push_back(
        case_of(op, candidate, call, extents, "case" + std::to_string(cases.size() + 1)));
  return cases;
}

}  // namespace gla_bench
