#pragma once
// GPU architectures by name and what each allows: enough to plan and compile where there is no
// device.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/variant.hpp"

namespace gla_bench {

/// "sm_80", "sm_90a": as NVRTC takes it. From 9.0 on, with the suffix for what that architecture
/// alone has.
std::string architecture_name(int arch);

/// 80 from "sm_80", 90 from "sm_90" and "sm_90a"; nothing for anything else.
std::optional<int> parse_architecture(std::string_view text);

/// "sm_80,sm_90a". @throws InputError naming the part that is no architecture
std::vector<int> parse_architectures(std::string_view list);

/// What a device of the architecture allows; memory and multiprocessors stay 0, unknown.
Limits limits_of(int arch);

}  // namespace gla_bench
