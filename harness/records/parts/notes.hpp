#pragma once
// How a candidate came to be tried, and what it was tried against, as it stands in a record.

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/records/parts/status.hpp"
#include "harness/records/parts/verdict.hpp"

namespace gla_bench {

inline constexpr std::array<std::string_view, 4> against_ends{"", "precision", "time", "rounds"};

/// Interleaved rounds against another binary's candidate of the same problem, variant and tile (run
/// --against). In each round both took `samples` samples with cold caches, one candidate after the
/// other.
struct Against {
  Status status = Status::rejected;
  std::string reason;
  std::string source_hash;
  std::optional<Verification> verification;
  int samples = 0;
  std::vector<double> base_ms, new_ms;
  std::string first;
  std::string stopped_because;
};

template <class Visitor>
void fields(Visitor& visit, Of<Against>) {
  visit.of("against",
           "Interleaved rounds against another binary's candidate of the same problem, variant and "
           "tile (`run --against`).");
  visit("status", &Against::status, {"What happened to the other's candidate."});
  visit("reason", &Against::reason, {"Why the other's candidate was not measured."});
  visit("source_hash", &Against::source_hash, {"The sources of the other's candidate."});
  visit("verification", &Against::verification,
        {"The verdict on the other's candidate, on the same inputs."});
  visit("samples", &Against::samples,
        {.about = "How many samples each binary takes in one round.", .least = 0});
  visit("base_ms", &Against::base_ms,
        {"The other's samples, round by round, `samples` of each round.", "milliseconds"});
  visit("new_ms", &Against::new_ms,
        {"This binary's samples, round by round, `samples` of each round.", "milliseconds"});
  visit("first", &Against::first,
        {.about = "One letter for each round: b where the other went first, n where this one did.",
         .letters = "bn"});
  visit("stopped_because", &Against::stopped_because,
        {.about = "What ended the rounds: the interval was narrow enough, or the time or the "
                  "number of rounds was used up. Empty where there were none.",
         .names = against_ends,
         .expected = "what ended the rounds"});
  visit.check([](const Against& against, const JsonNode& node) {
    const auto samples = against.first.size() * static_cast<std::size_t>(against.samples);
    const auto expected = std::to_string(samples) + " times, samples for each round of first";
    if (against.base_ms.size() != samples) node.at("base_ms").fail(expected);
    if (against.new_ms.size() != samples) node.at("new_ms").fail(expected);
  });
}

inline constexpr std::array<std::string_view, 4> ways_to_choose{"bucket", "nearest", "model",
                                                                "default"};

/// How `auto` selected a candidate (tuned_table/choose.hpp).
struct ChosenBy {
  std::string how;
  std::string table;
  std::string entry;
  double distance = 0;
  std::string note;
  std::string model = {};
  double predicted_ms = 0;
  std::string second = {};
  double second_predicted_ms = 0;
};

template <class Visitor>
void fields(Visitor& visit, Of<ChosenBy>) {
  visit.of("chosen_by", "How `auto` came to this candidate.");
  visit("how", &ChosenBy::how,
        {.about = "By the table's entry of the problem's own bucket, by the nearest entry, as the "
                  "fastest that the cost model predicts, or by default, with neither.",
         .names = ways_to_choose,
         .expected = "a way to choose"});
  visit("table", &ChosenBy::table, {"The path of the table; empty where there was none."});
  visit("entry", &ChosenBy::entry, {"The bucket of the entry; empty for a default."});
  visit(
      "distance", &ChosenBy::distance,
      {.about = "The distance from the problem's bucket to the entry's.", .least = 0, .most = 1e9});
  visit("note", &ChosenBy::note,
        {"What was passed over and why, why it is a default, and whether the entry is stale."});
  visit("model", &ChosenBy::model,
        {.about = "What predicted the times; missing where nothing did.",
         .presence = Presence::sparse});
  visit("predicted_ms", &ChosenBy::predicted_ms,
        {.about = "The time that was predicted for the choice.",
         .unit = "milliseconds",
         .presence = Presence::sparse,
         .least = 0});
  visit("second", &ChosenBy::second,
        {.about = "The candidate that would have been next by prediction.",
         .presence = Presence::sparse});
  visit("second_predicted_ms", &ChosenBy::second_predicted_ms,
        {.about = "The time that was predicted for that.",
         .unit = "milliseconds",
         .presence = Presence::sparse,
         .least = 0});
}

inline constexpr std::array<std::string_view, 6> search_ends{"end",       "slower", "traffic",
                                                             "unvisited", "failed", "stopped"};

/// How a search (tune) ended for a candidate.
struct SearchNote {
  std::string strategy;
  std::string left;
  int rounds = 0;
  std::optional<std::array<double, 2>> interval_ms = {}, best_ms = {};
};

template <class Visitor>
void fields(Visitor& visit, Of<SearchNote>) {
  visit.of("search", "How a search (`tune`) came to its end with the candidate.");
  visit("strategy", &SearchNote::strategy, {"The search's strategy: guided, exhaustive; others in older records."});
  visit("left", &SearchNote::left,
        {.about = "end: it was among the last. slower: its interval lay clear of the best's, or "
                  "too many were better. traffic: its modelled bytes alone take longer than the "
                  "best. unvisited: the strategy did not come by. failed: it is not right, or its "
                  "time cannot be true. stopped: the budget was used up, or a signal came; what is "
                  "known is kept, and --resume searches again.",
         .names = search_ends,
         .expected = "how a search ends with a candidate"});
  visit("rounds", &SearchNote::rounds,
        {.about = "How many batches of samples it took part in.", .least = 0});
  visit("interval_ms", &SearchNote::interval_ms,
        {"The 95 % interval of its median when it left; null where it was not measured.",
         "milliseconds"});
  visit("best_ms", &SearchNote::best_ms,
        {"The same interval of the best candidate at that time.", "milliseconds"});
}

}  // namespace gla_bench
