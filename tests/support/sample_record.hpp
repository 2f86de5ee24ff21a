#pragma once
// A record with a value in each of its members, and the results file around it.

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "core/error.hpp"
#include "harness/records/record.hpp"
#include "harness/support/facts.hpp"
#include "harness/support/json.hpp"

namespace gla_bench {

/// `number` distinguishes the record from others of the same file.
inline Record sample_record(int number, std::size_t samples = 3) {
  Record record;
  record.problem.op = "gla";
  record.problem.seed = static_cast<std::uint64_t>(number);
  record.problem.scale = 0.5;
  record.variant = "chunk_fused";
  record.tile = {{"chunk", 64}};
  record.status = Status::measured;
  Verification verification;
  verification.ok = true;
  verification.arithmetic = Arithmetic::tf32;
  verification.reference = "host";
  verification.deterministic = true;
  verification.last_timed_ok = true;
  verification.tensors["o"] = {1e-4, 2e-4, 3e-4, 1e-3, 4e-3, 2e-2, 5e-5, {{0, 1, 2, 3}, 1, 2},
                               true};
  record.verification = verification;
  Timing timing;
  timing.cold.samples_ms.assign(samples, 1.25);
  timing.cold.median_ms = timing.cold.min_ms = timing.cold.p20_ms = timing.cold.p80_ms = 1.25;
  timing.cold.stopped_because = "noise";
  timing.clock_mhz_before = 1980;
  record.timing = timing;
  record.stages = {{"projections", 0.75, 100, 200}, {"gla", 0.5, 300, 400}};
  record.device = "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f";
  record.throttled_timing = timing;
  record.throttled_timing->throttled = true;
  record.throttled_timing->clock_reasons = {"sw_power_cap", "hw_thermal_slowdown"};
  record.io = {100, 200, 300, 400};
  record.io.measured =
      CounterReading{CounterSource::cupti, "", 210, 310, 10, 900, 1, {{"lts__t_bytes.sum", 900}}};
  record.predicted_ms = 0.75;
  record.energy = Energy{0.25, 500, 0.31, 620, ""};
  record.flops = 1e9;
  record.build = BuildInfo{32, 4, 1024, 0.5, true, true, {{"chunk_fused", 32, 4, 1024}}, "warned"};
  record.source_hash = "0123456789abcdef";
  record.verifier_hash = "0123456789abcdef-fedcba9876543210";
  record.chosen_by = ChosenBy{"nearest",
                              "tuned.json",
                              "T~4096",
                              1.5,
                              "passed over: chunk_pipeline",
                              "h200.model.json (NVIDIA H200)",
                              0.75,
                              "chunk_sm90 stages=3",
                              0.8125};
  record.against =
      Against{Status::verified, "",   "fedcba9876543210", verification, 2, {1, 1.125, 2, 4},
              {1, 2, 3, 4},     "bn", "precision"};
  record.search = SearchNote{"halving", "slower", 2, {{1.2, 1.3}}, {{0.9, 1.0}}};
  return record;
}

inline Json config() {
  return parse_json(R"({"description": "a test"})", "config");
}

inline Facts environment() {
  return {{"device", "toy"}, {"copy_gb_per_s", 10.5}, {"git_dirty", true}};
}

/// The message of an InputError or OutputError that an action throws.
inline std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  } catch (const OutputError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace gla_bench
