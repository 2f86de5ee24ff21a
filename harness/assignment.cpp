#include "harness/assignment.hpp"

#include <set>

#include "harness/sweep.hpp"
#include "harness/text.hpp"

namespace gla_bench {
namespace {

Record blank_record(const Operator& op, const Problem& problem, std::string variant,
                    BackendId backend) {
  Record record;
  record.problem = problem;
  record.variant = std::move(variant);
  record.backend = backend;
  record.io.floor_bytes = op.work(problem).floor_bytes;
  return record;
}

/// Adds a refused record, or counts it to one that was refused for such a reason.
void refuse(Assignment& work, Record record, std::string reason) {
  const std::string kind = without_digits(reason);
  for (Record& known : work.refused)
    if (known.variant == record.variant && without_digits(known.reason) == kind) {
      ++known.refused_tiles;
      return;
    }
  record.status = Status::rejected;
  record.reason = std::move(reason);
  record.refused_tiles = 1;
  work.refused.push_back(std::move(record));
}

MemoryNeed need_at(const Place& place, const Operator& op, const Problem& problem) {
  MemoryNeed need = memory_need(op, problem);
  if (place.backend == BackendId::host) need.host += need.tensors;  // one memory holds both
  return need;
}

void add_request(const Request& request, const Catalog& catalog, const Place& place,
                 Assignment& work, std::set<std::pair<std::string, Tile>>& seen) {
  const Problem& problem = work.problem;
  const Variant* variant =
      catalog.find_variant(problem.op, request.variant, place.backend, problem.direction);
  if (variant == nullptr) {
    if (seen.emplace(request.variant, Tile{}).second)
      refuse(work, blank_record(*work.op, problem, request.variant, place.backend),
             "no implementation for the backend " + std::string(name(place.backend)));
    return;
  }
  const Candidates found =
      candidates(*variant, problem, request.narrowing, place.limits, request.max_tiles);
  work.narrowed += found.narrowed;
  for (const Rejected& rejected : found.rejected) {
    if (!seen.emplace(variant->name, rejected.candidate.tile).second) continue;
    Record record = blank_record(*work.op, problem, variant->name, place.backend);
    record.tile = rejected.candidate.tile;
    record.source_hash = place.source_hash(*variant);
    refuse(work, std::move(record), rejected.reason);
  }
  const MemoryNeed need = need_at(place, *work.op, problem);
  for (const Candidate& candidate : found.accepted) {
    if (!seen.emplace(variant->name, candidate.tile).second) continue;
    const auto workspace = static_cast<double>(workspace_bytes(candidate));
    if (auto reason = does_not_fit(need, workspace, static_cast<double>(place.limits.memory_bytes),
                                   place.host_memory))
      refuse(work, new_record(*work.op, candidate, place), std::move(*reason));
    else
      work.accepted.push_back(candidate);
  }
}

}  // namespace

Record new_record(const Operator& op, const Candidate& candidate, const Place& place) {
  const Variant& variant = *candidate.variant;
  Record record = blank_record(op, candidate.problem, variant.name, place.backend);
  record.device = place.device;
  record.tile = candidate.tile;
  const Traffic traffic = variant.traffic(candidate.problem, candidate.tile);
  record.io.model_read_bytes = traffic.read_bytes;
  record.io.model_write_bytes = traffic.write_bytes;
  record.io.workspace_bytes = static_cast<double>(workspace_bytes(candidate));
  record.flops = variant.flops(candidate.problem, candidate.tile);
  record.source_hash = place.source_hash(variant);
  return record;
}

std::vector<Assignment> assignments(const Config& config, const Catalog& catalog,
                                    const Place& place) {
  std::vector<Assignment> list;
  for (const Point& point : points(config)) {
    Assignment work;
    work.op = catalog.find_operator(point.problem.op);
    work.problem = point.problem;
    std::set<std::pair<std::string, Tile>> seen;
    for (const Request& request : point.requests) add_request(request, catalog, place, work, seen);
    list.push_back(std::move(work));
  }
  return list;
}

std::size_t drop_recorded(std::vector<Assignment>& assignments, std::span<const Record> recorded) {
  std::set<RecordKey> done;
  for (const Record& record : recorded) done.insert(key_of(record));
  std::size_t dropped = 0;
  for (Assignment& work : assignments) {
    dropped += std::erase_if(work.accepted, [&](const Candidate& candidate) {
      return done.contains(RecordKey{candidate.problem, candidate.variant->name,
                                     candidate.variant->backend, candidate.tile});
    });
    dropped += std::erase_if(work.refused,
                             [&](const Record& record) { return done.contains(key_of(record)); });
  }
  return dropped;
}

std::string describe(const Record& record) {
  std::string text(name(record.status));
  text += " " + record.variant + " [" + std::string(name(record.backend)) + "]";
  if (!record.tile.empty()) text += " " + describe(record.tile);
  text += " on " + describe(record.problem);
  if (!record.reason.empty()) text += ": " + record.reason;
  return text;
}

}  // namespace gla_bench
