#pragma once
// Results files of a run: a new one, or one to go on with.

#include <string>

#include "harness/config.hpp"
#include "harness/record_file.hpp"

namespace gla_bench {

/// RecordFile::create() with the config as JSON.
RecordFile create_run(const std::string& path, const Facts& environment, const Config& config,
                      RecordFile::Existing existing);

/// Goes on with a file of the same config, on the same backend and device; `results` receives what
/// it holds. A file that does not exist yet is made. @throws InputError naming the first difference
RecordFile resume_run(const std::string& path, const Facts& environment, const Config& config,
                      Results& results, std::string& note);

}  // namespace gla_bench
