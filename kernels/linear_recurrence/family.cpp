#include "kernels/linear_recurrence/family.hpp"

#include <cstring>

#include "harness/operator.hpp"

namespace gla_bench::linear_recurrence {
namespace {

TokenStrides token_strides(const Problem& problem, std::int64_t dim) {
  const Shape& s = problem.shape;
  if (problem.layout == Layout::seq_first) return {s.seq * s.heads * dim, s.heads * dim, dim};
  return {s.heads * s.seq * dim, dim, s.seq * dim};
}

double tokens(const Problem& problem) {
  const Shape& s = problem.shape;
  return static_cast<double>(s.batch) * static_cast<double>(s.seq) * static_cast<double>(s.heads);
}

}  // namespace

std::int64_t sequences(const Problem& problem) {
  return problem.shape.batch * problem.shape.heads;
}

LinearRecurrenceParams params(const Problem& problem, const Address& address,
                              const std::vector<Region>& regions) {
  const Shape& s = problem.shape;
  LinearRecurrenceParams p{};
  p.q = address("q");
  p.k = address("k");
  p.v = address("v");
  p.g = address("g");
  p.initial_state = static_cast<const float*>(address("initial_state"));
  p.o = address("o");
  p.final_state = static_cast<float*>(address("final_state"));
  for (std::size_t i = 0; i < regions.size(); ++i) p.work[i] = address(regions[i].name);
  p.key_strides = token_strides(problem, s.key_dim);
  p.value_strides = token_strides(problem, s.value_dim);
  p.batch = s.batch;
  p.seq = s.seq;
  p.heads = s.heads;
  p.key_dim = static_cast<int>(s.key_dim);
  p.value_dim = static_cast<int>(s.value_dim);
  p.scale = static_cast<float>(scale_of(*find_operator(problem.op), problem));
  return p;
}

ParamBytes bind(const Problem& problem, const Address& address,
                const std::vector<Region>& regions) {
  const LinearRecurrenceParams p = params(problem, address, regions);
  ParamBytes bytes(sizeof p);
  std::memcpy(bytes.data(), &p, sizeof p);
  return bytes;
}

std::vector<Constant> constants(const Problem& problem, const Tile& tile) {
  std::vector<Constant> list{{"dim", "key_dim", static_cast<int>(problem.shape.key_dim)},
                             {"dim", "value_dim", static_cast<int>(problem.shape.value_dim)}};
  for (const auto& [axis, value] : tile) list.push_back({"tile", axis, value});
  return list;
}

double key_bytes(const Problem& problem) {
  return tokens(problem) * static_cast<double>(problem.shape.key_dim) *
         static_cast<double>(size_of(problem.dtype));
}

double value_bytes(const Problem& problem) {
  return tokens(problem) * static_cast<double>(problem.shape.value_dim) *
         static_cast<double>(size_of(problem.dtype));
}

double state_bytes(const Problem& problem) {
  return static_cast<double>(sequences(problem)) * static_cast<double>(problem.shape.key_dim) *
         static_cast<double>(problem.shape.value_dim) * 4.0;
}

}  // namespace gla_bench::linear_recurrence
