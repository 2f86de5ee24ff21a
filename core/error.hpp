#pragma once
// The faults that cross module borders. Outcomes of a candidate are statuses (record.hpp), not
// exceptions: exactly one function (run.cpp, try_candidate) turns BuildError and RunError into a
// status.

#include <stdexcept>

namespace gla_bench {

/// Bad usage or bad input: the program prints the message and exits with 2.
struct InputError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What was to be kept can not be written (a full disk, a folder that is read-only): the program
/// prints the message, which says what is kept, and exits with 5.
struct OutputError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A candidate did not compile or load.
struct BuildError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A candidate did not run, or the device failed under it.
struct RunError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A piece of work does not fit into the memory that is there, of the device or the host.
struct OutOfMemory : RunError {
  using RunError::RunError;
};

/// Workers can not be started, or end before they begin any work: the program prints the message
/// and exits with 5.
struct WorkerError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The device can not be used again by this process (an illegal address, say): nothing after it can
/// run here, so a worker ends with it.
struct DeviceLost : RunError {
  using RunError::RunError;
};

}  // namespace gla_bench
