#pragma once
// A tuned table as a C++ header that depends on nothing but C++17's library.

#include <string>
#include <string_view>

#include "harness/tuned_table/table.hpp"

namespace gla_bench {

/// Namespace `gla_bench_tuned`: Problem, Entry and Choice; the environments, the entries with
/// margin, error and regret as data; and per operator of the table one inline function from a
/// Problem to a Choice, by the rules of nearest_entries(). No choice is made for a direction or
/// dtype that the table lacks. @throws InputError for an operator whose name is no C++ name, and a
/// table without entries
std::string export_header(const TunedTable& table);

/// The text of nearest.h, which every exported header begins with.
std::string_view nearest_text();

}  // namespace gla_bench
