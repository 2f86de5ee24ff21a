// Records as JSON.

#include "harness/records/record_json.hpp"

#include "harness/records/extended.hpp"
#include "harness/records/journal.hpp"
#include "harness/records/problem_fields.hpp"
#include "harness/records/shards/shard.hpp"
#include "harness/support/fields/write.hpp"

namespace gla_bench {

Json problem_to_json(const Problem& problem) {
  return fields_to_json(problem);
}

Json record_to_json(const Record& record) {
  return fields_to_json(record);
}

Json chosen_by_to_json(const ChosenBy& by) {
  return fields_to_json(by);
}

Json selection_to_json(const Selection& selection) {
  return fields_to_json(selection);
}

Json started_to_json(const Started& started) {
  return fields_to_json(started);
}

Json extensions_to_json(const std::vector<Extension>& extensions) {
  return field_to_json(extensions);
}

Json asked_to_json(const AskedPoint& point) {
  return fields_to_json(point);
}

Json parts_to_json(const std::vector<MergedPart>& parts) {
  return field_to_json(parts);
}

Json facts_to_json(const Facts& facts) {
  Json json = Json::object();
  for (const auto& [key, fact] : facts) {
    if (const double* number = std::get_if<double>(&fact))
      json[key] = number_to_json(*number);
    else
      std::visit([&, &name = key](const auto& value) { json[name] = value; }, fact);
  }
  return json;
}

}  // namespace gla_bench
