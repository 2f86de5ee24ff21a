#include "harness/report/maps/crossover.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace gla_bench {
namespace {

/// Tried, so that a place without a winner is not a place without data.
bool had_its_chance(const Placing& placing) {
  const Record& record = *placing.record;
  return !record.peer && (record.status == Status::measured || is_failure(record.status));
}

struct Axes {
  std::string length_axis, width_axis;
  std::int64_t length = 0, width = 0;
  Shape rest;  ///< the shape without them
};

Axes axes_of(const Shape& shape) {
  Axes axes{"T", "B*H", shape.seq, shape.batch * shape.heads, shape};
  axes.rest.batch = axes.rest.seq = 0;
  // What is read depends on how many query heads share one key head, not on the number of heads.
  axes.rest.heads = shape.key_heads > 0 ? shape.heads / shape.key_heads : 0;
  axes.rest.key_heads = 0;
  if (shape.columns > 0) {
    axes.length_axis = "columns";
    axes.width_axis = "rows";
    axes.length = shape.columns;
    axes.rest.columns = axes.rest.key_dim = axes.rest.value_dim = 0;
  } else if (shape.key_seq > 0) {
    axes.length_axis = "keys";
    axes.length = shape.key_seq;
    axes.rest.key_seq = 0;
    axes.rest.seq = shape.seq;
  } else if (shape.sequences > 0) {
    axes.width_axis = "N*H";
    axes.width = shape.sequences * shape.heads;
    axes.rest.sequences = 1;
  }
  return axes;
}

/// A problem's contests, by what varies within a map.
struct Gathered {
  std::string length_axis, width_axis;
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<Contest>> places;
};

CrossoverMap map_of(const MapSubject& subject, Gathered& gathered) {
  CrossoverMap map{subject, gathered.length_axis, gathered.width_axis, {}, {}, {}};
  std::set<std::int64_t> lengths, widths;
  for (auto& [place, points] : gathered.places) {
    std::stable_sort(points.begin(), points.end(),
                     [](const Contest& a, const Contest& b) { return a.problem < b.problem; });
    lengths.insert(place.second);
    widths.insert(place.first);
    map.cells.push_back({place.second, place.first, std::move(points)});
  }
  map.lengths.assign(lengths.begin(), lengths.end());
  map.widths.assign(widths.begin(), widths.end());
  return map;
}

}  // namespace

std::vector<CrossoverMap> crossover_maps(std::span<const Results> files,
                                         const ContestPolicy& policy) {
  std::vector<MapSubject> order;
  std::map<MapSubject, Gathered> subjects;
  for (Contest& contest : all_contests(files, policy)) {
    if (std::none_of(contest.records.begin(), contest.records.end(), had_its_chance)) continue;
    const Axes axes = axes_of(contest.problem.shape);
    MapSubject subject{contest.problem, contest.backend, contest.device};
    subject.common.shape = axes.rest;
    subject.common.seed = 0;
    const auto [entry, fresh] =
        subjects.try_emplace(subject, Gathered{axes.length_axis, axes.width_axis, {}});
    if (fresh) order.push_back(subject);
    entry->second.places[{axes.width, axes.length}].push_back(std::move(contest));
  }
  std::vector<CrossoverMap> maps;
  for (const MapSubject& subject : order) maps.push_back(map_of(subject, subjects.at(subject)));
  return maps;
}

std::vector<const ExtentAxis*> common_extents(const Shape& common) {
  std::vector<const ExtentAxis*> list;
  for (const ExtentAxis& axis : extent_axes)
    if (axis.extent != &Shape::heads && axis.extent != &Shape::sequences && common.*axis.extent > 0)
      list.push_back(&axis);
  return list;
}

std::string describe(const MapSubject& subject) {
  const Problem& common = subject.common;
  const Shape& shape = common.shape;
  std::string text =
      common.op + " " + std::string(name(common.direction)) + " " + std::string(name(common.dtype));
  if (common.layout != Layout::seq_first) text += " " + std::string(name(common.layout));
  const auto add = [&](std::string_view key, std::int64_t value) {
    if (value > 0) text.append(" ").append(key).append("=").append(std::to_string(value));
  };
  for (const ExtentAxis* axis : common_extents(shape)) add(axis->symbol, shape.*axis->extent);
  add("query heads to one of keys", shape.heads);
  if (shape.sequences > 0) text += " ragged";
  text += " gate=" + common.gate;
  for (const auto& [option, value] : common.options) text += " " + option + "=" + value;
  if (common.initial_state) text += " initial_state";
  if (!common.final_state) text += " no final_state";
  if (common.scale) text += " scale=" + std::to_string(*common.scale);
  if (!common.tensors.empty()) text += " tensors of " + common.tensors;
  text += " [" + std::string(name(subject.backend)) + "]";
  if (!subject.device.empty()) text += " on " + subject.device;
  return text;
}

}  // namespace gla_bench
