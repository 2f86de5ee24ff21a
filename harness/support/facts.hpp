#pragma once
// Named texts, numbers and flags: a results file's environment.

#include <map>
#include <string>
#include <string_view>
#include <variant>

namespace gla_bench {

using Fact = std::variant<std::string, double, bool>;
using Facts = std::map<std::string, Fact, std::less<>>;

/// The fact as text; empty where there is none.
std::string fact_text(const Facts& facts, std::string_view key);

/// The fact where it is a number; 0 elsewhere.
double fact_number(const Facts& facts, std::string_view key);

}  // namespace gla_bench
