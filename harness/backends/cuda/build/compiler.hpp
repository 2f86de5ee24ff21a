#pragma once
// Turns a candidate's text into a binary: from memory, from the cache, or with NVRTC on as many
// threads as there are cores. Nothing is compiled twice, not even at the same time.

#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "harness/backends/backend.hpp"
#include "harness/backends/cuda/build/build_cache.hpp"
#include "harness/backends/sources/source_store.hpp"

namespace gla_bench::cuda {

/// A binary and where it came from.
struct Code {
  std::string cubin;                 ///< empty where it was compiled no further than PTX
  std::vector<KernelBuild> kernels;  ///< shared_bytes: static only
  std::string warnings;
  double seconds = 0;  ///< spent here; for a cached binary, the time to read it
  bool cached = false;
};

using CodePtr = std::shared_ptr<const Code>;

class Compiler {
 public:
  /// `threads` = 0 means all cores. @throws InputError when source_dir cannot be read
  Compiler(const CudaOptions& options, std::function<void(const std::string&)> warn);
  ~Compiler();
  Compiler(const Compiler&) = delete;
  Compiler& operator=(const Compiler&) = delete;

  /// Starts to compile a text (prologue.hpp) unless it is known. What it includes is in `texts`, or
  /// in the store where they are null. Where compiling is to be quick, the first text of each
  /// `kind` gets machine code, and the others no more than PTX.
  void start(const std::string& text, const std::string& source, int arch,
             const SourceTexts& texts = {}, const std::string& kind = {});

  /// True from start() until the binary, or the reason for its failure, is available.
  bool is_pending(const std::string& text, int arch);

  /// Returns the binary. Waits for it, or compiles it in this thread if no other has begun. @throws
  /// BuildError with the compiler's log, at every call
  CodePtr get(const std::string& text, const std::string& source, int arch,
              const SourceTexts& texts = {}, const std::string& kind = {});

  /// Everything that determines the binary, as one text: format, NVRTC's version, options, the
  /// sources that the text includes transitively, and the text itself.
  std::string key(const std::string& text, const std::string& source, int arch,
                  const SourceTexts& texts = {}, Depth depth = Depth::optimised) const;

 private:
  struct Job {
    std::string text, source;
    int arch = 0;
    SourceTexts texts;
    Depth depth = Depth::optimised;
    std::once_flag once;
    CodePtr code;
    std::exception_ptr error;
    std::atomic<bool> done = false;
  };
  using JobPtr = std::shared_ptr<Job>;

  JobPtr job(const std::string& text, const std::string& source, int arch, const SourceTexts& texts,
             const std::string& kind);
  void finish(Job& job);
  CodePtr make(const Job& job);
  void work();

  SourceStore store_;
  BuildCache cache_;
  unsigned thread_count_;
  bool quick_;
  std::set<std::pair<int, std::string>> kinds_;  // of which a text gets machine code
  std::mutex mutex_;
  std::condition_variable wake_;
  std::map<std::pair<int, std::string>, JobPtr>
      jobs_;  // by architecture and text, which is another one for other sources
  std::deque<JobPtr> queue_;
  std::vector<std::thread> threads_;
  bool stop_ = false;
};

}  // namespace gla_bench::cuda
