#pragma once
// Made-up times of a device that runs the program's own candidates by a simple rule, for tests of
// models.

#include <cmath>
#include <vector>

#include "core/tile_space.hpp"
#include "harness/cost_model/predictor.hpp"
#include "harness/records/record_file.hpp"
#include "harness/tuned_table/evaluate.hpp"
#include "tests/harness/tuned_table/records.hpp"

namespace gla_bench::cost_model {

inline Facts made_up_environment(double multiprocessors = 132, double copy_gb_per_s = 4000) {
  Facts facts = gla_bench::results_of({}).environment;
  facts["multiprocessors"] = multiprocessors;
  facts["copy_gb_per_s"] = copy_gb_per_s;
  facts["matrix_tflop_per_s"] = 800.0;
  facts["l2_bytes"] = 60e6;
  return facts;
}

inline Problem made_up_problem(std::int64_t batch, std::int64_t seq, std::int64_t heads) {
  return problem_at(seq, batch, heads);
}

inline bool admits(const Candidate& candidate) {
  return !candidate.variant->reject(candidate.problem, candidate.tile,
                                    recorded_limits(made_up_environment()));
}

/// chunk_sm90 at twice its bound in one segment, and half as fast for each step away from the best
/// number of segments: as many as fill the device. Other variants take `others` times their bound.
inline double made_up_seconds(const Candidate& candidate, const Facts& environment,
                              double others = 8) {
  const DeviceRates rates = device_rates(environment);
  const double bound = features_of(candidate, rates).bound;
  if (candidate.variant->name != "chunk_sm90") return others * bound;
  const Shape& s = candidate.problem.shape;
  const double blocks = static_cast<double>(s.batch * s.heads);
  const double best = std::max(0.0, std::log2(rates.multiprocessors / blocks));
  const double chosen = std::log2(candidate.tile.at("segments"));
  return 2 * bound * (1 + 0.5 * std::abs(chosen - best));
}

/// Records of some tiles of two variants on problems of all sizes.
inline Results made_up_records(const Facts& environment = made_up_environment()) {
  Results results = gla_bench::results_of({});
  results.environment = environment;
  for (const std::int64_t batch : {1, 2, 4, 8})
    for (const std::int64_t seq : {512, 1024, 3000, 8192})
      for (const std::int64_t heads : {4, 12, 24})
        for (const char* name : {"chunk_sm90", "chunk_fused"}) {
          const Variant& variant = *find_variant("gla", name, BackendId::cuda);
          const Problem problem = made_up_problem(batch, seq, heads);
          int taken = 0;
          for (const Tile& tile : all_tiles(variant.space)) {
            const Candidate candidate{&variant, problem, tile};
            const bool plain = variant.name != "chunk_sm90" ||
                               (tile.at("parted") == 0 && tile.at("on_chip") == 0 &&
                                tile.at("cluster") == 1 && tile.at("preparers") == 1);
            if (!plain || !admits(candidate)) continue;
            if (++taken % 5 != 0) continue;
            results.records.push_back(timed_record(problem, variant.name, tile,
                                                   1e3 * made_up_seconds(candidate, environment)));
            if (taken > 400) break;
          }
        }
  return results;
}

}  // namespace gla_bench::cost_model
