// The only list of operators.

#include "harness/operator.hpp"
#include "reference/linear_recurrence.hpp"

namespace gla_bench {

std::span<const Operator> operators() {
  static const std::vector<Operator> list{gla_operator()};
  return list;
}

}  // namespace gla_bench
