#pragma once
// How the program asks Python what a function says of itself, and how it gets into Python to call
// it.

#include <string>
#include <vector>

#include "core/catalog.hpp"

namespace gla_bench {

/// The environment variable that names Python's interpreter; python3 of PATH without it.
constexpr const char* python_variable = "GLA_BENCH_PYTHON";

/// The manifest of "file.py:name", as JSON, which its decorator gla_bench.candidate tells. It is
/// asked for in this process where that is one of Python, else in a process of its own, whose
/// errors go to this one's standard error. @throws InputError
std::string described_function(const std::string& function);

/// Whether candidates of the catalog, or of these manifests, are functions of Python.
bool has_functions(const Catalog& catalog);
bool has_functions(const std::vector<std::string>& manifests);

/// Becomes Python, which goes on with this command line, where this process cannot call functions.
/// `arguments` are without the program's name. Open descriptors stay.
/// @throws InputError where there is no Python to become
void become_python(const std::vector<std::string>& arguments);

}  // namespace gla_bench
