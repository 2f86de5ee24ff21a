#include "harness/support/facts.hpp"

#include <sstream>

namespace gla_bench {

std::string fact_text(const Facts& facts, std::string_view key) {
  const auto found = facts.find(key);
  if (found == facts.end()) return "";
  if (const auto* text = std::get_if<std::string>(&found->second)) return *text;
  if (const auto* flag = std::get_if<bool>(&found->second)) return *flag ? "true" : "false";
  std::ostringstream out;
  out << std::get<double>(found->second);
  return out.str();
}

double fact_number(const Facts& facts, std::string_view key) {
  const auto found = facts.find(key);
  if (found == facts.end()) return 0;
  const auto* number = std::get_if<double>(&found->second);
  return number ? *number : 0;
}

}  // namespace gla_bench
