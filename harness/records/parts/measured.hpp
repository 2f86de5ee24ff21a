#pragma once
// What was measured of a candidate, and how it stands in a record.

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "harness/backends/backend.hpp"
#include "harness/support/fields/fields.hpp"

namespace gla_bench {

inline constexpr std::array<std::string_view, 4> series_ends{"noise", "time", "samples", "search"};

/// Repeated calls in one state of the caches.
struct Series {
  double median_ms = 0, min_ms = 0, p20_ms = 0, p80_ms = 0;
  std::vector<double> samples_ms;
  std::string stopped_because;
};

template <class Visitor>
void fields(Visitor& visit, Of<Series>) {
  constexpr std::string_view ms = "milliseconds";
  visit.of("series", "The times of repeated calls in one state of the caches.");
  visit("median_ms", &Series::median_ms,
        {.about = "The median of the samples.", .unit = ms, .column = "ms"});
  visit("min_ms", &Series::min_ms, {"The smallest sample.", ms});
  visit("p20_ms", &Series::p20_ms, {"The 20th percentile of the samples.", ms});
  visit("p80_ms", &Series::p80_ms, {"The 80th percentile of the samples.", ms});
  visit("samples_ms", &Series::samples_ms, {"All samples, in the order they were taken.", ms});
  visit("stopped_because", &Series::stopped_because,
        {.about = "What ended the series: the noise was low enough, the time or the number of "
                  "samples was used up, or a search had seen enough.",
         .names = series_ends,
         .expected = "what ended a series"});
}

inline constexpr std::array<std::string_view, 4> suspect_checks{"floor", "wall_clock",
                                                                "unseen_inputs", "clocks"};

struct Timing {
  Series cold;
  std::optional<Series> hot;
  std::optional<double> clock_mhz_before, clock_mhz_after;
  std::optional<Series> sustained;
  std::int64_t sustained_copies = 0;
  std::optional<double> wall_ms;
  bool suspect = false;
  std::string suspect_check;  ///< one of suspect_checks, by their names in checks.hpp
  bool throttled = false;
  std::vector<std::string> clock_reasons;  ///< Backend::clock_reasons()
};

template <class Visitor>
void fields(Visitor& visit, Of<Timing>) {
  using enum Presence;
  visit.of("timing", "How long a call takes.");
  visit("cold", &Timing::cold,
        {.about = "Calls whose inputs are in no cache.", .column = "cold_*"});
  visit("hot", &Timing::hot,
        {.about = "Calls one behind the other, with what the caches hold; null where not asked "
                  "for.",
         .presence = added,
         .column = "hot_*"});
  visit(
      "sustained", &Timing::sustained,
      {.about = "Calls one behind the other, each on another copy of the tensors. Together the "
                "copies exceed the last-level cache four times, so that every byte is moved while "
                "the clock runs, also what a call leaves in the cache. Missing where it was not "
                "measured.",
       .presence = sparse,
       .column = "sustained_*"});
  visit("sustained_copies", &Timing::sustained_copies,
        {.about = "How many copies of the tensors the sustained time is of.",
         .presence = sparse,
         .least = 1});
  visit("clock_mhz_before", &Timing::clock_mhz_before,
        {"The device's clock before the samples.", "megahertz", added});
  visit("clock_mhz_after", &Timing::clock_mhz_after,
        {"The device's clock after the samples.", "megahertz", added});
  visit("wall_ms", &Timing::wall_ms,
        {"The shortest whole call by the wall clock: enqueued, run and waited for.", "milliseconds",
         added});
  visit("suspect", &Timing::suspect,
        {.about = "Whether the time cannot be true.", .presence = added, .column = "suspect"});
  visit("suspect_check", &Timing::suspect_check,
        {.about = "Why the time cannot be true: it is below what the bytes alone take (floor), it "
                  "contradicts the wall clock, calls take much longer with inputs that no call had "
                  "before, or the host's clock contradicts the processor's counter (clocks).",
         .presence = added,
         .names = suspect_checks,
         .expected = "why a time cannot be true"},
        [](const Timing& timing) { return timing.suspect; });
  visit("throttled", &Timing::throttled,
        {.about = "Whether something slowed the device down before, during or after the samples.",
         .presence = added,
         .column = "throttled"});
  visit("clock_reasons", &Timing::clock_reasons,
        {.about = "Why the clocks were where they were at any of those moments, by NVML's names: "
                  "sw_power_cap, hw_thermal_slowdown, ...",
         .presence = added});
  visit.check([](Timing& timing, const JsonNode&) {
    // Files from before the check's name was kept had one such check.
    if (timing.suspect && timing.suspect_check.empty()) timing.suspect_check = suspect_checks[0];
  });
}

/// One part of a call: its time with cold caches, and what it moves on paper.
struct Stage {
  std::string name;
  double median_ms = 0;
  double model_read_bytes = 0;
  double model_write_bytes = 0;
};

template <class Visitor>
void fields(Visitor& visit, Of<Stage>) {
  visit.of("stage", "One part of a call.");
  visit("name", &Stage::name, {"The stage's name, as the variant gives it."});
  visit("median_ms", &Stage::median_ms,
        {"The median of its times with cold caches.", "milliseconds"});
  visit("model_read_bytes", &Stage::model_read_bytes,
        {"What it reads from device memory, by the variant's model.", "bytes"});
  visit("model_write_bytes", &Stage::model_write_bytes,
        {"What it writes to device memory, by the variant's model.", "bytes"});
}

/// What the device took for repeated calls, back to back with warm caches.
struct Energy {
  std::optional<double> joules_per_call = {};
  double watts = 0;
  double window_seconds = 0;
  std::int64_t calls = 0;
  std::string reason = {};
};

template <class Visitor>
void fields(Visitor& visit, Of<Energy>) {
  using enum Presence;
  const auto has_figure = [](const Energy& energy) { return energy.joules_per_call.has_value(); };
  visit.of("energy",
           "What the whole board took for repeated calls, back to back with warm caches. What it "
           "takes when idle is included.");
  visit("joules_per_call", &Energy::joules_per_call,
        {.about = "The energy of one call.", .unit = "joules", .column = "joules"});
  visit("watts", &Energy::watts, {"The power over the window.", "watts", added}, has_figure);
  visit("window_seconds", &Energy::window_seconds,
        {"How long the calls were repeated.", "seconds", added}, has_figure);
  visit("calls", &Energy::calls,
        {.about = "How many calls the window holds.", .presence = added, .least = 1}, has_figure);
  visit("reason", &Energy::reason, {"Why there is no figure; empty where there is one."});
  visit.check([](const Energy& energy, const JsonNode& node) {
    if (energy.joules_per_call && energy.calls < 1)
      node.fail("calls of at least 1 beside joules_per_call");
  });
}

template <>
struct EnumNames<CounterSource> {
  static constexpr std::string_view expected = "a source";
  static constexpr std::array values{CounterSource::cupti,  CounterSource::not_asked,
                                     CounterSource::absent, CounterSource::unsupported,
                                     CounterSource::denied, CounterSource::failed};
};
std::string_view name(CounterSource source);

template <class Visitor>
void fields(Visitor& visit, Of<CounterReading>) {
  using enum Presence;
  const auto counted = [](const CounterReading& reading) {
    return reading.source == CounterSource::cupti;
  };
  visit.of("measured",
           "What the device itself counted during one call with cold caches. Every source but "
           "cupti means that there are no figures, for the reason given.");
  visit("source", &CounterReading::source, {"Where the figures are from, or why there are none."});
  visit("reason", &CounterReading::reason, {"Why there are no figures; empty for cupti."});
  visit("dram_read_bytes", &CounterReading::dram_read_bytes,
        {"Read from device memory.", "bytes", added}, counted);
  visit("dram_write_bytes", &CounterReading::dram_write_bytes,
        {"Written to device memory during the call, and what it left modified in the last-level "
         "cache.",
         "bytes", added},
        counted);
  visit("written_back_bytes", &CounterReading::written_back_bytes,
        {"The part of dram_write_bytes that was left in the last-level cache.", "bytes", added},
        counted);
  visit("l2_bytes", &CounterReading::l2_bytes,
        {"What passed through the last-level cache.", "bytes", added}, counted);
  visit("passes", &CounterReading::passes,
        {.about = "How often the call ran to count all of it.", .presence = added, .least = 0},
        counted);
  visit("metrics", &CounterReading::metrics,
        {.about = "All figures of the call by the profiler's names.", .presence = added}, counted);
  visit.rule(R"({"if": {"properties": {"source": {"const": "cupti"}}},
    "then": {"required": ["dram_read_bytes", "dram_write_bytes", "l2_bytes", "passes", "metrics"]},
    "else": {"properties": {"reason": {"minLength": 1}}}})");
}

