#pragma once
// Kernels as shared objects of the host, compiled by the host's own compiler.

#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <semaphore>
#include <string>

#include "harness/backends/emulated/device/interface.hpp"
#include "harness/backends/sources/prologue.hpp"
#include "harness/backends/sources/source_store.hpp"
#include "harness/support/system/shared_library.hpp"
#include "harness/support/system/temporary_folder.hpp"

namespace gla_bench::emulated {

/// The kernels of one unit.
class Kernels {
 public:
  /// @throws BuildError when it is no library of emulated kernels
  explicit Kernels(SharedLibrary library);

  Exchange& exchange() const { return *exchange_; }
  /// The kernel's address. @throws BuildError where there is none of that name
  void* entry(const std::string& name) const;
  /// How many blocks form a cluster in its grids.
  unsigned cluster(const std::string& name) const;

 private:
  SharedLibrary library_;
  Exchange* exchange_ = nullptr;
};

using KernelsPtr = std::shared_ptr<const Kernels>;

/// Compiles units with $CXX, or g++, on several threads. Needs the headers of the CUDA toolkit.
class Compiler {
 public:
  /// @param source_dir a kernels/ folder to read sources from; empty: those inside the program
  /// @throws InputError when it cannot be read
  Compiler(const std::string& source_dir, int threads);

  /// Starts to compile a unit, unless it is known.
  void start(const Unit& unit);
  /// Waits for a unit. @throws BuildError with the compiler's log
  KernelsPtr get(const Unit& unit);
  bool is_pending(const Unit& unit);

 private:
  KernelsPtr compile(const Unit& unit, int number);
  void write_headers();

  SourceStore store_;
  TemporaryFolder folder_;
  std::counting_semaphore<> free_threads_;
  std::once_flag headers_;
  std::mutex mutex_;
  std::map<std::string, std::shared_future<KernelsPtr>> units_;  // by their texts
};

}  // namespace gla_bench::emulated
