#include "harness/config/counting_policy.hpp"

namespace gla_bench {

std::string_view name(Which which) {
  switch (which) {
    case Which::none:
      return "none";
    case Which::best:
      return "best";
    case Which::all:
      return "all";
  }
  return "?";
}

}  // namespace gla_bench
