#pragma once
// A cost model as JSON (configs/schema/model.schema.json), and where the models of devices lie.

#include <optional>
#include <string>

#include "harness/cost_model/model.hpp"
#include "harness/support/json.hpp"

namespace gla_bench::cost_model {

constexpr int model_version = 3;

Json model_to_json(const CostModel& model);

/// @throws InputError for anything that is no such model, with the JSON pointer
CostModel read_model(const JsonNode& node);
CostModel load_model(const std::string& path);

/// What the head of a model's file says; nothing where it has no such member, or is no JSON up to
/// there. @throws InputError for a file that cannot be read
std::optional<BackendId> backend_of_model(const std::string& path);

/// Name of a device's model in the folders of tuned tables: "nvidia-h200.model.json".
std::string model_name(const std::string& device);

/// The device's model, else the first of another device for the same backend. Nothing where there
/// is none. @throws InputError for a file of such a name that is no model, unless its head says
/// that it is one of another backend
std::optional<CostModel> find_model(const std::string& device, BackendId backend);

/// Replaces the file as a whole. @throws InputError where it cannot be written
void write_model(const CostModel& model, const std::string& path);

}  // namespace gla_bench::cost_model
