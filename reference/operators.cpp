// The only list of operators.

#include "core/operator.hpp"
#include "reference/attention/attention.hpp"
#include "reference/gla_layer.hpp"
#include "reference/linear_recurrence.hpp"
#include "reference/softmax.hpp"

namespace gla_bench {

std::span<const Operator> operators() {
  static const std::vector<Operator> list = [] {
    std::vector<Operator> all = linear_recurrence_operators();
    all.push_back(softmax_operator());
    all.push_back(attention_operator());
    all.push_back(decay_attention_operator());
    all.push_back(gla_layer_operator());
    return all;
  }();
  return list;
}

}  // namespace gla_bench
