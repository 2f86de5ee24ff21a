#include "harness/operator.hpp"

namespace gla_bench {

std::int64_t TensorSpec::elements() const {
  std::int64_t count = 1;
  for (std::int64_t extent : extents) count *= extent;
  return count;
}

std::int64_t TensorSpec::bytes() const {
  return elements() * static_cast<std::int64_t>(size_of(dtype));
}

const Operator* find_operator(std::string_view name) {
  for (const Operator& op : operators())
    if (op.name == name) return &op;
  return nullptr;
}

double scale_of(const Operator& op, const Problem& problem) {
  return problem.scale.value_or(op.default_scale(problem));
}

}  // namespace gla_bench
