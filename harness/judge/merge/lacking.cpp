#include "harness/judge/merge/lacking.hpp"

#include <algorithm>

#include "harness/records/environment.hpp"
#include "harness/support/printable.hpp"

namespace gla_bench {
namespace {

std::string known_as(const ShardPart& part) {
  const std::string host = fact_text(part.head.environment, "host");
  return "shard " + name(part.shard) + " on " + (host.empty() ? "an unknown host" : host) + " (" +
         part.head.file + ")";
}

/// What is known of why a part is not complete.
std::string how_it_ended(const Results& head) {
  std::string text;
  if (const std::string why = fact_text(head.environment, ended_by); !why.empty())
    text += "; ended by " + printable(why, 100);
  if (head.unfinished) text += "; " + describe(*head.unfinished, head.file);
  return text;
}

struct Range {
  std::int64_t first, last;
};

/// What ascending numbers leave out of 1 to `most`.
std::vector<Range> gaps(const std::set<std::int64_t>& numbers, std::int64_t most) {
  std::vector<Range> list;
  std::int64_t next = 1;
  for (const std::int64_t number : numbers) {
    if (number > next) list.push_back({next, number - 1});
    next = number + 1;
  }
  if (next <= most) list.push_back({next, most});
  return list;
}

/// "3, 5 to 9 and 4 more ranges".
std::string describe(const std::vector<Range>& ranges) {
  constexpr std::size_t most = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(most, ranges.size()); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(ranges[i].first);
    if (ranges[i].last > ranges[i].first) text += " to " + std::to_string(ranges[i].last);
  }
  if (ranges.size() > most) text += " and " + std::to_string(ranges.size() - most) + " more ranges";
  return text;
}

Lacking lacking_of(const ShardPart& part, const KeySet& rows) {
  Lacking lacking;
  const BackendId backend = fact_text(part.head.environment, "backend") == name(BackendId::cuda)
                                ? BackendId::cuda
                                : BackendId::host;
  std::size_t asked = 0;
  for (const AskedPoint& point : part.head.asked)
    for (const auto& [variant, tiles] : point.candidates)
      for (const Tile& tile : tiles) {
        ++asked;
        const RecordKey key{point.problem, variant, backend, tile};
        if (!rows.contains(&key))
          lacking.candidates.push_back(printable(describe(key), most_shown));
      }
  const bool ended_early =
      part.head.unfinished || !fact_text(part.head.environment, ended_by).empty();
  if (!lacking.candidates.empty() || ended_early)
    lacking.what = known_as(part) + ": " + std::to_string(lacking.candidates.size()) + " of " +
                   std::to_string(asked) + " candidates are missing" + how_it_ended(part.head);
  return lacking;
}

}  // namespace

std::vector<Lacking> lacking(const std::vector<ShardPart>& parts, const KeySet& rows) {
  std::vector<Lacking> list;
  std::set<std::int64_t> places;
  std::set<std::int64_t> numbers;
  for (const ShardPart& part : parts) {
    numbers.insert(part.shard.number);
    for (const AskedPoint& point : part.head.asked) places.insert(point.place);
    Lacking of_part = lacking_of(part, rows);
    if (!of_part.what.empty()) list.push_back(std::move(of_part));
  }
  const auto problems =
      static_cast<std::int64_t>(fact_number(parts.front().head.environment, shard_problems));
  const std::vector<Range> missing = gaps(places, problems);
  if (missing.empty()) return list;
  const int of = parts.front().shard.of;
  const std::vector<Range> shards = gaps(numbers, of);
  std::string what = std::to_string(problems - static_cast<std::int64_t>(places.size())) + " of " +
                     std::to_string(problems) + " problems are in no file: numbers " +
                     describe(missing);
  what += shards.empty()
              ? "; every shard has a file, so the shards were cut differently"
              : "; there is no file of shard " + describe(shards) + " of " + std::to_string(of);
  list.push_back({std::move(what), {}});
  return list;
}

std::string describe(const std::vector<Lacking>& lacking, std::size_t most) {
  std::string text;
  for (const Lacking& one : lacking) {
    text += one.what + "\n";
    const std::size_t shown = std::min(most, one.candidates.size());
    for (std::size_t i = 0; i < shown; ++i) text += "  " + one.candidates[i] + "\n";
    if (shown < one.candidates.size())
      text +=
          "  and " + std::to_string(one.candidates.size() - shown) + " more (--all lists them)\n";
  }
  return text;
}

}  // namespace gla_bench
