// The only list of variants.

#include "core/variant.hpp"
#include "kernels/gla_layer/family.hpp"
#include "kernels/linear_recurrence/family.hpp"
#include "kernels/softmax_attention/family.hpp"

namespace gla_bench {

std::span<const Variant> variants() {
  static const std::vector<Variant> list = [] {
    std::vector<Variant> all = linear_recurrence::variants();
    for (Variant& variant : softmax_attention::variants()) all.push_back(std::move(variant));
    for (Variant& variant : gla_layer::variants()) all.push_back(std::move(variant));
    return all;
  }();
  return list;
}

}  // namespace gla_bench
