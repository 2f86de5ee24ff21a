#include "harness/engine/assignment.hpp"

#include <set>

#include "harness/config/draws/drawn_tiles.hpp"
#include "harness/config/sweep.hpp"
#include "harness/support/text.hpp"
#include "harness/tuned_table/choose.hpp"

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

/// Adds a refused record, or raises the count of a record that was refused for the same kind of
/// reason.
void refuse(Assignment& work, Record record, std::string reason, int tiles = 1) {
  const std::string kind = without_digits(reason);
  for (Record& known : work.refused)
    if (known.variant == record.variant && without_digits(known.reason) == kind) {
      known.refused_tiles += tiles;
      return;
    }
  record.status = Status::rejected;
  record.reason = std::move(reason);
  record.refused_tiles = tiles;
  work.refused.push_back(std::move(record));
}

MemoryNeed need_at(const Place& place, const Operator& op, const Problem& problem) {
  MemoryNeed need = memory_need(op, problem);
  if (place.backend == BackendId::host) need.host += need.tensors;  // one memory holds both
  return need;
}

/// Adds the candidate that `auto` stands for. The config may also name that candidate before or
/// after.
void add_choice(const Chooser& chooser, const Request& request, const Place& place,
                Assignment& work, std::set<std::pair<std::string, Tile>>& seen) {
  const MemoryNeed need = need_at(place, *work.op, work.problem);
  const Refusal refusal = [&](const Candidate& candidate) {
    auto reason = refuse_tile(*candidate.variant, candidate.problem, candidate.tile, place.limits,
                              request.narrowing.arithmetic);
    return reason ? reason
                  : does_not_fit(need, static_cast<double>(workspace_bytes(candidate)),
                                 static_cast<double>(place.limits.memory_bytes), place.host_memory);
  };
  Choice choice = chooser.choose(work.problem, refusal);
  if (!choice.candidate) {
    Record record = blank_record(*work.op, work.problem, std::string(auto_variant), place.backend);
    std::string reason = choice.by.note;
    record.chosen_by = std::move(choice.by);
    refuse(work, std::move(record), std::move(reason));
    return;
  }
  const Candidate& candidate = *choice.candidate;
  work.chosen[{candidate.variant->name, candidate.tile}] = std::move(choice.by);
  if (seen.emplace(candidate.variant->name, candidate.tile).second)
    work.accepted.push_back(candidate);
}

/// The tiles of covering sweeps, which are chosen for all problems of a variant together.
class CoveringTiles {
 public:
  CoveringTiles(const std::vector<Point>& points, const Catalog& catalog, const Place& place)
      : place_(place) {
    for (const Point& point : points)
      for (const Request& request : point.requests) {
        if (!request.covering) continue;
        const Variant* variant = catalog.find_variant(point.problem.op, request.variant,
                                                      place.backend, point.problem.direction);
        if (variant == nullptr) continue;
        Group& group = groups_[{*request.covering, variant}];
        group.request = &request;
        group.problems.push_back(point.problem);
      }
  }

  /// The tiles of the request for this problem.
  const Candidates& of(const Request& request, const Variant& variant, const Problem& problem) {
    Group& group = groups_.at({*request.covering, &variant});
    if (group.found.empty()) {
      TileCover cover = cover_tiles(variant, group.problems, group.request->narrowing,
                                    place_.limits, group.request->max_tiles, *request.draw);
      for (std::size_t i = 0; i < group.problems.size(); ++i)
        group.found.emplace(group.problems[i], std::move(cover.of_problems[i]));
      group.coverage = cover.coverage;
    }
    return group.found.at(problem);
  }

  std::vector<CoveredTiles> covered() const {
    std::vector<CoveredTiles> list;
    for (const auto& [key, group] : groups_)
      list.push_back({key.first, key.second, group.coverage});
    return list;
  }

 private:
  struct Group {
    const Request* request = nullptr;
    std::vector<Problem> problems;
    std::map<Problem, Candidates> found;
    TileCoverage coverage;
  };
  const Place& place_;
  std::map<std::pair<std::size_t, const Variant*>, Group> groups_;
};

