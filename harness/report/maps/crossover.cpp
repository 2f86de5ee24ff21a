#include "harness/report/maps/crossover.hpp"

#include <algorithm>
#include <set>

#include "harness/tuned_table/rank.hpp"

namespace gla_bench {
namespace {

/// Tried, so that a place without a winner is not a place without data.
bool had_its_chance(const Record& record) {
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
  // How many heads of queries share one of keys decides what is read, their number does not.
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

RatioEstimate ratio_over(const Contender& winner, const Contender& other,
                         const CrossoverPolicy& policy) {
  const double drift = winner.file == other.file ? policy.drift : policy.drift_between_files;
  return unpaired_ratio(winner.record->timing->cold.samples_ms,
                        other.record->timing->cold.samples_ms, drift, policy.bootstrap);
}

/// `!(low > 1)`, so that what can not be estimated is a tie.
void judge(MapPoint& point, const CrossoverPolicy& policy) {
  std::stable_sort(
      point.contenders.begin(), point.contenders.end(),
      [](const Contender& a, const Contender& b) { return a.median_ms < b.median_ms; });
  for (std::size_t i = 1; i < point.contenders.size(); ++i) {
    Contender& other = point.contenders[i];
    other.over_winner = ratio_over(point.contenders.front(), other, policy);
    other.tied = !(other.over_winner.low > 1);
  }
}

/// A problem's points by what varies within a map.
struct Gathered {
  std::string length_axis, width_axis;
  std::map<std::pair<std::int64_t, std::int64_t>, std::map<Problem, MapPoint>> places;
};

void take(MapPoint& point, const Record& record, const std::string& file) {
  point.problem = record.problem;
  if (!may_win(record)) return;
  const Contender fresh{&record, file, record.timing->cold.median_ms};
  for (Contender& known : point.contenders)
    if (known.record->variant == record.variant) {
      if (fresh.median_ms < known.median_ms) known = fresh;
      return;
    }
  point.contenders.push_back(fresh);
}

CrossoverMap map_of(const MapSubject& subject, Gathered& gathered, const CrossoverPolicy& policy) {
  CrossoverMap map{subject, gathered.length_axis, gathered.width_axis, {}, {}, {}};
  std::set<std::int64_t> lengths, widths;
  for (auto& [place, points] : gathered.places) {
    MapCell cell{place.second, place.first, {}};
    for (auto& [problem, point] : points) {
      judge(point, policy);
      cell.points.push_back(std::move(point));
    }
    lengths.insert(cell.length);
    widths.insert(cell.width);
    map.cells.push_back(std::move(cell));
  }
  map.lengths.assign(lengths.begin(), lengths.end());
  map.widths.assign(widths.begin(), widths.end());
  return map;
}

}  // namespace

std::vector<std::string> MapPoint::winners() const {
  std::vector<std::string> names;
  for (const Contender& contender : contenders)
    if (names.empty() || contender.tied) names.push_back(contender.record->variant);
  return names;
}

const Contender* MapPoint::runner_up() const {
  for (std::size_t i = 1; i < contenders.size(); ++i)
    if (!contenders[i].tied) return &contenders[i];
  return nullptr;
}

std::vector<CrossoverMap> crossover_maps(std::span<const Results> files,
                                         const CrossoverPolicy& policy) {
  std::vector<MapSubject> order;
  std::map<MapSubject, Gathered> subjects;
  for (const Results& results : files)
    for (const Record& record : results.records) {
      if (!had_its_chance(record)) continue;
      const Axes axes = axes_of(record.problem.shape);
      MapSubject subject{record.problem, record.backend, fact_text(results.environment, "device")};
      subject.common.shape = axes.rest;
      subject.common.seed = 0;
      const auto [entry, fresh] =
          subjects.try_emplace(subject, Gathered{axes.length_axis, axes.width_axis, {}});
      if (fresh) order.push_back(subject);
      take(entry->second.places[{axes.width, axes.length}][record.problem], record, results.file);
    }
  std::vector<CrossoverMap> maps;
  for (const MapSubject& subject : order)
    maps.push_back(map_of(subject, subjects.at(subject), policy));
  return maps;
}

std::string describe(const MapSubject& subject) {
  const Problem& common = subject.common;
  const Shape& shape = common.shape;
  std::string text =
      common.op + " " + std::string(name(common.direction)) + " " + std::string(name(common.dtype));
  if (common.layout != Layout::seq_first) text += " " + std::string(name(common.layout));
  const auto add = [&](const char* key, std::int64_t value) {
    if (value > 0) text += std::string(" ") + key + "=" + std::to_string(value);
  };
  add("T", shape.seq);
  add("K", shape.key_dim);
  add("V", shape.value_dim);
  add("d", shape.model_dim);
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
