#pragma once
// Configs of the toy operator, and the rows that a run of them leaves.

#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "harness/engine/extend.hpp"
#include "tests/support/toy.hpp"

namespace gla_bench::toy {

/// A sweep of the toy operator: variants, sequence lengths, chunks of `fast`; and more of the file.
inline Config config_of(const std::string& variants, const std::vector<int>& lengths,
                        const std::string& chunks = "[16, 32]", const std::string& more = "") {
  std::string shapes;
  for (const int length : lengths)
    shapes += (shapes.empty() ? "[1, " : ", [1, ") + std::to_string(length) + ", 2, 4, 4]";
  std::string tiles;
  if (variants.find("fast") != std::string::npos)
    tiles = R"(, "tiles": {"fast": {"chunk": )" + chunks + "}}";
  const Json document =
      parse_json(R"({"sweeps": [{"operator": "toy", "dtypes": ["float32"], "variants": )" +
                     variants + R"(, "shapes": [)" + shapes + "]" + tiles + "}]" + more + "}",
                 "c.json");
  return read_config(JsonNode(document, "c.json"), toy::catalog(), "");
}

inline Place place_with(const std::string& hash = "1") {
  Place place;
  place.source_hash = [hash](const Variant& variant) { return variant.name + hash; };
  return place;
}

inline std::vector<Assignment> work_of(const Config& config, const Place& place) {
  return assignments(config, toy::catalog(), place);
}

/// What a run of the config leaves.
inline std::vector<Record> rows_of(const Config& config, const Place& place = place_with()) {
  std::vector<Record> rows;
  for (const Assignment& point : work_of(config, place)) {
    rows.insert(rows.end(), point.refused.begin(), point.refused.end());
    for (const Candidate& candidate : point.accepted) {
      rows.push_back(new_record(*point.op, candidate, place));
      rows.back().status = Status::verified;
    }
  }
  return rows;
}

using Names = std::set<std::string>;

inline Names names_of(const std::vector<Record>& records) {
  Names names;
  for (const Record& record : records)
    names.insert(record.variant + " " + std::to_string(record.problem.shape.seq) +
                 (record.tile.empty() ? "" : " " + describe(record.tile)));
  return names;
}

}  // namespace gla_bench::toy
