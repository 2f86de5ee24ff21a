#pragma once
// What the self-test expects of a candidate.

#include <string_view>

namespace gla_bench::selftest {

struct Expected {
  std::string_view name;     ///< of the variant
  std::string_view meaning;  ///< one line
  std::string_view check;    ///< that has to catch it (checks.hpp); empty for a control: none may
  std::string_view control;  ///< the same candidate without the fault; empty for a control
};

}  // namespace gla_bench::selftest
