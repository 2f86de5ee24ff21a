#pragma once
// Lists of a config, as every key of a sweep reads them.

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "harness/support/json.hpp"

namespace gla_bench {

/// Problems of a config at most: each is listed before anything runs.
inline constexpr int most_problems = 20000;

/// The values in their order, each once.
template <class T>
std::vector<T> without_duplicates(std::vector<T> values) {
  std::set<T> seen;
  std::vector<T> unique;
  for (const T& value : values)
    if (seen.insert(value).second) unique.push_back(value);
  return unique;
}

/// The items of a list of which all pairs with other values may be asked for.
/// @throws InputError if the list is empty or has more than 16
inline std::vector<JsonNode> few_items(const JsonNode& node) {
  constexpr std::size_t most = 16;
  std::vector<JsonNode> items = node.items(1);
  if (items.size() > most) node.fail("at most " + std::to_string(most) + " of them");
  return items;
}

}  // namespace gla_bench
