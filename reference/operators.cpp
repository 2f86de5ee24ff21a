// The only list of operators.

#include "harness/operator.hpp"

namespace gla_bench {

std::span<const Operator> operators() {
  static const std::vector<Operator> list;
  return list;
}

}  // namespace gla_bench
