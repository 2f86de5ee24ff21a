#include "kernels/softmax_attention/rows/cluster.hpp"

#include "kernels/softmax_attention/family.hpp"
#include "kernels/softmax_attention/rows/ring.hpp"

namespace gla_bench::softmax_attention {

Variant softmax_cluster(std::string_view op) {
  return cuda_variant(op, Direction::forward,
                      {"cluster",
                       "rows held in the shared memory of clusters of blocks, read once",
                       ring_space(),
                       {"softmax_attention/rows/cluster.cuh", "softmax_attention/rows/cluster.cpp",
                        "softmax_attention/rows/ring.cpp"},
                       [](const Problem&, const Tile&) { return Arithmetic::float32; },
                       [](const Problem& problem, const Tile& tile, const Limits& limits) {
                         return refuse_ring(problem, tile, 1, limits);
                       },
                       [](const Problem& problem, const Tile&) {
                         return Traffic{row_bytes(problem), row_bytes(problem)};
                       },
                       // For each element: scale, subtract, exponential, add, divide.
                       [](const Problem& problem, const Tile&) {
                         return 5 * static_cast<double>(problem.shape.batch) *
                                static_cast<double>(problem.shape.columns);
                       },
                       {},
                       [](const Problem& problem, const Tile& tile) {
                         return ring_recipe(problem, tile, 1, "softmax_attention/rows/cluster.cuh",
                                            "softmax_cluster");
                       }});
}

}  // namespace gla_bench::softmax_attention
