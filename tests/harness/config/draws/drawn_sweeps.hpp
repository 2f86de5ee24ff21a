#pragma once
// Sweeps of drawn problems for tests.

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "core/catalog.hpp"
#include "harness/config/config.hpp"

namespace gla_bench::drawn {

inline Config config_of(const std::string& sweep) {
  const Json document = Json::parse(R"({"sweeps": [)" + sweep + "]}");
  return read_config(JsonNode(document, "c.json"), program_catalog(), "");
}

/// A sweep of the operator with the program's defaults.
inline Sweep sweep_of(const std::string& op, const std::string& random, std::uint64_t seed = 7,
                      const std::string& more = "") {
  return config_of(R"({"operator": ")" + op + R"(", "variants": "all", "random": {)" + random +
                   R"(}, "seed": )" + std::to_string(seed) + more + "}")
      .sweeps.front();
}

inline std::vector<Problem> free_problems(const std::string& op, int problems,
                                          std::uint64_t seed = 7, const std::string& more = "") {
  return sweep_of(op, R"("problems": )" + std::to_string(problems), seed, more).drawn.problems;
}

/// The problems of an operator that cover all pairs. Many tests look at those of one seed, which
/// take seconds to draw and are drawn once in a process.
inline const DrawnProblems& covering(const std::string& op, Direction direction,
                                     std::uint64_t seed = 1) {
  static std::map<std::tuple<std::string, Direction, std::uint64_t>, DrawnProblems> known;
  const auto [found, is_new] = known.try_emplace({op, direction, seed});
  if (is_new)
    found->second = sweep_of(op, R"("cover": "pairs")", seed,
                             R"(, "direction": ")" + std::string(name(direction)) + R"(")")
                        .drawn;
  return found->second;
}

}  // namespace gla_bench::drawn
