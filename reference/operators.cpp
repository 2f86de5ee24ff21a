// The only list of operators.

#include "harness/operator.hpp"
#include "reference/linear_recurrence.hpp"

namespace gla_bench {

std::span<const Operator> operators() {
  static const std::vector<Operator> list = [] {
    std::vector<Operator> all = linear_recurrence_operators();
    return all;
  }();
  return list;
}

}  // namespace gla_bench
