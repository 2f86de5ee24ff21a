#pragma once
// Opens the results file of a run: a new one, or an existing one to continue.

#include <string>
#include <string_view>

#include "harness/config/config.hpp"
#include "harness/records/record_file.hpp"

namespace gla_bench {

/// RecordFile::create() with the config as JSON.
RecordFile create_run(const std::string& path, const Facts& environment, const Config& config,
                      RecordFile::Existing existing);

/// Continues a file of the same config, on the same backend and device. `results` receives what the
/// file holds. A file that does not exist yet is made.
/// @throws InputError naming the first difference
RecordFile resume_run(const std::string& path, const Facts& environment, const Config& config,
                      Results& results, std::string& note);

// The functions below are shared by resume_run() and extend_run().

/// True where there is a file, or a journal of one.
bool was_begun(const std::string& path);

/// @throws InputError "FILE: was made on another device ..., so it cannot be DONE", by backend and
/// device
void expect_same_place(const std::string& path, const Facts& here, const Facts& there,
                       std::string_view done);

/// One line, each after a newline, for each step that the previous run did not finish.
std::string interrupted_steps(const Results& results);

}  // namespace gla_bench
