#pragma once
// Where candidates run. Three small interfaces; the host and CUDA backends are the only
// implementations.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/operator.hpp"
#include "core/variant.hpp"

namespace gla_bench {

struct KernelBuild {
  std::string entry;
  int registers = 0;
  int spill_bytes = 0;   ///< stores plus loads that the assembler reports
  int shared_bytes = 0;  ///< static plus dynamic
};

/// What building a candidate gave. For several kernels: the largest registers and shared, the sum
/// of spills.
struct BuildInfo {
  int registers = 0;
  int spill_bytes = 0;
  int shared_bytes = 0;
  double seconds = 0;
  bool cached = false;
  std::vector<KernelBuild> kernels;
  std::string warnings;  ///< the compiler's, empty where it had none
};

/// Seconds that one stage of a call takes.
struct StageTime {
  std::string name;
  double seconds = 0;
};

/// Device and software under a backend, for the record's environment.
using Environment = std::map<std::string, std::string>;

enum class CacheState { cold, hot };

/// What the place of execution reaches at its best: the measure for shares of the peak.
struct Ceilings {
  double copy_gb_per_s = 0;       ///< bytes read plus bytes written, 1e9 a second
  double matrix_tflop_per_s = 0;  ///< of a large matrix product, 1e12 a second
  std::string matrix;             ///< which one: "bfloat16 8192^3 (cuBLAS)"
};

/// Where figures that the device itself counted come from; all but `cupti`: why there are none.
enum class CounterSource {
  cupti,        ///< NVIDIA's profiling interface, in this process
  not_asked,    ///< the config switched the counters off
  absent,       ///< the backend, or this machine's installation, has no counters
  unsupported,  ///< there is a profiling interface, but not one for this device or of this version
  denied,       ///< the user may not read the device's counters
  failed,       ///< anything else that went wrong
};

/// What the device counted during one call.
struct CounterReading {
  CounterSource source = CounterSource::not_asked;
  std::string reason = {};  ///< why there are no figures; empty for `cupti`
  std::optional<double> dram_read_bytes = {};
  /// Written during the call, and what it left modified in the last-level cache.
  std::optional<double> dram_write_bytes = {};
  std::optional<double> written_back_bytes = {};  ///< the second part of dram_write_bytes
  std::optional<double> l2_bytes = {};            ///< through the last-level cache
  int passes = 0;                                 ///< how often the call ran for them
  std::map<std::string, double> metrics = {};  ///< all figures of the call by the profiler's names
};

/// Whether counters can be read here, as far as that is known without running anything.
struct CounterCheck {
  CounterSource source = CounterSource::absent;
  std::string reason = {};
  int passes = 0;                         ///< how often a call has to run for all of them
  std::vector<std::string> unknown = {};  ///< names that the device's profiler lacks
};

/// One problem's tensors where the backend wants them, each between guard zones.
class Workset {
 public:
  virtual ~Workset() = default;
  /// Fills outputs with NaN bytes (0xff): before every verified run. An output in place of an input
  /// gets that input's first bytes back instead.
  virtual void poison_outputs() = 0;
  /// Outputs in logical order, until the next call.
  virtual const HostTensors& download_outputs() = 0;
  /// 64 bits that go by each bit of the outputs and its place: what is not the same differs in them
  /// but by a chance of 2^-64. Comparable with those of the same problem on the same backend.
  virtual std::uint64_t outputs_fingerprint();
  /// Whether any element of an output still holds the poison, or a NaN that looks like it.
  virtual bool poison_left();
  /// "guard zone behind 'o' overwritten at byte 12", "input 'q' changed": what a run damaged, or
  /// nothing. An input that is updated in place may change.
  virtual std::optional<std::string> damage() = 0;
  /// Negates the inputs that may have any sign (other_inputs.hpp), where they lie; a second call
  /// gives the first bytes back. Between the two, damage() says nothing and what is updated in
  /// place starts from the negated bytes. False: there are none, or the backend can not.
  virtual bool negate_inputs() { return false; }
};

/// A built candidate. Owns its code and, once prepared, its workspace.
class Plan {
 public:
  virtual ~Plan() = default;
  virtual BuildInfo info() const = 0;
  /// Loads the code, allocates the poisoned workspace, binds the parameters. @throws RunError
  virtual void prepare(Workset& workset) = 0;
  /// Fills the workspace with NaN bytes; damage() covers its guard zones after prepare().
  virtual void poison_workspace() = 0;
  virtual std::optional<std::string> damage() = 0;
  /// One call, synchronised. @throws RunError
  virtual void run() = 0;
  /// Seconds per call over `calls` back-to-back calls: the only timer. Cold: the last-level cache
  /// holds nothing of the problem when the first call starts. Where an input is updated in place,
  /// calls are not back to back: each starts, untimed, from the first bytes (and cold, if asked),
  /// so that the last call leaves what any call leaves. @throws RunError
  virtual double sample(CacheState cache, int calls) = 0;
  /// Time of each stage of one call, medians over several calls, in the order of the stages' first
  /// steps; empty for a candidate whose steps name no stages. @throws RunError
  virtual std::vector<StageTime> stage_times(CacheState) { return {}; }
  /// What the device counts during one call with cold caches: the bytes moved, and these metrics by
  /// the profiler's names. That there are no counters, or that they may not be read, is a result.
  /// @throws RunError when the call itself fails
  virtual CounterReading count(std::span<const std::string>) {
    return {.source = CounterSource::absent, .reason = "this backend has no counters"};
  }
  /// So many calls back to back, then waits for them. An input that is updated in place goes on
  /// from what the call before left. @throws RunError
  virtual void repeat(int calls) {
    for (int call = 0; call < calls; ++call) run();
  }
  /// Pieces of work that one call enqueues: what the host's part of a call takes goes by them.
  virtual std::size_t launches() const { return 1; }
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual BackendId id() const = 0;
  /// False where no device is present: candidates then end as `built`.
  virtual bool can_run() const = 0;
  virtual Limits limits() const = 0;
  virtual Environment environment() const = 0;
  /// Current clock of the multiprocessors in MHz, or nothing where it can not be read.
  virtual std::optional<double> clock_mhz() = 0;
  /// Why the clocks are where they are, by name ("sw_power_cap", "hw_thermal_slowdown"); empty
  /// where nothing holds them, or where that can not be read.
  virtual std::vector<std::string> clock_reasons() { return {}; }
  /// What the device has used since some moment in the past, or nothing where it can not be read.
  virtual std::optional<double> energy_joules() { return std::nullopt; }
  /// Whether Plan::count() could count these on limits().arch; needs no device.
  virtual CounterCheck check_counters(std::span<const std::string>) const {
    return {.source = CounterSource::absent, .reason = "this backend has no counters"};
  }
  /// Copies inputs (logical order) in, in the problem's layout. @throws RunError
  virtual std::unique_ptr<Workset> stage(const Operator& op, const Problem& problem,
                                         const HostTensors& inputs) = 0;
  /// Compiles, or takes from the cache. @throws BuildError
  virtual std::unique_ptr<Plan> build(const Candidate& candidate) = 0;
  /// Starts compiling these on other threads, so that build() finds them ready. Order is priority.
  virtual void build_ahead(std::span<const Candidate> candidates) = 0;
  /// False while build() would wait for what build_ahead() has started; true also for a candidate
  /// that it was never told of.
  virtual bool is_ready(const Candidate&) { return true; }
  /// The float64 reference by the recurrence on the device, or nothing where the backend has none.
  virtual std::optional<ReferenceTensors> reference(const Operator& op, const Problem& problem,
                                                    const HostTensors& inputs) = 0;
  /// The same for the plain computation in a given arithmetic.
  virtual std::optional<HostTensors> baseline(const Operator& op, const Problem& problem,
                                              const HostTensors& inputs, Arithmetic arithmetic) = 0;
  /// Does work that a profiler which waits for it (ncu --profile-from-start off) is to look at.
  virtual void profiled(const std::function<void()>& work) { work(); }
  /// Measures on the spot (a second or so), or nothing where nothing can run. @throws RunError
  virtual std::optional<Ceilings> measure_ceilings() { return std::nullopt; }
};

struct CudaOptions {
  int device = 0;
  std::string cache_dir;  ///< empty: the user's cache folder
  std::string
      source_dir;  ///< a kernels/ folder to read sources from; empty: those inside the binary
  int arch = 0;  ///< compile for this architecture instead of the device's (90 with the `a` suffix)
  int compile_threads = 0;                       ///< 0: all cores
  std::function<void(const std::string&)> warn;  ///< takes warnings; empty: standard error
};

struct HostOptions {
  int threads = 0;  ///< 0: all cores
};

std::unique_ptr<Backend> make_host_backend(const HostOptions& options = {});

/// Null in a build without CUDA. With CUDA but no device or driver, a backend whose can_run() is
/// false.
std::unique_ptr<Backend> make_cuda_backend(const CudaOptions& options = {});

/// "CUDA 13.0 (NVRTC 13.0, cuBLAS 13.1)", or why there is none: for `info` and messages.
std::string cuda_build_description();

/// What compiles the host's candidates: compiler, version, and options but for warnings.
std::string host_compiler_description();

/// What compiles CUDA candidates: NVRTC's version and its options but for the architecture, which
/// is the device's. Nothing in a build without CUDA.
std::optional<std::string> cuda_compiler_description();

}  // namespace gla_bench