struct Io {
  double floor_bytes = 0;
  double model_read_bytes = 0;
  double model_write_bytes = 0;
  double workspace_bytes = 0;
  std::optional<double> kept_bytes = {};        ///< only of training
  std::optional<CounterReading> measured = {};  ///< nothing: the candidate was not measured
};

template <class Visitor>
void fields(Visitor& visit, Of<Io>) {
  using enum Presence;
  visit.of("io", "What a call moves through device memory.");
  visit("floor_bytes", &Io::floor_bytes,
        {"What every implementation has to move: each input read once, each output written once.",
         "bytes"});
  visit("model_read_bytes", &Io::model_read_bytes,
        {"What the candidate reads, by the variant's model.", "bytes", added});
  visit("model_write_bytes", &Io::model_write_bytes,
        {"What the candidate writes, by the variant's model.", "bytes", added});
  visit("workspace_bytes", &Io::workspace_bytes,
        {"The scratch memory that the candidate needs.", "bytes", added});
  visit(
      "kept_bytes", &Io::kept_bytes,
      {.about = "Of the scratch memory, what the forward of a training step leaves for its "
                "backward. Inputs, which both read, are not counted. Missing in other directions, "
                "and for candidates from outside the program, which state no such memory.",
       .unit = "bytes",
       .presence = sparse,
       .column = "kept_bytes"});
  visit("measured", &Io::measured, {.about = "What the device counted.", .presence = sparse});
}

