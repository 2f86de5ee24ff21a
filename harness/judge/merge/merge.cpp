#include "harness/judge/merge/merge.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.hpp"
#include "harness/judge/merge/lacking.hpp"
#include "harness/records/comparability.hpp"
#include "harness/records/environment.hpp"
#include "harness/support/printable.hpp"
#include "harness/verify/verifier_hash.hpp"

namespace gla_bench {
namespace {

constexpr double most_problems = 100e6;

/// The first difference that keeps times of two devices apart; empty where there is none.
std::string other_device(const Facts& one, const Facts& other) {
  for (const Difference& difference : differences(one, other))
    if (difference.severity == Severity::refuse)
      return difference.key + " is " + difference.fresh + " here and " + difference.base +
             " there (" + difference.why + ")";
  return "";
}

bool in_order(const ShardPart& one, const ShardPart& other) {
  return std::tie(one.shard, one.head.file) < std::tie(other.shard, other.head.file);
}

[[noreturn]] void refuse(const ShardPart& part, const ShardPart& first, const std::string& why) {
  throw InputError(part.head.file + ": " + why + ", so it cannot be merged with " +
                   first.head.file);
}

void expect_one_run(const ShardPart& part, const ShardPart& first) {
  if (part.shard.of != first.shard.of)
    refuse(part, first,
           "is of shard " + name(part.shard) + ", the other of shard " + name(first.shard));
  if (const auto difference = first_difference(*part.head.config, *first.head.config, "/config"))
    refuse(part, first, "is of another config: " + *difference);
  const double here = fact_number(part.head.environment, shard_problems);
  const double there = fact_number(first.head.environment, shard_problems);
  if (here != there)
    refuse(part, first,
           "is of a config with " + std::to_string(static_cast<long>(here)) +
               " problems, the other with " + std::to_string(static_cast<long>(there)));
  if (const std::string why = other_device(first.head.environment, part.head.environment);
      !why.empty())
    refuse(part, first,
           "was made on another device: " + why + "; --by-device writes one file each");
}

/// All rows of a variant are of the same sources, and all rows of an operator were verified in the
/// same way.
class OneProgram {
 public:
  void look(const ShardPart& part) {
    for (const ShardRow& row : part.rows) {
      const auto& [problem, variant, backend, tile] = row.key;
      if (!row.source_hash.empty()) {
        const auto [known, fresh] = sources_.try_emplace(
            {problem.op, problem.direction, variant, backend}, Seen{row.source_hash, &part});
        if (known->second.hash != row.source_hash)
          refuse(part, *known->second.part,
                 variant + " of " + problem.op + " is of other sources there (" +
                     known->second.hash + ") than here (" + row.source_hash + ")");
      }
      if (!row.verifier_hash.empty()) {
        const auto [known, fresh] =
            verifiers_.try_emplace({problem.op, backend}, Seen{row.verifier_hash, &part});
        if (differs(match_verifier(row.verifier_hash, known->second.hash)))
          refuse(part, *known->second.part,
                 "was verified in another way (" + row.verifier_hash + " here, " +
                     known->second.hash + " there)");
      }
    }
  }

 private:
  struct Seen {
    std::string hash;
    const ShardPart* part;
  };
  std::map<std::tuple<std::string, Direction, std::string, BackendId>, Seen> sources_;
  std::map<std::pair<std::string, BackendId>, Seen> verifiers_;
};

/// The rows of all parts, each candidate once, in the order of the config's problems.
struct Rows {
  std::vector<ShardRow*> list;
  KeySet keys;
  std::vector<std::size_t> of_part;  ///< how many each part gave
};

Rows rows_of(std::vector<ShardPart>& parts) {
  struct Known {
    const ShardRow* row;
    const ShardPart* part;
  };
  Rows rows;
  std::map<const RecordKey*, Known, KeyOrder> seen;
  for (ShardPart& part : parts) {
    rows.of_part.push_back(0);
    for (ShardRow& row : part.rows) {
      const auto [known, fresh] = seen.try_emplace(&row.key, Known{&row, &part});
      if (fresh) {
        rows.list.push_back(&row);
        ++rows.of_part.back();
      } else if (known->second.row->line != row.line) {
        refuse(part, *known->second.part,
               "has a row that is different there: " + printable(describe(row.key), most_shown));
      }
    }
  }
  for (const auto& [key, known] : seen) rows.keys.insert(rows.keys.end(), key);
  std::stable_sort(rows.list.begin(), rows.list.end(),
                   [](const ShardRow* a, const ShardRow* b) { return a->place < b->place; });
  return rows;
}

/// The highest that a part measured.
void take_highest(Facts& facts, const Facts& part, std::string_view key) {
  if (fact_number(part, key) > fact_number(facts, key))
    facts[std::string(key)] = fact_number(part, key);
}

Results head_of(const std::vector<ShardPart>& parts, const Rows& rows) {
  Results head;
  head.environment = parts.front().head.environment;
  head.config = parts.front().head.config;
  Facts& facts = head.environment;
  std::set<std::string> hosts, devices;
  std::map<std::int64_t, double> candidates;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Results& part = parts[i].head;
    if (rows.of_part[i] == 0 && !parts[i].rows.empty()) continue;  // given twice
    head.parts.push_back(part_by(part.environment));
    head.parts.back().records = static_cast<std::int64_t>(rows.of_part[i]);
    head.extended.insert(head.extended.end(), part.extended.begin(), part.extended.end());
    hosts.insert(head.parts.back().host);
    if (!head.parts.back().uuid.empty()) devices.insert(head.parts.back().uuid);
    take_highest(facts, part.environment, "copy_gb_per_s");
    take_highest(facts, part.environment, "matrix_tflop_per_s");
    if (fact_text(part.environment, "git_dirty") == "true") facts["git_dirty"] = true;
    if (head.parts.back().started < fact_text(facts, "started"))
      facts["started"] = head.parts.back().started;
    for (const AskedPoint& point : part.asked) {
      double count = 0;
      for (const auto& [variant, tiles] : point.candidates)
        count += static_cast<double>(tiles.size());
      candidates[point.place] = count;
    }
  }
  double asked = 0;
  for (const auto& [place, count] : candidates) asked += count;
  facts[std::string(candidates_asked)] = asked;
  if (hosts.size() > 1) facts["hosts"] = static_cast<double>(hosts.size());
  if (devices.size() > 1) facts["gpus"] = static_cast<double>(devices.size());
  for (const std::string_view of_a_part : {shard_fact, shard_problems, ended_by, wall_seconds})
    facts.erase(std::string(of_a_part));
  return head;
}

}  // namespace

