#pragma once
// How the program asks Python what a function says of itself, and how it gets into Python to call
// it.

#include <map>
#include <string>
#include <vector>

#include "core/catalog.hpp"

namespace gla_bench {

/// The environment variable that names Python's interpreter; python3 of PATH without it.
constexpr const char* python_variable = "GLA_BENCH_PYTHON";

/// The fact of a record's environment that says what a worker with functions was shut off from.
constexpr const char* isolation_fact = "isolation";

/// The manifest of "file.py:name", as JSON, which its decorator gla_bench.candidate tells. It is
/// asked for in this process where that is one of Python, else in an isolated process
/// (support/system/isolation.hpp), whose errors go to this one's standard error. @throws InputError
std::string described_function(const std::string& function);

/// Whether candidates of the catalog, or of these manifests, are functions of Python.
bool has_functions(const Catalog& catalog);
bool has_functions(const std::vector<std::string>& manifests);

/// Becomes Python, isolated, which goes on with this command line, where this process cannot call
/// functions. `arguments` are without the program's name. Open descriptors stay.
/// @param writable the folders that it may still write to; those that are missing are made
/// @throws InputError where there is no Python to become
void become_python(const std::vector<std::string>& arguments,
                   const std::vector<std::string>& writable = {});

/// What this process has become: versions of Python and its packages, and what it is shut off from.
/// Facts for a record's environment; none where it is no Python.
std::map<std::string, std::string> python_facts();

}  // namespace gla_bench
