#include <nlohmann/json.hpp>

#include "harness/records/shape_json.hpp"
#include "harness/report/maps/crossover_text.hpp"

namespace gla_bench {
namespace {

Json entrant_to_json(const Entrant& entrant) {
  const Record& record = *entrant.record;
  return {{"variant", record.variant},
          {"tile", record.tile.empty() ? Json::object() : Json(record.tile)},
          {"source_hash", record.source_hash},
          {"file", entrant.file->file},
          {"median_ms", number_to_json(entrant.ms())},
          {"samples", record.timing->cold.samples_ms.size()},
          {"over_winner",
           {{"ratio", number_to_json(entrant.over_winner.ratio)},
            {"low", number_to_json(entrant.over_winner.low)},
            {"high", number_to_json(entrant.over_winner.high)}}},
          {"tied", entrant.tied}};
}

Json point_to_json(const Contest& point) {
  Json contenders = Json::array();
  for (const Entrant& entrant : point.entrants) contenders.push_back(entrant_to_json(entrant));
  const Entrant* next = point.runner_up();
  return {{"shape", shape_to_json(point.problem.shape)},
          {"seed", point.problem.seed},
          {"winners", point.winners()},
          {"runner_up", next != nullptr ? Json(next->record->variant) : Json(nullptr)},
          {"contenders", std::move(contenders)}};
}

Json subject_to_json(const MapSubject& subject) {
  const Problem& common = subject.common;
  const Shape& shape = common.shape;
  Json json{{"operator", common.op},
            {"direction", name(common.direction)},
            {"dtype", name(common.dtype)},
            {"layout", name(common.layout)},
            {"gate", common.gate},
            {"initial_state", common.initial_state},
            {"final_state", common.final_state},
            {"scale", common.scale ? number_to_json(*common.scale) : Json(nullptr)},
            {"options", common.options.empty() ? Json::object() : Json(common.options)},
            {"tensors", common.tensors},
            {"backend", name(subject.backend)},
            {"device", subject.device}};
  json["shape"] = Json::object();
  for (const ExtentAxis* axis : common_extents(shape))
    json["shape"][std::string(axis->name)] = shape.*axis->extent;
  if (shape.heads > 0) json["shape"]["query_heads_per_key_head"] = shape.heads;
  json["ragged"] = shape.sequences > 0;
  return json;
}

}  // namespace

Json crossover_json(std::span<const CrossoverMap> maps, const ContestPolicy& policy) {
  Json list = Json::array();
  for (const CrossoverMap& map : maps) {
    Json cells = Json::array();
    for (const MapCell& cell : map.cells) {
      Json points = Json::array();
      for (const Contest& point : cell.points) points.push_back(point_to_json(point));
      cells.push_back(
          {{"length", cell.length}, {"width", cell.width}, {"problems", std::move(points)}});
    }
    list.push_back({{"subject", subject_to_json(map.subject)},
                    {"length_axis", map.length_axis},
                    {"width_axis", map.width_axis},
                    {"lengths", map.lengths},
                    {"widths", map.widths},
                    {"cells", std::move(cells)}});
  }
  return {{"map_version", 1},
          {"confidence", policy.bootstrap.confidence},
          {"drift", policy.drift},
          {"drift_between_files", policy.drift_between_files},
          {"maps", std::move(list)}};
}

}  // namespace gla_bench
