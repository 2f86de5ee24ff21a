#pragma once
// Runs the same problems under Google Benchmark. Its filters, repetitions, JSON and compare.py work
// with our candidates, our verification and our timer.

#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/variant.hpp"
#include "harness/backends/backend.hpp"
#include "harness/verify/tolerance.hpp"
#include "harness/verify/verify.hpp"

namespace benchmark {
class BenchmarkReporter;
}

namespace gla_bench {

struct BenchOptions {
  std::vector<std::string> arguments;  ///< "--benchmark_filter=...", passed to the library
  bool hot = false;                    ///< runs each point a second time with warm caches
  std::map<std::string, std::string>
      context;  ///< into the JSON's context, beside the library's own
  ReferencePlace reference = ReferencePlace::automatic;
  Tolerance tolerance = default_tolerance();
  /// Prints to the terminal. Null: the library chooses by its flags. Version 1.7 frees its own
  /// reporter after the first use, so a process that calls bench() twice has to pass one.
  benchmark::BenchmarkReporter* display = nullptr;
};

struct BenchOutcome {
  std::size_t selected = 0;                     ///< benchmarks that ran, or were listed
  std::map<std::string, std::string> failures;  ///< benchmark -> why it was not timed
};

/// An example of a name:
/// "gla/forward/bfloat16/chunk_fused/B:8/T:4096/H:16/K:128/V:128/gate:mild/block_v=64,chunk=64".
/// What differs from the default follows the gate (options, "layout:head_first", "initial_state",
/// ...). The name of a hot twin ends in "/hot". Distinct candidates of one backend have distinct
/// names. The library appends "/manual_time".
std::string benchmark_name(const Candidate& candidate, CacheState cache);

/// Registers every candidate and runs those that the library's filter keeps, in the given order.
/// The candidates of a problem stay together, so that its reference is computed once. A candidate
/// is verified before and after it is timed. One that is wrong or fails is reported as an error of
/// its benchmark and not timed. Time per iteration is Plan::sample (of back-to-back calls where
/// hot, as in measure()). The counters are bytes_per_second over the operator's floor,
/// model_read_bytes, model_write_bytes, flops (a rate) and rel_l2 (the largest of the outputs). Not
/// reentrant: the library keeps its flags and benchmarks globally.
/// @throws InputError for an argument that the library does not know, where nothing can run, and
/// where the filter keeps nothing
BenchOutcome bench(Backend& backend, std::span<const Candidate> candidates,
                   const BenchOptions& options);
using BenchFunction = decltype(&bench);

}  // namespace gla_bench
