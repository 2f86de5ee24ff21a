#pragma once
// The "policy" of a config.

#include <string>

#include "harness/config/config.hpp"
#include "harness/support/json.hpp"

namespace gla_bench {

/// @throws InputError
Policy read_policy(const JsonNode& node, const std::string& folder);

/// The path of a file, from `folder` where it is relative. @throws InputError
std::string read_path(const JsonNode& node, const std::string& folder);

}  // namespace gla_bench
