// The only list of operators.

#include "core/operator.hpp"
#include "core/reference_folders.hpp"
#include "reference/attention/attention.hpp"
#include "reference/gla_layer/gla_layer.hpp"
#include "reference/linear_recurrence/linear_recurrence.hpp"
#include "reference/softmax/softmax.hpp"

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

std::span<const std::string_view> reference_folders(std::string_view op) {
  static constexpr std::string_view recurrence[]{"linear_recurrence"}, softmax[]{"softmax"},
      attention[]{"attention"}, layer[]{"gla_layer", "linear_recurrence"};
  if (op == "softmax") return softmax;
  if (op == "attention" || op == "decay_attention") return attention;
  if (op == "gla_layer") return layer;
  return find_operator(op) == nullptr ? std::span<const std::string_view>() : recurrence;
}

}  // namespace gla_bench
