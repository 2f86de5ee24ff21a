#pragma once
// Measured records of the toy operator and a file of them, for tests of reports.

#include <string>
#include <utility>
#include <vector>

#include "harness/records/record_file.hpp"
#include "tests/support/toy.hpp"

namespace gla_bench::toy {

/// A right row with a time of so many milliseconds. Its output o is at a tenth of its bound, its
/// floor is 1 MB, its model has 2 MB and 6e9 operations.
inline Record timed(const std::string& variant, double ms, int chunk = 16) {
  Record record;
  record.problem = toy::problem();
  record.variant = variant;
  record.tile = {{"chunk", chunk}};
  record.status = Status::measured;
  Verification& verification = record.verification.emplace();
  verification.ok = verification.deterministic = true;
  verification.tensors["o"] = {1e-4, 0, 0, 1e-3, 0, 0, 0, {}, true};
  Timing& timing = record.timing.emplace();
  timing.cold.median_ms = ms;
  timing.cold.samples_ms = std::vector<double>(20, ms);
  record.io = {1e6, 1.5e6, 0.5e6, 0};
  record.flops = 6e9;
  return record;
}

/// The file of a device that copies 10 GB/s, so that the floor takes 0.1 ms.
inline Results results_of(std::vector<Record> records, const std::string& file = "r.json") {
  Results results;
  results.file = file;
  results.environment["device"] = std::string("toy");
  results.environment["copy_gb_per_s"] = 10.0;
  results.records = std::move(records);
  return results;
}

}  // namespace gla_bench::toy
