#include "harness/config/space/rare_tiles.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>

namespace gla_bench {
namespace {

constexpr std::string_view file = "rare_tiles.inc";
constexpr std::string_view text =
#include "harness/config/space/rare_tiles.inc"
    ;

bool is_named(const Narrowing& narrowing, const std::string& axis) {
  return narrowing.axes.contains(axis) ||
         std::any_of(narrowing.where.begin(), narrowing.where.end(), [&](const Condition& one) {
           const auto& names = one.names();
           return std::find(names.begin(), names.end(), axis) != names.end();
         });
}

}  // namespace

RareTiles read_rare_tiles(const JsonNode& node) {
  RareTiles rare;
  for (const auto& [variant, directions] : node.members())
    for (const auto& [direction, axes] : directions.members()) {
      const auto known = parse_direction(direction);
      if (!known) axes.fail("values by axis of a direction: " + join(names_of_directions()));
      for (const auto& [axis, values] : axes.members())
        for (const JsonNode& value : values.items(1))
          rare[{variant, *known}][axis].insert(static_cast<int>(
              value.integer(std::numeric_limits<int>::min(), std::numeric_limits<int>::max())));
    }
  return rare;
}

const RareTiles& rare_tiles() {
  static const RareTiles rare = [] {
    const Json document = parse_json(text, std::string(file));
    return read_rare_tiles(JsonNode(document, std::string(file)));
  }();
  return rare;
}

TileSpace usual_space(const Variant& variant, const Narrowing& narrowing, const RareTiles& rare) {
  TileSpace space = variant.space;
  const auto found = rare.find({variant.name, variant.direction});
  if (found == rare.end()) return space;
  for (TileAxis& axis : space) {
    const auto values = found->second.find(axis.name);
    if (values == found->second.end() || is_named(narrowing, axis.name)) continue;
    const int usual = axis.values.front();
    std::erase_if(axis.values,
                  [&](int value) { return value != usual && values->second.contains(value); });
  }
  return space;
}

}  // namespace gla_bench
