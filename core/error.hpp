#pragma once
// The errors that cross module borders. The outcome of a candidate is a status (record.hpp), not an
// exception. Only one function (run.cpp, try_candidate) turns BuildError and RunError into a
// status.

#include <stdexcept>

namespace gla_bench {

/// Bad usage or bad input: the program prints the message and exits with 2.
struct InputError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// An output cannot be written (a full disk, a read-only folder). The program prints the message,
/// which says what has been kept, and exits with 5.
struct OutputError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A candidate did not compile or load.
struct BuildError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A candidate did not run, or the device failed while running it.
struct RunError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The work does not fit into the available memory of the device or the host.
struct OutOfMemory : RunError {
  using RunError::RunError;
};

/// Workers cannot be started, or end before they begin any work. The program prints the message and
/// exits with 5.
struct WorkerError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// This process can no longer use the device (after an illegal address, for example). No later
/// candidate can run here, so a worker ends with this error.
struct DeviceLost : RunError {
  using RunError::RunError;
};

}  // namespace gla_bench
