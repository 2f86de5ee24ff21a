#pragma once
// What happened to a candidate. The JSON names are a contract: configs/schema/results.schema.json.

#include <array>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "core/variant.hpp"
#include "harness/backends/backend.hpp"

namespace gla_bench {

enum class Status {
  measured,
  verified,
  wrong,
  rejected,
  left_out,  ///< it could have been tried, and the search (tune) did without
  build_failed,
  run_failed,  ///< it said so, and its process lived on
  crashed,     ///< it took its process or its device with it, also when tried again alone
  timeout,     ///< it was killed after the limit of a step
  built
};
std::string_view name(Status status);
std::optional<Status> parse_status(std::string_view text);
std::string_view name(CounterSource source);
std::optional<CounterSource> parse_counter_source(std::string_view text);

/// All names, for messages: "measured, verified, ...".
std::string status_list();

/// True where a candidate was tried and is not right: wrong, build_failed, run_failed, crashed,
/// timeout.
bool is_failure(Status status);

/// Where a tensor differs most, in logical coordinates.
struct WorstElement {
  std::vector<std::int64_t> index;
  double got = 0;
  double expected = 0;
};

/// Errors of one output against float64 and the bounds they are held to. A NaN anywhere makes every
/// error NaN, and `ok` false.
struct TensorVerdict {
  double rel_l2 = 0;              ///< ||got - expected|| / ||expected||, whole tensor
  double max_abs = 0;             ///< max |got - expected| / max(RMS, |expected|)
  double worst_chunk_rel_l2 = 0;  ///< the largest rel_l2 of a chunk of tokens (verify.hpp)
  double bound = 0;               ///< for rel_l2; never above the cap
  double worst_chunk_bound = 0;
  double max_abs_bound = 0;
  double baseline_rel_l2 = 0;  ///< of the plain computation that the bound is tied to
  WorstElement worst;
  bool ok = false;
};

struct Verification {
  bool ok = false;
  Arithmetic arithmetic = Arithmetic::float32;
  std::string reference;  ///< "host" or "cuda": where the float64 recurrence ran
  std::map<std::string, TensorVerdict> tensors;
  bool deterministic = false;         ///< a repeat gave the same bits
  std::optional<bool> last_timed_ok;  ///< the last timed launch verified again; nothing: not timed
  std::string fault;  ///< guard zone, changed input, unwritten output: why it is not ok
  std::string check;  ///< the first check that failed, by name (checks.hpp)
  /// Workset::outputs_fingerprint() of the outputs that were judged; no part of the record.
  std::optional<std::uint64_t> fingerprint = {};
};

struct Series {
  double median_ms = 0, min_ms = 0, p20_ms = 0, p80_ms = 0;
  std::vector<double> samples_ms;  ///< all of them, in order
  std::string stopped_because;     ///< "noise", "time", "samples", "search"
};

struct Timing {
  Series cold;
  std::optional<Series> hot;
  std::optional<double> clock_mhz_before, clock_mhz_after;
  std::optional<double> wall_ms;  ///< the shortest whole call by the wall clock
  bool suspect = false;           ///< a time that can not be
  std::string suspect_check;      ///< check::floor or check::wall_clock: why it can not be
  bool throttled = false;  ///< something slowed the device down before, during or after the samples
  /// Why the clocks were where they were (Backend::clock_reasons), at any of those moments.
  std::vector<std::string> clock_reasons;
};

/// One part of a call: its time with cold caches, and what it moves on paper.
struct Stage {
  std::string name;
  double median_ms = 0;
  double model_read_bytes = 0;
  double model_write_bytes = 0;
};

/// What the device took for repeated calls, back to back with warm caches.
struct Energy {
  std::optional<double> joules_per_call =
      {};            ///< of the whole board, what it takes when idle included
  double watts = 0;  ///< over the window
  double window_seconds = 0;
  std::int64_t calls = 0;   ///< within the window
  std::string reason = {};  ///< why there is no figure; empty where there is one
};

struct Io {
  double floor_bytes = 0;
  double model_read_bytes = 0;
  double model_write_bytes = 0;
  double workspace_bytes = 0;
  std::optional<CounterReading> measured = {};  ///< nothing: the candidate was not measured
};

/// Interleaved rounds against another binary's candidate of the same problem, variant and tile (run
/// --against): in each round both took `samples` samples with cold caches, one behind the other.
struct Against {
  Status status = Status::rejected;  ///< of the other's candidate; without rounds where it is bad
  std::string reason;
  std::string source_hash;
  std::optional<Verification> verification;  ///< of the other's candidate, on the same inputs
  int samples = 0;                           ///< of each in one round
  /// Round by round, `samples` of each round, all of them, in order.
  std::vector<double> base_ms, new_ms;
  std::string first;            ///< one letter a round: b, the other went first, or n
  std::string stopped_because;  ///< "precision", "time", "rounds"; empty without rounds
};

/// How `auto` came to a candidate (tuned_table/choose.hpp).
struct ChosenBy {
  std::string how;    ///< "bucket": by the entry of the problem's own bucket; "nearest"; "default"
  std::string table;  ///< path of the table; empty where there was none
  std::string entry;  ///< the entry's bucket; empty for a default
  double distance = 0;  ///< from the problem's bucket to it
  std::string note;     ///< what was passed over, and why; why it is a default; a stale entry
};

/// How a search (tune) came to its end with a candidate.
struct SearchNote {
  std::string strategy;  ///< "halving", "exhaustive", ...
  /// "end": it was among the last. "slower": its interval lay clear of the best's, or too many were
  /// better. "traffic": its modelled bytes alone take longer than the best. "unvisited": the
  /// strategy did not come by. "failed": it is not right, or its time can not be. "stopped": the
  /// budget was used up, or a signal came; what is known is kept, and --resume searches again.
  std::string left;
  int rounds = 0;  ///< batches of samples that it took part in
  /// 95 % interval of its median when it left, and of the best one's at that time; nothing where it
  /// was not measured.
  std::optional<std::array<double, 2>> interval_ms = {}, best_ms = {};
};

struct Record {
  Problem problem;
  std::string variant;
  BackendId backend = BackendId::host;
  std::string device;  ///< UUID of the GPU ("GPU-..."); empty on the host
  Tile tile;
  Status status = Status::rejected;
  std::string reason;
  std::string wrong_tensors;       ///< of a wrong row: path of its tensors, where they were kept
  std::int64_t refused_tiles = 0;  ///< rejected: tiles refused for such a reason, `tile` the first
  std::optional<Verification> verification;
  std::optional<Timing> timing;
  /// Of a row that was throttled and then measured again at the end: the first timing.
  std::optional<Timing> throttled_timing;
  std::vector<Stage> stages;  ///< of a measured candidate whose variant has stages
  Io io;
  std::optional<Energy> energy;  ///< nothing: not asked for, or not measured
  double flops = 0;
  std::optional<BuildInfo> build;
  std::string source_hash;
  bool peer = false;
  std::optional<ChosenBy> chosen_by;  ///< nothing: the config named it
  std::optional<Against> against;
  std::optional<SearchNote> search;  ///< of a search's results file
};

/// What a record is of. No two records of a results file have the same.
using RecordKey = std::tuple<Problem, std::string, BackendId, Tile>;
RecordKey key_of(const Record& record);

/// False where nothing was done with it: rejected, left_out.
bool was_tried(const Record& record);

/// "wrong chunk_fused [cuda] block_v=32 on gla forward ...: reason", for messages.
std::string describe(const Record& record);

}  // namespace gla_bench
