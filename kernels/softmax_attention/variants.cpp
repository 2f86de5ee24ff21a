#include "kernels/softmax_attention/variants.hpp"

#include "kernels/softmax_attention/family.hpp"

namespace gla_bench::softmax_attention {
namespace {

/// A maker and an operator that it makes a variant of.
struct Maker {
  Variant (*make)(std::string_view op);
  std::string_view op;
};

const std::vector<Maker>& makers() {
  static const std::vector<Maker> list{
      // CUDA, forward
      // CUDA, backward
      // Host
  };
  return list;
}

}  // namespace

std::vector<Variant> variants() {
  std::vector<Variant> list;
  for (const Maker& maker : makers()) list.push_back(maker.make(maker.op));
  return list;
}

}  // namespace gla_bench::softmax_attention
