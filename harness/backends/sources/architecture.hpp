#pragma once
// GPU architectures by name and the limits of each, so that planning and compiling need no device.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/variant.hpp"

namespace gla_bench {

/// The name that NVRTC takes: "sm_80", "sm_90a". From 9.0 on it has the suffix that enables
/// features of this architecture alone.
std::string architecture_name(int arch);

/// 80 from "sm_80", 90 from "sm_90" and "sm_90a". Returns nothing for any other text.
std::optional<int> parse_architecture(std::string_view text);

/// Parses "sm_80,sm_90a". @throws InputError naming the part that is not an architecture
std::vector<int> parse_architectures(std::string_view list);

/// The limits of a device with this architecture. Memory and the number of SMs stay 0, which means
/// unknown.
Limits limits_of(int arch);

}  // namespace gla_bench
