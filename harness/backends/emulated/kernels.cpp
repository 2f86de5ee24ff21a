#include "harness/backends/emulated/kernels.hpp"

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <span>
#include <sstream>
#include <thread>
#include <vector>

#include "core/error.hpp"
#include "harness/backends/emulated/source.hpp"

namespace gla_bench {

/// The headers that complete a kernel (cmake/EmbedSources.cmake).
std::span<const Source> embedded_emulator();

namespace emulated {
namespace {

#ifndef GLA_BENCH_CUDA_INCLUDE_DIR
#define GLA_BENCH_CUDA_INCLUDE_DIR "/usr/local/cuda/include"
#endif

// Without optimisation a kernel runs four times as long, with more it compiles twice as long. Only
// kernels and the exchange are visible: visible variables of inline functions, such as shared
// arrays and the list of instructions, would be one of all kernels of the process, with the size
// and the threads of whichever was loaded first.
constexpr const char* options =
    " -std=c++20 -O1 -fPIC -fvisibility=hidden -w -Wno-psabi -fno-strict-aliasing "
    "-I'" GLA_BENCH_CUDA_INCLUDE_DIR "'";

std::string compiler() {
  const char* const chosen = std::getenv("CXX");
  return chosen != nullptr && *chosen != '\0' ? chosen : "g++";
}

std::string contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// @throws BuildError with what the command printed, when it fails
void run(const std::string& command, const std::string& log) {
  if (std::system((command + " >'" + log + "' 2>&1").c_str()) != 0)
    throw BuildError("the host's compiler failed:\n" + contents(log));
}

std::string quoted(const std::string& path) {
  return "'" + path + "'";
}

}  // namespace

Kernels::Kernels(SharedLibrary library) : library_(std::move(library)) {
  if (!library_.is_open()) throw BuildError("an emulated kernel: " + library_.reason());
  if (!library_.find(exchange_, "gla_bench_emulated"))
    throw BuildError("an emulated kernel without its exchange");
}

void* Kernels::entry(const std::string& name) const {
  void* address = nullptr;
  if (!library_.find(address, name.c_str()))
    throw BuildError("no kernel \"" + name + "\" in the compiled source");
  return address;
}

unsigned Kernels::cluster(const std::string& name) const {
  const unsigned* size = nullptr;
  return library_.find(size, ("gla_bench_cluster_of_" + name).c_str()) ? *size : 1;
}

Compiler::Compiler(const std::string& source_dir, int threads)
    : store_(source_dir.empty() ? SourceStore() : SourceStore(source_dir)),
      free_threads_(threads > 0 ? threads : static_cast<int>(std::thread::hardware_concurrency())) {
}

void Compiler::write_headers() {
  for (const Source& header : embedded_emulator()) {
    const std::string path(header.path);
    std::ofstream(folder_.file(path.substr(path.rfind('/') + 1))) << header.text;
  }
  const std::string all = folder_.file("cuda.hpp");
  run(compiler() + options + " -x c++-header " + quoted(all) + " -o " + quoted(all + ".gch"),
      folder_.file("headers.log"));
}

KernelsPtr Compiler::compile(const Unit& unit, int number) {
  free_threads_.acquire();
  struct Release {
    std::counting_semaphore<>& semaphore;
    ~Release() { semaphore.release(); }
  } const release{free_threads_};
  std::call_once(headers_, [this] { write_headers(); });
  const SourceStore own = unit.texts ? SourceStore(*unit.texts) : store_;
  const std::string base = folder_.file("kernel" + std::to_string(number));
  // Its macros first: they may be parts of asm statements. What it includes, device/cuda.hpp has.
  static const std::regex includes("#include <[^\n]*");
  std::ofstream(base + ".cu") << std::regex_replace(own.in_one(unit.text), includes, "");
  run(compiler() + " -E -P -x c++ -D__CUDA_ARCH__=900 " + quoted(base + ".cu") + " -o " +
          quoted(base + ".ii"),
      base + ".log");
  std::ofstream(base + ".cpp") << "#include \"cuda.hpp\"\n" << as_cpp(contents(base + ".ii"));
  run(compiler() + options + " -shared -Wl,--no-undefined " + quoted(base + ".cpp") + " -o " +
          quoted(base + ".so"),
      base + ".log");
  const std::string library = base + ".so";
  return std::make_shared<Kernels>(SharedLibrary::open(std::span(&library, 1)));
}

void Compiler::start(const Unit& unit) {
  const std::lock_guard lock(mutex_);
  const auto [place, added] = units_.try_emplace(unit.text);
  if (added)
    place->second =
        std::async(std::launch::async, [this, unit, number = static_cast<int>(units_.size())] {
          return compile(unit, number);
        }).share();
}

KernelsPtr Compiler::get(const Unit& unit) {
  start(unit);
  std::shared_future<KernelsPtr> future;
  {
    const std::lock_guard lock(mutex_);
    future = units_.at(unit.text);
  }
  return future.get();
}

bool Compiler::is_pending(const Unit& unit) {
  const std::lock_guard lock(mutex_);
  const auto place = units_.find(unit.text);
  return place != units_.end() &&
         place->second.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
}

}  // namespace emulated
}  // namespace gla_bench
