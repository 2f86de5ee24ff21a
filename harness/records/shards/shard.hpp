#pragma once
// A share of a config's problems: what a results file says of the share that it holds, and what a
// merged file says of the parts that it was made of.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/problem.hpp"
#include "core/tile.hpp"
#include "harness/support/facts.hpp"
#include "harness/support/fields/fields.hpp"
#include "harness/support/json.hpp"

namespace gla_bench {

/// One of several shares, counted from 1.
struct Shard {
  int number = 1, of = 1;
  auto operator<=>(const Shard&) const = default;
};

/// The most shares that a config may be cut into.
constexpr int most_shards = 1'000'000;

/// "3/8", both ways; nothing for any other text.
std::string name(Shard shard);
std::optional<Shard> parse_shard(std::string_view text);

/// The facts of a shard's environment: which one it is ("3/8"), and how many problems the whole
/// config has.
inline constexpr std::string_view shard_fact = "shard", shard_problems = "shard_problems";

/// What a shard has to bring of one problem.
struct AskedPoint {
  std::int64_t place = 1;  ///< the problem's number in the whole config, counted from 1
  Problem problem;
  std::map<std::string, std::vector<Tile>> candidates;  ///< tiles by variant
  bool operator==(const AskedPoint&) const = default;
};

template <class Visitor>
void fields(Visitor& visit, Of<AskedPoint>) {
  visit.of("asked_point", "What a shard has to bring of one problem.");
  visit("place", &AskedPoint::place,
        {.about = "The problem's number in the whole config, counted from 1.", .least = 1});
  visit("candidates", &AskedPoint::candidates,
        {"The tiles to try, by variant; a row that is refused need not be among them."});
  visit.inlined([](const AskedPoint& point) -> const Problem& { return point.problem; },
                [](AskedPoint& point, Problem problem) { point.problem = std::move(problem); });
}

/// Puts points into a list in the order of their places; one of the same place takes the place of
/// the old one.
void add_asked(std::vector<AskedPoint>& list, std::vector<AskedPoint> points);

/// One of the files that a merged file was made of.
struct MergedPart {
  std::string shard;
  std::string host;
  std::string git_commit;
  std::string started;
  std::string driver;
  std::string uuid;
  std::int64_t records = 0;
};

template <class Visitor>
void fields(Visitor& visit, Of<MergedPart>) {
  using enum Presence;
  visit.of("merged_part", "One of the shards that the file was merged from.");
  visit("shard", &MergedPart::shard, {"Which shard it is: 3/8 is the third of eight."});
  visit("host", &MergedPart::host, {"The machine that made it."});
  visit("git_commit", &MergedPart::git_commit, {"The commit of the program that made it."});
  visit("started", &MergedPart::started, {"When it was begun, UTC."});
  visit("driver", &MergedPart::driver,
        {.about = "The version of the GPU's driver; missing on the host.", .presence = sparse});
  visit("uuid", &MergedPart::uuid,
        {.about = "The UUID of the GPU; missing on the host.", .presence = sparse});
  visit("records", &MergedPart::records,
        {.about = "How many of the file's records are from it.", .least = 0});
}

/// What a shard's environment says of it, without its records.
MergedPart part_by(const Facts& environment);

/// The members "asked" and "parts" of a results file, both ways. @throws InputError
Json asked_to_json(const AskedPoint& point);
AskedPoint read_asked_point(const JsonNode& node);
std::vector<AskedPoint> read_asked(const JsonNode& node);
Json parts_to_json(const std::vector<MergedPart>& parts);
std::vector<MergedPart> read_parts(const JsonNode& node);

}  // namespace gla_bench
