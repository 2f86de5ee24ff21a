#pragma once
// Records and results files of numbers, to make tables of.

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "harness/records/record_file.hpp"

namespace gla_bench {

inline Problem problem_at(std::int64_t seq, std::int64_t batch = 8, std::int64_t heads = 16) {
  Problem problem;
  problem.op = "gla";
  problem.dtype = DType::bfloat16;
  problem.shape = {batch, seq, heads, 128, 128};
  return problem;
}

/// A right record whose samples lie evenly within `noise` of the median.
inline Record timed_record(const Problem& problem, const std::string& variant, const Tile& tile,
                           double ms, double error = 1e-3, double noise = 0.005) {
  Record record;
  record.problem = problem;
  record.variant = variant;
  record.tile = tile;
  record.backend = BackendId::cuda;
  record.status = Status::measured;
  record.source_hash = "hash of " + variant;
  record.verification = Verification{};
  record.verification->ok = true;
  record.verification->last_timed_ok = true;
  record.verification->tensors["o"].rel_l2 = error;
  record.timing = Timing{};
  std::mt19937 random(static_cast<unsigned>(1000 * ms));
  for (int i = -10; i <= 10; ++i)
    record.timing->cold.samples_ms.push_back(ms * (1 + noise * i / 10.0));
  std::shuffle(record.timing->cold.samples_ms.begin(), record.timing->cold.samples_ms.end(),
               random);
  record.timing->cold.median_ms = ms;
  return record;
}

inline Record failed_record(const Problem& problem, const std::string& variant, const Tile& tile,
                            Status status = Status::wrong) {
  Record record = timed_record(problem, variant, tile, 0.001);
  record.status = status;
  record.verification->ok = false;
  record.timing.reset();
  return record;
}

inline Results results_of(std::vector<Record> records,
                          const std::string& started = "2026-11-21T10:00:00Z",
                          const std::string& file = "records.json") {
  Results results;
  results.file = file;
  results.environment = {{"backend", "cuda"},           {"device", "NVIDIA H200"},
                         {"compute_capability", "9.0"}, {"architecture", "sm_90a"},
                         {"multiprocessors", 132.0},    {"driver", "580"},
                         {"started", started},          {"command_line", "run"}};
  results.records = std::move(records);
  return results;
}

}  // namespace gla_bench
