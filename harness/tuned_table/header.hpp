#pragma once
// Writes a tuned table as a C++ header that depends only on the C++17 standard library.

#include <string>
#include <string_view>

#include "harness/tuned_table/table.hpp"

namespace gla_bench {

/// The header has a namespace `gla_bench_tuned` with the types Problem, Entry and Choice. It holds
/// the environments and the entries with margin, error and regret as data. For each operator of the
/// table it has one inline function from a Problem to a Choice, by the rules of nearest_entries().
/// No choice is made for a direction or dtype that the table lacks.
/// @throws InputError for an operator whose name is not a valid C++ name, and for a table without
/// entries
std::string export_header(const TunedTable& table);

/// The text of nearest.h, with which every exported header begins.
std::string_view nearest_text();

}  // namespace gla_bench
