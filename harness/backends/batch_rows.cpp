#include "harness/backends/batch_rows.hpp"

#include "core/error.hpp"

namespace gla_bench {

Problem with_batch(const Problem& problem, std::int64_t count) {
  Problem other = problem;
  other.shape.batch = count;
  return other;
}

std::map<std::string, std::int64_t> elements_per_row(const Operator& op, const Problem& problem) {
  std::map<std::string, std::int64_t> list;
  for (const TensorSpec& spec : op.tensors(with_batch(problem, problem.shape.batch + 1)))
    list[spec.name] = spec.elements();
  for (const TensorSpec& spec : op.tensors(problem)) list[spec.name] -= spec.elements();
  return list;
}

HostTensors rows_of(const Operator& op, const Problem& problem, const HostTensors& inputs,
                    BatchRows rows) {
  const std::map<std::string, std::int64_t> per_row = elements_per_row(op, problem);
  HostTensors part;
  for (const TensorSpec& spec : op.tensors(problem)) {
    if (spec.role != TensorSpec::Role::input) continue;
    const auto values = inputs.find(spec.name);
    if (values == inputs.end()) throw InputError("no values for input '" + spec.name + "'");
    const std::int64_t row = per_row.at(spec.name);
    const auto begin = values->second.begin() + rows.first * row;
    const auto end = row == 0 ? values->second.end() : begin + rows.count * row;
    part[spec.name].assign(begin, end);
  }
  return part;
}

}  // namespace gla_bench
