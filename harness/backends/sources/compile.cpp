#include "harness/backends/sources/compile.hpp"

#include "core/error.hpp"

namespace gla_bench {

std::vector<Compiled> compile_candidates(Backend& backend, std::span<const Candidate> candidates,
                                         const std::function<void(std::size_t)>& finished) {
  backend.build_ahead(candidates);
  std::vector<Compiled> results(candidates.size());
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    try {
      results[i].build = backend.build(candidates[i])->info();
    } catch (const BuildError& error) {
      results[i].error = error.what();
    }
    if (finished) finished(i);
  }
  return results;
}

}  // namespace gla_bench
