#include "kernels/linear_recurrence/training/variants.hpp"

#include "kernels/linear_recurrence/backward/variants.hpp"
#include "kernels/linear_recurrence/training/halves.hpp"
#include "kernels/linear_recurrence/training/pair.hpp"
#include "kernels/linear_recurrence/variants.hpp"

namespace gla_bench::linear_recurrence {
namespace {

Variant with_source(Variant variant) {
  variant.sources.emplace_back("linear_recurrence/training/variants.cpp");
  return variant;
}

}  // namespace

Variant training_recurrent(const Member& member) {
  return with_source(
      training_pair({"recurrent", "token by token, then back; the backward forms its states itself",
                     recurrent(member), backward_recurrent(member)}));
}

Variant training_parallel(const Member& member) {
  return with_source(training_pair(
      {"parallel", "quadratic in T both ways; the backward takes nothing from the forward",
       parallel(member), backward_parallel(member)}));
}

Variant training_chunk_materialized(const Member& member) {
  return with_source(training_pair(
      {"chunk_materialized", "all chunks in parallel, then back from the states before them",
       chunk_materialized(member), backward_chunk_materialized_of_states(member)}));
}

Variant training_chunk_fused(const Member& member) {
  return with_source(training_pair(
      {"chunk_fused",
       "a walk that keeps states, then one back from them with their gradient on chip",
       chunk_fused_with_states(member), backward_chunk_fused_of_states(member)}));
}

Variant training_chunk_sm90(const Member& member) {
  return with_source(
      training_pair({"chunk_sm90",
                     "for sm_90a: the forward, which keeps states, and a walk back with their "
                     "gradient in registers",
                     chunk_sm90_with_states(member), backward_chunk_sm90_of_states(member)}));
}

}  // namespace gla_bench::linear_recurrence