void add_request(const Request& request, const Catalog& catalog, const Place& place,
                 CoveringTiles& covering, Assignment& work,
                 std::set<std::pair<std::string, Tile>>& seen) {
  const Problem& problem = work.problem;
  const Variant* variant =
      catalog.find_variant(problem.op, request.variant, place.backend, problem.direction);
  if (variant == nullptr) {
    if (seen.emplace(request.variant, Tile{}).second)
      refuse(work, blank_record(*work.op, problem, request.variant, place.backend),
             "no implementation for the backend " + std::string(name(place.backend)));
    return;
  }
  const Candidates found = request.covering
                               ? covering.of(request, *variant, problem)
                               : candidates(*variant, problem, request.narrowing, place.limits,
                                            request.max_tiles, request.draw);
  work.narrowed += found.narrowed;
  for (const Rejected& rejected : found.rejected) {
    if (!seen.emplace(variant->name, rejected.candidate.tile).second) continue;
    Record record = blank_record(*work.op, problem, variant->name, place.backend);
    record.manifest = variant->manifest;
    record.peer = variant->peer;
    record.tile = rejected.candidate.tile;
    record.source_hash = place.source_hash(*variant);
    refuse(work, std::move(record), rejected.reason, static_cast<int>(rejected.tiles));
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

std::string verifier_hash(const Place& place, const std::string& op) {
  return place.verifier_hash ? place.verifier_hash(op) : std::string();
}

Place without_memory_limits(Place place) {
  place.limits.memory_bytes = 0;  // unknown: holds all
  place.host_memory = 0;
  return place;
}

Record new_record(const Operator& op, const Candidate& candidate, const Place& place) {
  const Variant& variant = *candidate.variant;
  Record record = blank_record(op, candidate.problem, variant.name, place.backend);
  record.manifest = variant.manifest;
  record.peer = variant.peer;
  record.device = place.device;
  record.tile = candidate.tile;
  const Traffic traffic = variant.traffic(candidate.problem, candidate.tile);
  record.io.model_read_bytes = traffic.read_bytes;
  record.io.model_write_bytes = traffic.write_bytes;
  record.io.workspace_bytes = static_cast<double>(workspace_bytes(candidate));
  // Nobody says what code from outside the program keeps.
  if (candidate.problem.direction == Direction::training && variant.manifest.empty())
    record.io.kept_bytes = static_cast<double>(kept_bytes(candidate));
  record.flops = variant.flops(candidate.problem, candidate.tile);
  record.source_hash = place.source_hash(variant);
  return record;
}

std::vector<Assignment> assignments(const Config& config, const Catalog& catalog,
                                    const Place& place, const Chooser* chooser,
                                    std::vector<CoveredTiles>* covered) {
  const Chooser by_default(catalog, place.backend, "no table was given");
  std::vector<Assignment> list;
  const std::vector<Point> all = points(config);
  CoveringTiles covering(all, catalog, place);
  for (const Point& point : all) {
    Assignment work;
    work.op = catalog.find_operator(point.problem.op);
    work.problem = point.problem;
    std::set<std::pair<std::string, Tile>> seen;
    for (const Request& request : point.requests)
      if (request.variant == auto_variant)
        add_choice(chooser != nullptr ? *chooser : by_default, request, place, work, seen);
      else
        add_request(request, catalog, place, covering, work, seen);
    list.push_back(std::move(work));
  }
  if (covered != nullptr) *covered = covering.covered();
  return list;
}

void note_choice(std::span<const Assignment> work, Record& record) {
  for (const Assignment& point : work) {
    const auto found = point.chosen.find({record.variant, record.tile});
    if (found == point.chosen.end() || point.problem != record.problem) continue;
    record.chosen_by = found->second;
    return;
  }
}

std::size_t drop_recorded(std::vector<Assignment>& assignments, std::span<const Record> recorded) {
  std::set<RecordKey> done;
  for (const Record& record : recorded) done.insert(key_of(record));
  std::size_t dropped = 0;
  for (Assignment& work : assignments) {
    dropped += std::erase_if(work.accepted, [&](const Candidate& candidate) {
      return done.contains(key_of(candidate));
    });
    dropped += std::erase_if(work.refused,
                             [&](const Record& record) { return done.contains(key_of(record)); });
  }
  return dropped;
}

}  // namespace gla_bench
