#include "harness/engine/extend.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "harness/config/policy.hpp"
#include "harness/engine/resume.hpp"
#include "harness/records/environment.hpp"

namespace gla_bench {
namespace {

/// An index of what is asked for.
class Lookup {
 public:
  explicit Lookup(const Asked& asked) {
    for (const std::span<const Assignment> list : {asked.work, std::span(asked.roomy)})
      for (const Assignment& point : list)
        for (const Candidate& candidate : point.accepted)
          variants_.emplace(key_of(candidate), candidate.variant);
    for (const Assignment& point : asked.work) {
      points_.emplace(point.problem, &point);
      for (const Record& record : point.refused) refused_.emplace(key_of(record), &record);
    }
  }

  /// Null where it is not asked for.
  const Variant* variant(const RecordKey& key) const { return find(variants_, key); }
  /// Null where it is not refused today.
  const Record* refused(const RecordKey& key) const { return find(refused_, key); }

  std::optional<ChosenBy> chosen_by(const Record& record) const {
    const Assignment* point = find(points_, record.problem);
    if (point == nullptr) return std::nullopt;
    const auto found = point->chosen.find({record.variant, record.tile});
    return found == point->chosen.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  template <class Key, class Value>
  static const Value* find(const std::map<Key, const Value*>& map, const Key& key) {
    const auto found = map.find(key);
    return found == map.end() ? nullptr : found->second;
  }

  std::map<RecordKey, const Variant*> variants_;
  std::map<RecordKey, const Record*> refused_;
  std::map<Problem, const Assignment*> points_;
};

/// A policy without the members that do not affect a row that is right.
Json lasting(const Policy& policy) {
  Json json = policy_to_json(policy);
  for (const char* member : {"limits", "keep_wrong", "allow_suspect", "least_share"})
    json.erase(member);
  return json;
}

/// The rows of one file have to be measured and verified by one rule.
void expect_same_policy(const std::string& path, const Json& there, const Config& config) {
  const auto found = there.find("policy");
  const Policy before =
      found == there.end() ? Policy{} : read_policy(JsonNode(*found, path, "/config/policy"), "");
  if (auto difference = first_difference(lasting(config.policy), lasting(before), "/config/policy"))
    throw InputError(path + ": is of another policy, so it cannot be extended: " + *difference +
                     "; --force makes every row anew");
}

/// Rows that are meaningful only beside the others of their file.
void expect_rows_of_a_run(const std::string& path, const std::vector<Record>& records) {
  for (const Record& record : records) {
    const std::string_view kind = record.search                ? "a search (tune)"
                                  : record.against             ? "rounds against another program"
                                  : measured_elsewhere(record) ? "a peer"
                                                               : "";
    if (!kind.empty())
      throw InputError(path + ": has rows of " + std::string(kind) +
                       ", so it cannot be extended: " + describe(record));
  }
}

void expect_something_asked(const std::string& path, const TakenOver& taken,
                            const std::string& config) {
  if (taken.dropped > 0 && taken.kept + taken.stale + taken.elsewhere == 0)
    throw InputError(path + ": " + config + " asks for none of its " +
                     std::to_string(taken.dropped) +
                     " records, so it cannot be extended; --force replaces it");
}

/// "1 record is kept; 2 that the config no longer asks for are dropped; ...".
std::string note_of(const std::string& path, const Extension& here, const Extension& last) {
  const auto counted = [](std::int64_t count, const std::string& of, const std::string& what) {
    return std::to_string(count) + of + (count == 1 ? " is " : " are ") + what;
  };
  std::string text =
      path + ": " +
      counted(here.records_kept, here.records_kept == 1 ? " record" : " records", "kept");
  if (here.records_dropped > 0)
    text += "; " + counted(here.records_dropped, " that the config no longer asks for", "dropped");
  if (here.records_stale > 0)
    text += "; " + counted(here.records_stale, " whose sources or verification have changed",
                           "made again");
  if (!here.same_program(last))
    text += "\nwhat is kept was written with " + describe_program(last) + ", what comes now with " +
            describe_program(here);
  return text;
}

}  // namespace

Asked asked_of(const Config& config, const Catalog& catalog, const Place& place,
               const Chooser* chooser, std::span<const Assignment> work) {
  return {work, assignments(config, catalog, without_memory_limits(place), chooser), {}};
}

TakenOver take_over(std::vector<Record> records, const Asked& asked, const Place& place) {
  const Lookup lookup(asked);
  TakenOver taken;
  for (Record& record : records) {
    const RecordKey key = key_of(record);
    if (record.status == Status::rejected) {
      if (const Record* today = lookup.refused(key)) taken.records.push_back(*today);
      continue;
    }
    const Variant* variant = lookup.variant(key);
    if (variant == nullptr) {
      ++taken.dropped;
      taken.elsewhere += asked.elsewhere.contains(record.problem) ? 1 : 0;
    } else if (is_stale(record, *variant, place)) {
      ++taken.stale;
    } else {
      ++taken.kept;
      record.chosen_by = lookup.chosen_by(record);
      taken.records.push_back(std::move(record));
    }
  }
  return taken;
}

RecordFile extend_run(const std::string& path, const Facts& environment, const Config& config,
                      const Asked& asked, const Place& place, Results& results, std::string& note) {
  if (!was_begun(path)) return create_run(path, environment, config, RecordFile::Existing::refuse);
  Results before;
  // This does not change the file: a wrong path is left as it is.
  RecordFile file = RecordFile::resume(path, before);
  expect_same_place(path, environment, before.environment, "extended");
  expect_same_shard(path, environment, before.environment, "extended");
  expect_rows_of_a_run(path, before.records);
  expect_same_policy(path, *before.config, config);
  TakenOver taken = take_over(std::move(before.records), asked, place);
  expect_something_asked(path, taken, config.path);

  Extension here = extension_by(environment);
  here.records_kept = taken.kept;
  here.records_dropped = taken.dropped;
  here.records_stale = taken.stale;
  const Extension last =
      before.extended.empty() ? extension_by(before.environment) : before.extended.back();
  auto after = std::make_shared<const Json>(config_to_json(config));
  const bool changes = taken.dropped + taken.stale > 0 || *after != *before.config;
  if (changes || !here.same_program(last)) before.extended.push_back(here);
  note = note_of(path, here, last) + interrupted_steps(before);
  for (const std::string_view key : {candidates_asked, shard_problems})
    if (const auto now = environment.find(key); now != environment.end())
      before.environment[now->first] = now->second;
  results = std::move(before);
  results.config = std::move(after);
  results.records = std::move(taken.records);
  results.unfinished.reset();
  file.begin_anew(results);
  return file;
}

}  // namespace gla_bench
