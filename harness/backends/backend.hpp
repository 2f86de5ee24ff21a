#pragma once
// The place where candidates run, as three small interfaces. The host backend, the CUDA backend and
// the one that emulates it implement them.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/operator.hpp"
#include "core/variant.hpp"
#include "harness/backends/comparison.hpp"

namespace gla_bench {

struct KernelBuild {
  std::string entry;
  int registers = 0;
  int spill_bytes = 0;   ///< stores plus loads that the assembler reports
  int shared_bytes = 0;  ///< static plus dynamic
};

/// The result of building a candidate. For several kernels: the maximum of registers and shared
/// memory, and the sum of spills.
struct BuildInfo {
  int registers = 0;
  int spill_bytes = 0;
  int shared_bytes = 0;
  double seconds = 0;
  bool cached = false;
  bool assembled = true;  ///< false: a kernel has no machine code, so that numbers are not known
  std::vector<KernelBuild> kernels;
  std::string warnings;  ///< of the compiler; empty if there are none
};

/// Seconds that one stage of a call takes.
struct StageTime {
  std::string name;
  double seconds = 0;
};

/// The device and software of a backend, for the environment in a record.
using Environment = std::map<std::string, std::string>;

enum class CacheState { cold, hot };

/// The best rates that the device or host reaches, to express results as a share of the peak.
struct Ceilings {
  double copy_gb_per_s = 0;       ///< bytes read plus bytes written, in 1e9 per second
  double matrix_tflop_per_s = 0;  ///< of a large matrix product, in 1e12 per second
  std::string matrix;             ///< which product: "bfloat16 8192^3 (cuBLAS)"
  /// Microseconds that a cold call takes by the clock of the samples even where it does next to
  /// nothing: one block that copies 16 bytes. 0: not measured.
  double least_call_us = 0;
};

/// Where the device's own counts come from. All values except `cupti` say why there are none.
enum class CounterSource {
  cupti,        ///< NVIDIA's profiling interface, in this process
  not_asked,    ///< the config switched the counters off
  absent,       ///< the backend or this machine's installation has no counters
  unsupported,  ///< the profiling interface lacks this device or is of another version
  denied,       ///< the user may not read the device's counters
  failed,       ///< anything else that went wrong
};

/// What the device counted during one call.
struct CounterReading {
  CounterSource source = CounterSource::not_asked;
  std::string reason = {};  ///< why there are no figures; empty for `cupti`
  std::optional<double> dram_read_bytes = {};
  /// Bytes written during the call, plus what it left modified in the last-level cache.
  std::optional<double> dram_write_bytes = {};
  std::optional<double> written_back_bytes = {};  ///< the second part of dram_write_bytes
  std::optional<double> l2_bytes = {};            ///< through the last-level cache
  int passes = 0;                                 ///< how often the call ran to collect the counts
  std::map<std::string, double> metrics = {};  ///< all figures of the call by the profiler's names
};

/// Whether counters can be read here, as far as this is known without running anything.
struct CounterCheck {
  CounterSource source = CounterSource::absent;
  std::string reason = {};
  int passes = 0;                         ///< how often a call has to run to collect all of them
  std::vector<std::string> unknown = {};  ///< names that the device's profiler lacks
};

/// One problem's tensors in the backend's memory, each between guard zones.
class Workset {
 public:
  virtual ~Workset() = default;
  /// Another one of the same problem, with tensors of its own: the same inputs, poisoned outputs.
  /// Null where the backend cannot do this. @throws RunError
  virtual std::unique_ptr<Workset> copy() { return nullptr; }
  /// Fills outputs with NaN bytes (0xff). Called before every verified run. An output that replaces
  /// an input gets the original bytes of that input instead.
  virtual void poison_outputs() = 0;
  /// Returns the outputs in logical order. They stay valid until the next call.
  virtual const HostTensors& download_outputs() = 0;
  /// Holds an output against expected values where it lies. Valid until the outputs are written
  /// again. Null where the backend leaves that to the host, or lacks the memory. @throws RunError
  virtual std::unique_ptr<OutputComparison> compare(const TensorSpec& spec, const Chunks& chunks,
                                                    const ExpectedValues& expected) {
    static_cast<void>(spec), static_cast<void>(chunks), static_cast<void>(expected);
    return nullptr;
  }
  /// A 64-bit hash of every bit of the outputs and its place. Different outputs have the same hash
  /// with a chance of 2^-64. Hashes are comparable for the same problem on the same backend.
  virtual std::uint64_t outputs_fingerprint();
  /// Whether any output element still holds the poison, or a NaN with the same bits.
  virtual bool poison_left();
  /// What a run damaged: "guard zone behind 'o' overwritten at byte 12", "input 'q' changed".
  /// Returns nothing if there is no damage. An input that is updated in place may change.
  virtual std::optional<std::string> damage() = 0;
  /// Flips, in place, the signs of those input elements that the pattern picks (other_inputs.hpp).
  /// A second call with the same pattern restores the original bytes. Between the two calls
  /// damage() returns nothing of inputs, and inputs that are updated in place start from the
  /// flipped bytes. Returns false if there are no such inputs or the backend cannot do this.
  virtual bool flip_signs(std::uint64_t pattern) {
    static_cast<void>(pattern);
    return false;
  }
};

/// A built candidate. Owns its code and, once prepared, its workspace.
class Plan {
 public:
  virtual ~Plan() = default;
  virtual BuildInfo info() const = 0;
  /// Loads the code, allocates the poisoned workspace and binds the parameters. @throws RunError
  virtual void prepare(Workset& workset) = 0;
  /// Fills the workspace with NaN bytes, and what else the next run() could take from an earlier
  /// one with large numbers or NaN: a device's shared memory and registers, a host's stacks and
  /// what it allocates. After prepare(), damage() also checks the workspace's guard zones.
  virtual void poison_workspace() = 0;
  virtual std::optional<std::string> damage() = 0;
  /// One call, synchronised. @throws RunError
  virtual void run() = 0;
  /// Seconds per call over `calls` back-to-back calls. This is the only timer. Cold: when the first
  /// call starts, the last-level cache holds nothing of the problem. Where an input is updated in
  /// place, calls are not back to back. Each then starts from the original bytes, which are
  /// restored untimed (and with a cold cache, if asked), so the last call leaves the same result as
  /// any other. @throws RunError
  virtual double sample(CacheState cache, int calls) = 0;
  /// The time of each stage of one call, as medians over several calls, in the order of the stages'
  /// first steps. Empty for a candidate whose steps name no stages. @throws RunError
  virtual std::vector<StageTime> stage_times(CacheState) { return {}; }
  /// What the device counts during one call with cold caches: the bytes moved, and these metrics
  /// under the profiler's names. Missing or forbidden counters are reported in the result. @throws
  /// RunError when the call itself fails
  virtual CounterReading count(std::span<const std::string>) {
    return {.source = CounterSource::absent, .reason = "this backend has no counters"};
  }
  /// Runs `calls` calls back to back and waits for them. An input that is updated in place
  /// continues from the previous call's result. @throws RunError
  virtual void repeat(int calls) {
    for (int call = 0; call < calls; ++call) run();
  }
  /// Seconds per call of back-to-back calls, each on the next of these worksets (in the workspace
  /// of prepare()), round and round, after one round that is not timed. An input that is updated in
  /// place continues from the result of the round before. @throws RunError
  virtual double sustained(std::span<Workset* const> worksets, int rounds) {
    static_cast<void>(worksets), static_cast<void>(rounds);
    throw RunError("this backend has no sustained time");
  }
  /// The number of work items that one call enqueues, which determines the host's time for a call.
  virtual std::size_t launches() const { return 1; }
};

/// A built candidate that computes on memory of the caller, wherever that lies.
class DirectCall {
 public:
  virtual ~DirectCall() = default;
  virtual BuildInfo info() const = 0;
  /// The scratch memory that one call needs besides the tensors, each region at a multiple of 256.
  /// What it holds before a call does not matter.
  virtual std::vector<Region> workspace() const = 0;
  /// One call. On a device it enqueues its work on `stream`, one of that device's: it allocates
  /// nothing and waits for nothing, so that a CUDA graph may capture it. On the host, where
  /// `stream` is null, it ends with its work done. Several threads may call at once, each with
  /// memory of its own. @param address of the problem's tensors (of their first elements) and of
  /// the workspace
  /// @throws RunError
  virtual void run(const Address& address, void* stream) const = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual BackendId id() const = 0;
  /// False where no device is present. Candidates then end as `built`.
  virtual bool can_run() const = 0;
  virtual Limits limits() const = 0;
  virtual Environment environment() const = 0;
  /// The current SM clock in MHz, or nothing where it cannot be read.
  virtual std::optional<double> clock_mhz() = 0;
  /// The reasons that limit the clocks, by name ("sw_power_cap", "hw_thermal_slowdown"). Empty
  /// where nothing limits them, or where the reasons cannot be read.
  virtual std::vector<std::string> clock_reasons() { return {}; }
  /// The energy that the device has used since a fixed moment in the past, or nothing where it
  /// cannot be read.
  virtual std::optional<double> energy_joules() { return std::nullopt; }
  /// Whether Plan::count() could count these metrics on limits().arch. Needs no device.
  virtual CounterCheck check_counters(std::span<const std::string>) const {
    return {.source = CounterSource::absent, .reason = "this backend has no counters"};
  }
  /// Copies inputs (in logical order) to the device in the problem's layout. @throws RunError
  virtual std::unique_ptr<Workset> stage(const Operator& op, const Problem& problem,
                                         const HostTensors& inputs) = 0;
  /// Compiles the candidate, or takes it from the cache. @throws BuildError
  virtual std::unique_ptr<Plan> build(const Candidate& candidate) = 0;
  /// Compiles the candidate, or takes it from the cache, and loads it for calls on memory that this
  /// backend does not own. Takes none of the device's memory but for the code. Several threads may
  /// call at once. @throws BuildError, RunError
  virtual std::unique_ptr<DirectCall> call(const Candidate& candidate) {
    throw BuildError(describe(candidate) + ": this backend computes on memory of its own alone");
  }
  /// Starts compiling these on other threads, so that build() finds them ready. Earlier ones come
  /// first.
  virtual void build_ahead(std::span<const Candidate> candidates) = 0;
  /// False while build() would wait for a compilation that build_ahead() has started. True also for
  /// a candidate that build_ahead() was never given.
  virtual bool is_ready(const Candidate&) { return true; }
  /// The float64 reference by the recurrence on the device, or nothing where the backend has none.
  virtual std::optional<ReferenceTensors> reference(const Operator& op, const Problem& problem,
                                                    const HostTensors& inputs) = 0;
  /// The same for the plain computation in a given arithmetic.
  virtual std::optional<HostTensors> baseline(const Operator& op, const Problem& problem,
                                              const HostTensors& inputs, Arithmetic arithmetic) = 0;
  /// Runs `work` so that a profiler which waits for it (ncu --profile-from-start off) records it.
  virtual void profiled(const std::function<void()>& work) { work(); }
  /// Runs `work` while something else keeps a part of the device and its memory busy: on a GPU
  /// kernels in a second stream, on a host other threads. @throws RunError, also where that other
  /// work fails
  virtual void beside_load(const std::function<void()>& work) = 0;
  /// Measures them now (for about a second). Nothing if candidates cannot run. @throws RunError
  virtual std::optional<Ceilings> measure_ceilings() { return std::nullopt; }
};

struct CudaOptions {
  int device = 0;
  std::string cache_dir;  ///< empty: the user's cache folder
  std::string
      source_dir;  ///< a kernels/ folder to read sources from; empty: those inside the binary
  int arch = 0;  ///< compile for this architecture instead of the device's (90 with the `a` suffix)
  int compile_threads = 0;  ///< 0: all cores
  /// Kernels are compiled nearly without optimisation, to see that they compile, and most of them
  /// no further than PTX: of each kind of source only the first to machine code. Not to be timed.
  bool quick = false;
  std::function<void(const std::string&)> warn;  ///< takes warnings; empty: standard error
};

struct HostOptions {
  int threads = 0;  ///< 0: all cores
};

std::unique_ptr<Backend> make_host_backend(const HostOptions& options = {});

/// Null in a build without CUDA. With CUDA but without a device or driver, a backend whose
/// can_run() is false.
std::unique_ptr<Backend> make_cuda_backend(const CudaOptions& options = {});

/// "CUDA 13.0 (NVRTC 13.0, cuBLAS 13.1)", or why there is none: for `info` and messages.
std::string cuda_build_description();

/// The compiler of the host's candidates: its name, version and options, except warning options.
std::string host_compiler_description();

/// The compiler of CUDA candidates: NVRTC's version and its options, except the architecture, which
/// is the device's. Nothing in a build without CUDA.
std::optional<std::string> cuda_compiler_description();

}  // namespace gla_bench
