// Which CUDA variants write the states after every states_every tokens, and what the others say.

#include "kernels/linear_recurrence/sm90/chunk_sm90.hpp"
#include "kernels/linear_recurrence/variants.hpp"
#include "tests/kernels/linear_recurrence/problems.hpp"

namespace gla_bench::linear_recurrence {
namespace {

TEST(StatesBetweenOnGpus, AreWrittenAtTheEndsOfWholePieces) {
  expect_states_between(recurrent, "tokens");
  expect_states_between(chunk_fused, "chunk");
  expect_states_between(chunk_materialized, "chunk");
}

TEST(StatesBetweenOnGpus, AreRefusedWhereThereAreNone) {
  const Problem problem = gla(DType::bfloat16, {2, 200, 3, 64, 64});
  expect_no_states_between(parallel, problem);
  expect_no_states_between(parallel_cublas, problem);
  expect_no_states_between(chunk_pipeline, problem);
  expect_no_states_between(chunk_sm90, problem);
  Problem few = gla(DType::bfloat16, {1, 24, 3, 64, 64});
  few.shape.sequences = 4;
  expect_no_states_between(decode, few);
}

}  // namespace
}  // namespace gla_bench::linear_recurrence
