#pragma once
// What tells the members of the linear-recurrence family apart.

#include <cmath>
#include <cstdint>
#include <string_view>

#include "harness/problem.hpp"

namespace gla_bench::linear_recurrence {

/// Gated linear attention. A member states its gate tensor's extents, which of its elements decays
/// state row `key` at token number (b T + t) H + h, and its default scale.
struct Gla {
  static constexpr std::string_view name = "gla";
  static constexpr std::string_view summary =
      "gated linear attention: S = diag(exp(g)) S + k v^T, o = scale S^T q";
  static constexpr std::string_view gate = "g";
  static std::int64_t gate_channels(const Shape& s) { return s.key_dim; }
  static std::int64_t gate_index(const Shape& s, std::int64_t token, std::int64_t key) {
    return token * s.key_dim + key;
  }
  static double default_scale(const Shape& s) {
    return 1.0 / std::sqrt(static_cast<double>(s.key_dim));
  }
};

}  // namespace gla_bench::linear_recurrence
