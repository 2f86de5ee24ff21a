#pragma once
// The messages between a run and its workers: one JSON object a line, over one socket.
//
// Worker: hello, at once.
// Parent: configure            once, before the first work; no answer
//         ceilings             -> ceilings
//         counters             -> counters: the plan for a policy's metrics, or error
//         ahead                candidates to compile on other threads; no answer
//         point                -> per step: starting, which the parent answers with go; then
//                                 verified, timed (a record without counters), record or crashed;
//                                 done at the end
//         prepare              -> (starting, go)... prepared
//         sample               -> samples, or failed
//         check                -> checked: the outputs of the last sample are verified
//         hold                 -> (starting, go)... held: the first of several candidates that is
//                                 compiled is verified and kept ready beside those held before
//         sample, check        with `held`: the same for a candidate that is held
//         release              held candidates free their memory; no answer. A sample allocates it
//                              again
//         end of the socket    the worker ends
// Worker, at any time: error. After it, and after crashed, the worker is gone.
//
// Candidates are named by their index in the request's list.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/backends/backend.hpp"
#include "harness/engine/run.hpp"
#include "harness/records/record.hpp"
#include "harness/support/facts.hpp"
#include "harness/support/json.hpp"

namespace gla_bench {

/// Raised whenever a program of the old version could misunderstand a message of the new one.
constexpr int protocol_version = 1;

/// The descriptor at which a worker finds its socket.
constexpr int protocol_descriptor = 3;

/// What a worker reports about itself and about where it runs.
struct Hello {
  int protocol = protocol_version;
  std::string program_version;
  std::string git_commit;
  BackendId backend = BackendId::host;
  bool can_run = false;
  int devices = 0;  ///< number of CUDA devices
  Limits limits;
  Facts environment;  ///< make_environment() without ceilings
};

/// How all work is to be done.
struct WorkSettings {
  bool measure = true;
  Policy policy;
  double copy_gb_per_s = 0;
  double last_level_cache = 0;
};

/// A problem and some of its candidates, by names that another program may not know.
struct NamedCandidate {
  std::string variant;
  Tile tile;
};
struct NamedPoint {
  Problem problem;
  std::vector<NamedCandidate> candidates;
};

/// Asks for this many timed samples of the prepared candidate.
struct SampleRequest {
  CacheState cache = CacheState::cold;
  int samples = 1;
  int calls = 1;  ///< per sample, back to back
  std::optional<NamedCandidate> held =
      {};  ///< the held candidate to sample; nothing: the prepared one
};

/// Asks for the outputs of the last timed launch to be verified.
struct CheckRequest {
  std::optional<NamedCandidate> held = {};  ///< the held candidate; nothing: the prepared one
  double seconds = 0;                       ///< for a held candidate: the median of its samples
};

struct Samples {
  std::vector<double> seconds;  ///< seconds per call, one value for each sample
  std::optional<double> clock_mhz;
};

/// An event of the work on a point.
struct StepEvent {
  RunStep step = RunStep::reference;
  std::optional<std::size_t> candidate;
};

NamedPoint named(const Problem& problem, std::span<const Candidate> candidates);

Json hello_message(const Hello& hello);
Json configure_message(const WorkSettings& settings);
Json ceilings_request();
Json counters_request(const CounterPolicy& policy, const std::string& config);
Json counters_message(const std::string& plan);
Json ceilings_message(const std::optional<Ceilings>& ceilings);
Json ahead_message(std::span<const NamedPoint> points);
Json point_message(const NamedPoint& point);
Json prepare_message(const Problem& problem, const NamedCandidate& candidate);
Json sample_message(const SampleRequest& request);
Json samples_message(const Samples& samples);
Json hold_message(const NamedPoint& point);
Json release_message(const NamedPoint& point);
Json check_message(const CheckRequest& request = {});
Json go_message();
Json starting_message(const StepEvent& event);
Json verified_message(std::size_t candidate);
/// `event`: "record", "timed", "crashed", "prepared", "held", "checked" or "failed".
Json record_message(const std::string& event, const Record& record,
                    std::optional<std::size_t> candidate);
Json done_message();
/// `input`: the user's mistake (exit code 2), otherwise the machine's.
Json error_message(bool input, const std::string& what);

// The functions below read what the ones above write. @throws InputError for anything else
/// The value of "request" or "event": which message it is.
std::string message_kind(const JsonNode& message);
/// @throws InputError for a worker of another protocol, naming both versions
Hello read_hello(const JsonNode& message);
WorkSettings read_settings(const JsonNode& message);
/// The policy, and the config that it stands in.
std::pair<CounterPolicy, std::string> read_counters_request(const JsonNode& message);
std::optional<Ceilings> read_ceilings(const JsonNode& message);
std::vector<NamedPoint> read_ahead(const JsonNode& message);
NamedPoint read_point(const JsonNode& message);
SampleRequest read_sample(const JsonNode& message);
CheckRequest read_check(const JsonNode& message);
Samples read_samples(const JsonNode& message);
StepEvent read_starting(const JsonNode& message);
/// The "candidate" of an event.
std::optional<std::size_t> read_candidate(const JsonNode& message);

}  // namespace gla_bench