template <class Visitor>
void fields(Visitor& visit, Of<KernelBuild>) {
  visit.of("kernel", "One compiled kernel.");
  visit("entry", &KernelBuild::entry, {"The name of the kernel's function."});
  visit("registers", &KernelBuild::registers, {"Registers of one thread."});
  visit("spill_bytes", &KernelBuild::spill_bytes,
        {"Spill stores and loads that the assembler reports, together.", "bytes"});
  visit("shared_bytes", &KernelBuild::shared_bytes,
        {"Static and dynamic shared memory of a block.", "bytes"});
}

template <class Visitor>
void fields(Visitor& visit, Of<BuildInfo>) {
  using enum Presence;
  visit.of("build",
           "What compiling the candidate gave. Of several kernels the largest registers and shared "
           "memory, and the sum of the spills.");
  visit("registers", &BuildInfo::registers, {"Registers of one thread."});
  visit("spill_bytes", &BuildInfo::spill_bytes,
        {"Spill stores and loads that the assembler reports.", "bytes"});
  visit("shared_bytes", &BuildInfo::shared_bytes,
        {"Static and dynamic shared memory of a block.", "bytes"});
  visit("seconds", &BuildInfo::seconds, {"How long it took.", "seconds"});
  visit("cached", &BuildInfo::cached, {"Whether it was found compiled."});
  visit("kernels", &BuildInfo::kernels, {.about = "Each kernel by itself.", .presence = added});
  visit("warnings", &BuildInfo::warnings,
        {.about = "The compiler's warnings; empty where it had none.", .presence = added});
}

}  // namespace gla_bench
