#pragma once
// What every command that works through workers sets up in the same way: the config, the place, the
// conditions of work and the results file.

#include <functional>
#include <optional>
#include <string>

#include "harness/commands/commands.hpp"
#include "harness/records/record_file.hpp"
#include "harness/workers/conditions.hpp"

namespace gla_bench::commands {

/// Loads a config and reads the tolerances that it names, so that a bad file is reported before any
/// worker starts. @throws InputError
Config load_session_config(const std::string& path, const Catalog& catalog);

/// The tolerances that a config names, else the program's own. @throws InputError for a bad file
Tolerance tolerance_of(const Config& config);

/// The results file that a command is asked to write.
struct OutputOptions {
  std::string path;  ///< may be empty: the command says what stands for it
  bool resume = false, extend = false, force = false;
};

/// Fails at once where the results file could not be written later, before any time is spent.
/// @throws InputError
void expect_output(const OutputOptions& output);

/// Makes the results file, or continues it: then its earlier records are in `results`, without
/// those that are stale in `place`. Warnings go to standard error. @throws InputError
RecordFile open_output(const OutputOptions& output, const Config& config, const Facts& environment,
                       const Place& place, Results& results);

/// Ends the results file. `why`: what ended the work early; the environment says so until the work
/// is completed. Empty where it came to its end. `seconds`: how long the command took; those of
/// earlier parts of a continued run are added.
void finish_output(RecordFile& file, const Config& config, const std::string& why, double seconds,
                   Results& results);

/// Where a command's work is done.
struct Session {
  Facts environment;  ///< of the results file: the place's, the command line, the ceilings
  WorkConditions conditions;
};

/// `hello` and `ceilings` are what the first worker says of its place. Without ceilings, times are
/// compared with modest rates and none is suspect.
Session open_session(const Hello& hello, const std::optional<Ceilings>& ceilings,
                     const Config& config, const BackendOptions& options,
                     const std::string& command_line, bool measure);

/// The exit code of `work`, or that of a signal which came before there was a results file.
int or_interrupted(const std::function<int()>& work);

/// @throws InputError beginning with `command` where there is no device to run on
void expect_device(const Hello& hello, const std::string& command);

/// Says on standard error why work ended early, how much of it is recorded and where, and what
/// --resume does. `path`: of the results file; empty where there is none. `done`: "2 of 12
/// candidates".
void print_early_end(const std::string& why, const std::string& path, const std::string& done);

}  // namespace gla_bench::commands
