#include "harness/records/shards/shard.hpp"

#include <algorithm>
#include <charconv>

namespace gla_bench {
namespace {

std::optional<int> parse_count(std::string_view text) {
  int count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if (count < 1 || count > most_shards) return std::nullopt;
  return count;
}

}  // namespace

std::string name(Shard shard) {
  return std::to_string(shard.number) + "/" + std::to_string(shard.of);
}

std::optional<Shard> parse_shard(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto number = parse_count(text.substr(0, slash)), of = parse_count(text.substr(slash + 1));
  if (!number || !of || *number > *of) return std::nullopt;
  return Shard{*number, *of};
}

void add_asked(std::vector<AskedPoint>& list, std::vector<AskedPoint> points) {
  const auto by_place = [](const AskedPoint& a, const AskedPoint& b) { return a.place < b.place; };
  // A file may have been written by hand.
  if (!std::is_sorted(list.begin(), list.end(), by_place))
    std::stable_sort(list.begin(), list.end(), by_place);
  for (AskedPoint& point : points) {
    const auto place = std::lower_bound(list.begin(), list.end(), point, by_place);
    if (place != list.end() && place->place == point.place)
      *place = std::move(point);
    else
      list.insert(place, std::move(point));
  }
}

MergedPart part_by(const Facts& environment) {
  MergedPart part;
  part.shard = fact_text(environment, shard_fact);
  part.host = fact_text(environment, "host");
  part.git_commit = fact_text(environment, "git_commit");
  part.started = fact_text(environment, "started");
  part.driver = fact_text(environment, "driver");
  part.uuid = fact_text(environment, "uuid");
  return part;
}

}  // namespace gla_bench