ShardPart shard_part(Results file) {
  ShardPart part;
  const std::string text = fact_text(file.environment, shard_fact);
  const auto shard = parse_shard(text);
  if (!shard)
    throw InputError(file.file + ": /environment/shard: found " +
                     (text.empty() ? "nothing" : "\"" + printable(text, 40) + "\"") +
                     ", expected the shard that the file is of, as `run --shard` writes it");
  part.shard = *shard;
  if (file.unfinished && !file.unfinished->fault.empty())
    throw InputError(file.unfinished->fault + "; it cannot be merged");
  const double problems = fact_number(file.environment, shard_problems);
  if (!(problems >= 0 && problems <= most_problems) || problems != std::floor(problems))
    throw InputError(file.file + ": /environment/shard_problems: found " +
                     fact_text(file.environment, shard_problems) +
                     ", expected the number of the config's problems");
  std::map<Problem, std::int64_t> places;
  for (std::size_t i = 0; i < file.asked.size(); ++i) {
    const AskedPoint& point = file.asked[i];
    if (static_cast<double>(point.place) > problems)
      throw InputError(file.file + ": /asked/" + std::to_string(i) + "/place: found " +
                       std::to_string(point.place) +
                       ", expected at most shard_problems, which is " +
                       fact_text(file.environment, shard_problems));
    places.emplace(point.problem, point.place);
  }
  part.rows.reserve(file.records.size());
  for (std::size_t i = 0; i < file.records.size(); ++i) {
    const Record& record = file.records[i];
    const auto place = places.find(record.problem);
    // A run that was killed may have begun what its file does not say yet.
    if (place == places.end() && !file.unfinished)
      throw InputError(file.file + ": /records/" + std::to_string(i) + ": found a row of " +
                       printable(describe(record.problem), most_shown) +
                       ", expected one of the problems in /asked");
    part.rows.push_back({key_of(record), record_line(record), record.source_hash,
                         record.verifier_hash, place == places.end() ? 0 : place->second});
  }
  file.records.clear();
  file.records.shrink_to_fit();
  part.head = std::move(file);
  return part;
}

MergedFile merge(std::vector<ShardPart> parts) {
  if (parts.empty()) throw InputError("merge: found no file, expected those of the shards");
  std::sort(parts.begin(), parts.end(), in_order);
  OneProgram program;
  for (const ShardPart& part : parts) {
    expect_one_run(part, parts.front());
    program.look(part);
  }
  const Rows rows = rows_of(parts);
  MergedFile merged;
  merged.head = head_of(parts, rows);
  merged.lacking = lacking(parts, rows.keys);
  for (ShardRow* row : rows.list) merged.lines.push_back(std::move(row->line));
  return merged;
}

std::vector<std::vector<ShardPart>> parts_by_device(std::vector<ShardPart> parts) {
  std::sort(parts.begin(), parts.end(), in_order);
  std::vector<std::vector<ShardPart>> groups;
  for (ShardPart& part : parts) {
    const auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& others) {
      return other_device(others.front().head.environment, part.head.environment).empty();
    });
    if (group != groups.end())
      group->push_back(std::move(part));
    else
      groups.emplace_back().push_back(std::move(part));
  }
  return groups;
}

}  // namespace gla_bench
