#include "harness/backends/host/machine.hpp"

#include <cblas.h>
#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

namespace gla_bench {
namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;
constexpr std::size_t least_flush_bytes = 64 * mebibyte;

// The number at the start of a file such as ".../index3/size", which says "32768K".
std::size_t kibibytes_in(const std::string& path) {
  std::ifstream file(path);
  std::size_t kibibytes = 0;
  char unit = 0;
  if (!(file >> kibibytes >> unit) || unit != 'K') return 0;
  return kibibytes * 1024;
}

// The largest cache that the first processor reaches. The kernel's description comes first: where a
// virtual machine sees a part of a large processor, the C library reports ten times as much.
std::size_t last_level_cache_bytes() {
  std::size_t largest = 0;
  for (int index = 0; index < 8; ++index)
    largest = std::max(largest, kibibytes_in("/sys/devices/system/cpu/cpu0/cache/index" +
                                             std::to_string(index) + "/size"));
  if (largest > 0) return largest;
  for (const int level : {_SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE, _SC_LEVEL4_CACHE_SIZE})
    largest = std::max(largest, static_cast<std::size_t>(std::max(0L, sysconf(level))));
  return largest;
}

// All values of a key of /proc/cpuinfo, as in "model name\t: X".
std::vector<std::string> cpuinfo(const std::string& key) {
  std::vector<std::string> values;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const auto colon = line.find(':');
    if (line.compare(0, key.size(), key) != 0 || colon == std::string::npos) continue;
    values.push_back(colon + 2 <= line.size() ? line.substr(colon + 2) : "");
  }
  return values;
}

template <class Work>
double best_seconds(int repeats, Work work) {
  double best = 1e300;
  for (int i = 0; i < repeats; ++i) {
    const auto start = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    best = std::min(best, elapsed.count());
  }
  return best;
}

double copy_rate(bool roughly) {
  // Four times the last-level cache, so that the copied data does not stay there. At worst each
  // processor has a cache of its own, and all of them copy.
  const std::size_t cache = std::max(last_level_cache_bytes(), 32 * mebibyte);
  const auto processors = static_cast<std::size_t>(omp_get_num_procs());
  const std::size_t bytes =
      roughly ? least_flush_bytes : std::min(4 * cache * processors, 1024 * mebibyte);
  const std::size_t limit = host_memory_bytes() / 8;
  const std::size_t size = limit > 0 ? std::min(bytes, limit) : bytes;
  std::vector<unsigned char> from(size, 1), to(size, 2);
  const double seconds = best_seconds(4, [&] {
#pragma omp parallel
    {
      const auto threads = static_cast<std::size_t>(omp_get_num_threads());
      const auto thread = static_cast<std::size_t>(omp_get_thread_num());
      const std::size_t begin = size * thread / threads, end = size * (thread + 1) / threads;
      std::memcpy(to.data() + begin, from.data() + begin, end - begin);
    }
  });
  return 2.0 * static_cast<double>(size) / seconds * 1e-9;
}

double matrix_rate(int n) {
  const std::size_t elements = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
  std::vector<float> a(elements, 0.5f), b(elements, 0.25f), c(elements, 0.0f);
  const double seconds = best_seconds(3, [&] {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1.0f, a.data(), n, b.data(), n,
                0.0f, c.data(), n);
  });
  return 2.0 * n * n * n / seconds * 1e-12;
}

}  // namespace

std::size_t host_memory_bytes() {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0) return 0;
  return static_cast<std::size_t>(pages) * static_cast<std::size_t>(page);
}

std::optional<double> host_clock_mhz() {
  const std::vector<std::string> clocks = cpuinfo("cpu MHz");
  double sum = 0;
  for (const std::string& clock : clocks) sum += std::strtod(clock.c_str(), nullptr);
  if (!(sum > 0)) return std::nullopt;
  return sum / static_cast<double>(clocks.size());
}

Environment host_environment(int threads) {
  const std::vector<std::string> models = cpuinfo("model name");
  Environment environment{{"device", models.empty() ? "unknown processor" : models.front()},
                          {"cores", std::to_string(omp_get_num_procs())},
                          {"threads", std::to_string(threads)},
                          {"memory_bytes", std::to_string(host_memory_bytes())},
                          {"last_level_cache_bytes", std::to_string(last_level_cache_bytes())},
                          {"compiler", __VERSION__},
                          {"openmp", std::to_string(_OPENMP)},
                          {"blas", std::string(openblas_get_config())}};
  if (measures_roughly()) environment["rough"] = "yes";
  return environment;
}

std::optional<std::string> blas_kernels_to_ask_for(std::string_view chosen, bool avx2,
                                                   bool avx512) {
  if (chosen != "Prescott" || !avx2) return std::nullopt;
  return avx512 ? "SkylakeX" : "Haswell";
}

std::optional<std::string> blas_kernels_to_ask_for() {
#if defined(__x86_64__)
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512cd");
  return blas_kernels_to_ask_for(openblas_get_corename(), avx2, avx512);
#else
  return std::nullopt;
#endif
}

bool measures_roughly() {
  const char* asked = std::getenv(rough_variable);
  return asked != nullptr && *asked != '\0';
}

Ceilings measure_host_ceilings() {
  const bool roughly = measures_roughly();
  const int n = roughly ? 512 : 2048;
  const int before = openblas_get_num_threads();
  openblas_set_num_threads(omp_get_max_threads());
  Ceilings ceilings{copy_rate(roughly), matrix_rate(n),
                    "float32 " + std::to_string(n) + "^3 (OpenBLAS)"};
  openblas_set_num_threads(before);
  return ceilings;
}

std::size_t CacheFlush::bytes() {
  if (measures_roughly()) return least_flush_bytes;
  return std::clamp(2 * last_level_cache_bytes(), least_flush_bytes, 1024 * mebibyte);
}

void CacheFlush::run() {
  if (buffer_.empty()) buffer_.assign(bytes(), 1);
  constexpr std::int64_t line = 64;
  const unsigned char* bytes = buffer_.data();
  const auto lines = static_cast<std::int64_t>(buffer_.size()) / line;
  unsigned long long sum = 0;
  // Each thread reads the whole buffer. This empties private caches and fills shared ones.
#pragma omp parallel reduction(+ : sum)
  for (std::int64_t i = 0; i < lines; ++i) sum += bytes[i * line];
  sink_ += sum;
}

}  // namespace gla_bench
