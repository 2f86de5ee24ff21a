#pragma once
// Where the float64 reference of a problem is computed.

#include <optional>
#include <string_view>

namespace gla_bench {

/// Where the float64 reference (and the plain computation) runs. automatic: on the device where the
/// device has a reference and the problem is large.
enum class ReferencePlace { automatic, host, device };
std::string_view name(ReferencePlace place);
std::optional<ReferencePlace> parse_reference_place(std::string_view text);

}  // namespace gla_bench
