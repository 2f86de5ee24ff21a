#include "harness/config/reference_place.hpp"

namespace gla_bench {

std::string_view name(ReferencePlace place) {
  switch (place) {
    case ReferencePlace::automatic:
      return "auto";
    case ReferencePlace::host:
      return "host";
    case ReferencePlace::device:
      return "device";
  }
  return "?";
}

std::optional<ReferencePlace> parse_reference_place(std::string_view text) {
  for (ReferencePlace place :
       {ReferencePlace::automatic, ReferencePlace::host, ReferencePlace::device})
    if (name(place) == text) return place;
  return std::nullopt;
}

}  // namespace gla_bench
