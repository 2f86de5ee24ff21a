#pragma once
// Which share of the problems a variant took. A refusal is no failure, so that a variant which
// refuses nearly everything looks as good as one that takes everything.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "harness/records/record_file.hpp"

namespace gla_bench {

/// Of one operator, direction and dtype, on one backend: the problems that a variant was asked to
/// solve, and those of which it took at least one tile.
struct Share {
  std::string op;
  Direction direction = Direction::forward;
  DType dtype = DType::bfloat16;
  std::string variant;
  BackendId backend = BackendId::host;
  std::size_t problems = 0, taken = 0;

  double value() const {
    return problems > 0 ? static_cast<double>(taken) / static_cast<double>(problems) : 0;
  }
};

/// The shares of all variants in all files together, by operator, direction, dtype and name. Peers
/// are left out: nobody records what they refuse.
std::vector<Share> shares_of(std::span<const Results> files);

/// Those of them that are not whole.
std::vector<Share> refusing_shares(std::span<const Results> files);

/// "chunk_sm90 [cuda] of gla forward bfloat16"
std::string describe(const Share& share);

/// "took 59 of 67 problems (88 %): chunk_sm90 [cuda] of gla forward bfloat16"
std::string sentence(const Share& share);

}  // namespace gla_bench
