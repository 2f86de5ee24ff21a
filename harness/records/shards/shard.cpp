#include "harness/records/shards/shard.hpp"

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
