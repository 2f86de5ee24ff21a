#pragma once
// The fields of a config's "policy". This one list is what reads them (policy.cpp), writes them
// (write.cpp) and describes them (config_schema.cpp).

#include <algorithm>
#include <array>
#include <string>

#include "harness/config/config.hpp"
#include "harness/support/fields/fields.hpp"

namespace gla_bench {

template <>
struct EnumNames<Which> {
  static constexpr std::string_view expected = "of which candidates";
  static constexpr std::array values{Which::none, Which::best, Which::all};
};

template <>
struct EnumNames<ReferencePlace> {
  static constexpr std::string_view expected = "a place for the float64 reference";
  static constexpr std::array values{ReferencePlace::automatic, ReferencePlace::host,
                                     ReferencePlace::device};
};

template <class Visitor>
void fields(Visitor& visit, Of<TimingPolicy>) {
  using enum Presence;
  constexpr double most_calls = 1000000, most_seconds = 3600;
  visit.of("timing_policy", "How candidates are timed.");
  visit("warmup", &TimingPolicy::warmup,
        {.about = "Calls before the first sample.",
         .presence = added,
         .least = 0,
         .most = most_calls});
  visit("min_samples", &TimingPolicy::min_samples,
        {.about = "How many samples are taken at least.",
         .presence = added,
         .least = 1,
         .most = most_calls});
  visit("max_samples", &TimingPolicy::max_samples,
        {.about = "How many samples are taken at most.",
         .presence = added,
         .least = 1,
         .most = most_calls});
  visit("min_seconds", &TimingPolicy::min_seconds,
        {"How long the samples last together before low noise may end the series.", "seconds",
         added, 0, most_seconds});
  visit("max_seconds", &TimingPolicy::max_seconds,
        {"The wall time of each of the cold and the hot series at most.", "seconds", added, 0,
         most_seconds});
  visit("max_noise", &TimingPolicy::max_noise,
        {.about = "The relative standard error of the median that is good enough.",
         .presence = added,
         .least = 0,
         .most = 1});
  visit("hot", &TimingPolicy::hot,
        {.about = "Whether a second series with warm caches is taken.", .presence = added});
  visit(
      "sustained", &TimingPolicy::sustained,
      {.about = "Whether a further series is taken of calls one behind the other, each on another "
                "copy of the tensors, that together exceed the last-level cache four times.",
       .presence = added});
  visit.check([](const TimingPolicy& timing, const JsonNode& node) {
    if (timing.max_samples < timing.min_samples)
      node.fail("max_samples (" + std::to_string(timing.max_samples) +
                ") of at least min_samples (" + std::to_string(timing.min_samples) + ")");
    if (timing.max_seconds < timing.min_seconds) node.fail("max_seconds of at least min_seconds");
  });
}

template <class Visitor>
void fields(Visitor& visit, Of<VerificationPolicy>) {
  visit.of("verification_policy", "How candidates are verified.");
  visit("reference", &VerificationPolicy::reference,
        {.about = "Where the float64 reference is computed. auto: on the device where it has one "
                  "and the problem is large. Unless this is host, large outputs are also compared "
                  "with it on the device.",
         .presence = Presence::added});
}

template <class Visitor>
void fields(Visitor& visit, Of<CounterPolicy>) {
  using enum Presence;
  visit.of("counter_policy", "What is counted.");
  visit("of", &CounterPolicy::of,
        {.about = "The candidates of which it is counted what one call moves, in a call of its own "
                  "after timing.",
         .presence = added});
  visit("metrics", &CounterPolicy::metrics,
        {.about = "Further metrics by the profiler's names; `gla-bench plan` checks them and says "
                  "how many passes they need.",
         .presence = added,
         .expected = "a metric by the profiler's name: \"lts__t_sectors.sum\"",
         .filled = true});
  visit.check([](CounterPolicy& policy, const JsonNode&) {
    std::vector<std::string> unique;
    for (std::string& metric : policy.metrics)
      if (std::find(unique.begin(), unique.end(), metric) == unique.end())
        unique.push_back(std::move(metric));
    policy.metrics = std::move(unique);
  });
}

template <class Visitor>
void fields(Visitor& visit, Of<EnergyPolicy>) {
  using enum Presence;
  visit.of("energy_policy", "Of which candidates the energy is measured, and for how long.");
  visit("of", &EnergyPolicy::of,
        {.about = "best: of candidates that are their variant's fastest so far when their turn "
                  "comes.",
         .presence = added});
  // A shorter time is within the meter's own steps; a longer one would exceed the timing itself.
  visit("seconds", &EnergyPolicy::seconds,
        {"How long calls are repeated between two steps of the device's meter.", "seconds", added,
         0.1, 60});
}

template <class Visitor>
void fields(Visitor& visit, Of<LimitPolicy>) {
  using enum Presence;
  constexpr double least = 0.001, most = 7 * 24 * 3600;
  visit.of("limit_policy",
           "After how long a worker's step counts as hung. It is then killed, and the row is "
           "`timeout`.");
  visit("least_seconds", &LimitPolicy::least_seconds,
        {"For a step that runs a candidate (verify, measure, counters), whatever its size.",
         "seconds", added, least, most});
  visit("factor", &LimitPolicy::factor,
        {.about = "Added to that: this many times what the candidate's bytes and flops take at the "
                  "rates measured.",
         .presence = added,
         .least = 0,
         .most = 1e9});
  visit("build_seconds", &LimitPolicy::build_seconds,
        {"To compile one candidate.", "seconds", added, least, most});
  visit("reference_seconds", &LimitPolicy::reference_seconds,
        {"For a problem's inputs and float64 reference, or a plain computation.", "seconds", added,
         least, most});
}

template <class Visitor>
void fields(Visitor& visit, Of<KeepWrong>) {
  visit.of("keep_wrong",
           "Where the tensors of wrong rows are kept: inputs, outputs, reference, errors by chunk. "
           "Without it none are.");
  visit("folder", &KeepWrong::folder, {"The folder, from the config's own folder."});
  visit("most_mib", &KeepWrong::most_mib,
        {"How large one file may be; a larger one is not written.", "mebibytes", Presence::added, 0,
         1 << 20});
}

template <class Visitor>
void fields(Visitor& visit, Of<Policy>) {
  using enum Presence;
  visit.of("policy", "How candidates are verified, measured and limited.");
  visit("timing", &Policy::timing, {.about = "How candidates are timed.", .presence = added});
  visit("verification", &Policy::verification,
        {.about = "How candidates are verified.", .presence = added});
  visit("counters", &Policy::counters, {.about = "What is counted.", .presence = added});
  visit("energy", &Policy::energy,
        {.about = "Of which candidates the energy is measured.", .presence = added});
  visit("limits", &Policy::limits,
        {.about = "After how long a worker's step counts as hung.", .presence = added});
  visit("keep_wrong", &Policy::keep_wrong,
        {.about = "Where the tensors of wrong rows are kept.", .presence = added},
        [](const Policy& policy) { return !policy.keep_wrong.folder.empty(); });
  visit("winner_launches", &Policy::winner_launches,
        {.about =
             "How often a problem's fastest candidate is launched beside other work on the "
             "device, and its outputs compared bit for bit, within timing.max_seconds; 0: never. "
             "A candidate counts that is the fastest so far when its turn comes.",
         .presence = added,
         .least = 0,
         .most = 1e6});
  visit("tolerance", &Policy::tolerance,
        {.about = "The path of a tolerance file, from the config's folder; without it the "
                  "program's own is used.",
         .presence = sparse});
  visit("allow_suspect", &Policy::allow_suspect,
        {.about = "Variants whose times the gate lets pass although they cannot be true.",
         .presence = sparse,
         .expected = "the name of a variant",
         .filled = true});
  visit("least_share", &Policy::least_share,
        {.about = "By variant: the share of the problems that it has to take of each operator, "
                  "direction and dtype that asks for it; the gate fails below it.",
         .presence = sparse,
         .least = 0,
         .most = 1});
}

}  // namespace gla_bench
