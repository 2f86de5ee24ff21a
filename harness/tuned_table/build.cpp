#include "harness/tuned_table/build.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "core/error.hpp"
#include "harness/records/comparability.hpp"
#include "harness/tuned_table/rank.hpp"

namespace gla_bench {
namespace {

struct Row {
  const Record* record = nullptr;
  std::size_t file = 0;
};

std::string started(const Results& results) {
  return fact_text(results.environment, "started");
}

/// The files, the oldest first: where two have the same row, the later one counts.
std::vector<std::size_t> by_age(std::span<const Results> files) {
  std::vector<std::size_t> order(files.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return started(files[a]) < started(files[b]);
  });
  return order;
}

void expect_one_device(std::span<const Results> files) {
  for (const Results& other : files.subspan(1))
    for (const Difference& difference : differences(files.front().environment, other.environment))
      if (difference.severity == Severity::refuse)
        throw InputError(other.file + ": cannot be in one table with " + files.front().file + ": " +
                         describe(difference));
}

/// Removes peers, and rows whose sources a later file has in another version.
std::map<RecordKey, Row> newest_rows(std::span<const Results> files) {
  using Name = std::tuple<std::string, Direction, std::string>;
  std::map<Name, std::string> sources;
  std::map<RecordKey, Row> rows;
  for (const std::size_t file : by_age(files))
    for (const Record& record : files[file].records) {
      if (record.peer) continue;
      rows[key_of(record)] = {&record, file};
      if (!record.source_hash.empty())
        sources[{record.problem.op, record.problem.direction, record.variant}] = record.source_hash;
    }
  std::erase_if(rows, [&](const auto& entry) {
    const Record& record = *entry.second.record;
    return record.source_hash !=
           sources[{record.problem.op, record.problem.direction, record.variant}];
  });
  return rows;
}

std::size_t environment_index(std::vector<Facts>& environments, Facts facts) {
  const auto found = std::find(environments.begin(), environments.end(), facts);
  if (found != environments.end()) return static_cast<std::size_t>(found - environments.begin());
  environments.push_back(std::move(facts));
  return environments.size() - 1;
}

void add_origin(TunedEntry& entry, std::span<const Results> files, const std::vector<Row>& rows,
                TunedTable& table) {
  std::set<std::size_t> used;
  for (const Row& row : rows) used.insert(row.file);
  std::size_t newest = *used.begin();
  for (const std::size_t file : used) {
    entry.sources.push_back(files[file].file);
    if (started(files[file]) > started(files[newest])) newest = file;
  }
  entry.measured = started(files[newest]);
  entry.environment =
      environment_index(table.environments, comparable_facts(files[newest].environment));
}

/// Removes the environments that no entry names.
void drop_unused_environments(TunedTable& table) {
  std::vector<Facts> used;
  for (TunedEntry& entry : table.entries)
    entry.environment = environment_index(used, table.environments.at(entry.environment));
  table.environments = std::move(used);
}

}  // namespace

std::vector<const Record*> newest_records(std::span<const Results> files) {
  std::vector<const Record*> list;
  for (const auto& [key, row] : newest_rows(files)) list.push_back(row.record);
  return list;
}

Facts comparable_facts(const Facts& environment) {
  Facts facts;
  for (const ComparabilityRule& rule : comparability_rules())
    // What is measured differs from run to run, and is no other place.
    if (const auto found = environment.find(rule.key);
        found != environment.end() && !rule.measured())
      facts.insert(*found);
  return facts;
}

TunedTable build_table(std::span<const Results> files, const TablePolicy& policy) {
  TunedTable table;
  if (files.empty()) return table;
  expect_one_device(files);
  table.device = fact_text(files.front().environment, "device");
  table.backend = fact_text(files.front().environment, "backend");
  std::map<Bucket, std::vector<Row>> buckets;
  for (const auto& [key, row] : newest_rows(files))
    buckets[bucket_of(row.record->problem)].push_back(row);
  for (const auto& [bucket, rows] : buckets) {
    std::vector<const Record*> records;
    for (const Row& row : rows) records.push_back(row.record);
    auto entry = rank_bucket(bucket, records, policy);
    if (!entry) continue;
    add_origin(*entry, files, rows, table);
    table.entries.push_back(std::move(*entry));
  }
  return table;
}

std::vector<std::string> differing_environments(const TunedTable& table, const TunedTable& fresh,
                                                const std::set<std::string>& allowed) {
  std::set<std::string> labels;
  for (const Facts& there : table.environments)
    for (const Facts& here : fresh.environments)
      for (const Difference& difference : differences(there, here, allowed)) {
        if (difference.severity == Severity::refuse)
          throw InputError(table.path +
                           ": holds entries of another place: " + describe(difference) +
                           "; write to another file, or --allow " + difference.key);
        if (difference.severity == Severity::label) labels.insert(describe(difference));
      }
  return {labels.begin(), labels.end()};
}

MergeCounts merge_tables(TunedTable& table, const TunedTable& fresh, const CurrentSource& source) {
  if (table.entries.empty() && table.device.empty()) {
    table.device = fresh.device;
    table.backend = fresh.backend;
  }
  if (table.device != fresh.device || table.backend != fresh.backend)
    throw InputError(table.path + ": is a table of " + table.backend + " \"" + table.device +
                     "\", the records are of " + fresh.backend + " \"" + fresh.device + "\"");
  MergeCounts counts;
  std::map<Bucket, TunedEntry> entries;
  for (TunedEntry& entry : table.entries) entries[entry.bucket] = std::move(entry);
  for (TunedEntry entry : fresh.entries) {
    entry.environment =
        environment_index(table.environments, fresh.environments.at(entry.environment));
    const auto known = entries.find(entry.bucket);
    if (known != entries.end() && known->second.measured > entry.measured) {
      ++counts.kept;
      continue;
    }
    ++(known == entries.end() ? counts.added : counts.replaced);
    entries[entry.bucket] = std::move(entry);
  }
  table.entries.clear();
  for (auto& [bucket, entry] : entries) {
    const std::string now = source(bucket, entry.winner);
    if (now.empty()) {
      ++counts.dropped;
      continue;
    }
    entry.stale = now != entry.winner.source_hash;
    counts.stale += entry.stale ? 1 : 0;
    table.entries.push_back(std::move(entry));
  }
  drop_unused_environments(table);
  return counts;
}

}  // namespace gla_bench
