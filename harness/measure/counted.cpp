#include "harness/measure/counted.hpp"

#include <cmath>
#include <sstream>

#include "harness/measure/checks.hpp"

namespace gla_bench {
namespace {

constexpr const char* tensor_instructions = "sm__inst_executed_pipe_tensor.sum";

double bytes_of_inputs(const Operator& op, const Problem& problem) {
  double bytes = 0;
  for (const TensorSpec& spec : op.tensors(problem))
    if (spec.role == TensorSpec::Role::input) bytes += static_cast<double>(spec.bytes());
  return bytes;
}

std::string whole(double number) {
  std::ostringstream text;
  text.precision(0);
  text << std::fixed << number;
  return text.str();
}

}  // namespace

std::optional<CountedFault> counted_fault(const Operator& op, const Record& record) {
  const auto& measured = record.io.measured;
  if (!measured || measured->source != CounterSource::cupti) return std::nullopt;
  const Work work = op.work(record.problem);
  const double inputs = bytes_of_inputs(op, record.problem) - work.skippable_bytes;
  if (measured->dram_read_bytes && !(*measured->dram_read_bytes >= least_share_read * inputs))
    return CountedFault{check::counted_reads, "the device read " +
                                                  whole(*measured->dram_read_bytes) +
                                                  " bytes, the inputs have " + whole(inputs)};
  const auto issued = measured->metrics.find(tensor_instructions);
  if (issued == measured->metrics.end() || !record.verification ||
      record.verification->arithmetic == Arithmetic::float32)
    return std::nullopt;
  const double least = std::floor((work.flops - work.skippable_flops) / most_flops_of_instruction);
  if (!(issued->second >= least))
    return CountedFault{check::tensor_instructions,
                        whole(issued->second) + " instructions on the tensor cores, the least " +
                            "that the operator's work takes is " + whole(least)};
  return std::nullopt;
}

}  // namespace gla_bench
