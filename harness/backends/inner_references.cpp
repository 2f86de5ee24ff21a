#include "harness/backends/inner_references.hpp"

#include <utility>

namespace gla_bench {
namespace {

// Ends a reference whose inner operator the backend does not compute.
struct NotThere {};

template <class Tensors>
Tensors found(std::optional<Tensors> tensors) {
  if (!tensors) throw NotThere();
  return std::move(*tensors);
}

References references_of(Backend& backend) {
  return {[&backend](const Operator& op, const Problem& problem, const HostTensors& inputs) {
            return found(backend.reference(op, problem, inputs));
          },
          [&backend](const Operator& op, const Problem& problem, const HostTensors& inputs,
                     Arithmetic arithmetic) {
            return found(backend.baseline(op, problem, inputs, arithmetic));
          }};
}

}  // namespace

std::optional<ReferenceTensors> reference_around(Backend& backend, const Operator& op,
                                                 const Problem& problem,
                                                 const HostTensors& inputs) {
  if (!op.reference_around) return std::nullopt;
  try {
    return op.reference_around(problem, inputs, references_of(backend));
  } catch (const NotThere&) {
    return std::nullopt;
  }
}

std::optional<HostTensors> baseline_around(Backend& backend, const Operator& op,
                                           const Problem& problem, const HostTensors& inputs,
                                           Arithmetic arithmetic) {
  if (!op.baseline_around) return std::nullopt;
  try {
    return op.baseline_around(problem, inputs, arithmetic, references_of(backend));
  } catch (const NotThere&) {
    return std::nullopt;
  }
}

}  // namespace gla_bench
