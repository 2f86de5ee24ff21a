#include "kernels/softmax_attention/variants.hpp"

#include "kernels/softmax_attention/decoding/flash_decoding_sm90.hpp"
#include "kernels/softmax_attention/family.hpp"
#include "kernels/softmax_attention/rows/backward/softmax_backward.hpp"
#include "kernels/softmax_attention/rows/cluster.hpp"
#include "kernels/softmax_attention/sm90/backward/flash_sm90.hpp"
#include "kernels/softmax_attention/sm90/flash_sm90.hpp"

namespace gla_bench::softmax_attention {
namespace {

/// A function that makes a variant, and the operator to make it for.
struct Maker {
  Variant (*make)(std::string_view op);
  std::string_view op;
};

const std::vector<Maker>& makers() {
  static const std::vector<Maker> list{
      // CUDA, forward
      {three_pass, "softmax"},
      {online, "softmax"},
      {online_blocked, "softmax"},
      {softmax_cluster, "softmax"},
      {materialized, "attention"},
      {flash1, "attention"},
      {flash2, "attention"},
      {flash_decoding, "attention"},
      {flash_decoding_pp, "attention"},
      {materialized, "decay_attention"},
      {flash2, "decay_attention"},
      {flash_decoding, "decay_attention"},
      {flash_sm90, "attention"},
      {flash_sm90, "decay_attention"},
      {flash_decoding_sm90, "attention"},
      {flash_decoding_sm90, "decay_attention"},
      // CUDA, backward
      {backward_two_pass, "softmax"},
      {backward_blocked, "softmax"},
      {backward_cluster, "softmax"},
      {backward_materialized, "attention"},
      {backward_flash2, "attention"},
      {backward_flash2_deterministic, "attention"},
      {backward_flash_sm90, "attention"},
      {backward_flash_sm90_deterministic, "attention"},
      {backward_materialized, "decay_attention"},
      {backward_flash2, "decay_attention"},
      {backward_flash2_deterministic, "decay_attention"},
      {backward_flash_sm90, "decay_attention"},
      {backward_flash_sm90_deterministic, "decay_attention"},
      // Host
      {host_three_pass, "softmax"},
      {host_online, "softmax"},
      {host_online_blocked, "softmax"},
      {host_backward_two_pass, "softmax"},
      {host_backward_blocked, "softmax"},
      {host_materialized, "attention"},
      {host_flash1, "attention"},
      {host_flash2, "attention"},
      {host_flash_decoding, "attention"},
      {host_flash_decoding_pp, "attention"},
      {host_materialized, "decay_attention"},
      {host_flash2, "decay_attention"},
      {host_flash_decoding, "decay_attention"},
      {host_backward_materialized, "attention"},
      {host_backward_flash2, "attention"},
      {host_backward_flash2_deterministic, "attention"},
      {host_backward_materialized, "decay_attention"},
      {host_backward_flash2, "decay_attention"},
      {host_backward_flash2_deterministic, "decay_attention"},
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
