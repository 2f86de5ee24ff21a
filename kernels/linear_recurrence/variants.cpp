#include "kernels/linear_recurrence/variants.hpp"

#include <array>

#include "kernels/linear_recurrence/backward/variants.hpp"
#include "kernels/linear_recurrence/family.hpp"
#include "kernels/linear_recurrence/host/backward/variants.hpp"
#include "kernels/linear_recurrence/sm90/chunk_sm90.hpp"
#include "kernels/linear_recurrence/training/variants.hpp"

namespace gla_bench::linear_recurrence {
namespace {

/// A maker and the members that it makes a variant of.
struct Maker {
  Variant (*make)(const Member&);
  bool (*covers)(const Member&);
};

constexpr auto every_member = [](const Member&) { return true; };
constexpr auto gla_alone = [](const Member& member) { return member.op == "gla"; };

constexpr std::array makers{
    // CUDA
    Maker{recurrent, every_member},
    Maker{decode, every_member},
    Maker{parallel, every_member},
    Maker{parallel_cublas, every_member},
    Maker{chunk_materialized, every_member},
    Maker{chunk_fused, every_member},
    Maker{chunk_sm90, every_member},
    Maker{chunk_pipeline, gla_alone},
    // CUDA, backward
    Maker{backward_recurrent, every_member},
    Maker{backward_parallel, every_member},
    Maker{backward_chunk_materialized, every_member},
    Maker{backward_chunk_fused, every_member},
    Maker{backward_chunk_sm90, every_member},
    // CUDA, training
    Maker{training_recurrent, every_member},
    Maker{training_parallel, every_member},
    Maker{training_chunk_materialized, every_member},
    Maker{training_chunk_fused, every_member},
    Maker{training_chunk_sm90, every_member},
    // Host
    Maker{host_recurrent, every_member},
    Maker{host_decode, every_member},
    Maker{host_parallel, every_member},
    Maker{host_parallel_cublas, every_member},
    Maker{host_chunk_materialized, every_member},
    Maker{host_chunk_fused, every_member},
    Maker{host_chunk_pipeline, gla_alone},
    // Host, backward
    Maker{host_backward_recurrent, every_member},
    Maker{host_backward_parallel, every_member},
    Maker{host_backward_chunk_materialized, every_member},
    Maker{host_backward_chunk_fused, every_member},
    // Host, training
    Maker{host_training_recurrent, every_member},
    Maker{host_training_chunk_materialized, every_member},
    Maker{host_training_chunk_fused, every_member},
};

}  // namespace

std::vector<Variant> variants() {
  std::vector<Variant> list;
  for (const Member& member : members())
    for (const Maker& maker : makers)
      if (maker.covers(member)) list.push_back(maker.make(member));
  return list;
}

}  // namespace gla_bench::linear_recurrence
