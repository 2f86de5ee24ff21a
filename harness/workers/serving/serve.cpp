#include "harness/workers/serving/serve.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "harness/backends/devices.hpp"
#include "harness/measure/readings.hpp"
#include "harness/records/environment.hpp"
#include "harness/support/git_version.hpp"
#include "harness/support/processor_clock.hpp"
#include "harness/verify/verifier_hash.hpp"
#include "harness/workers/channel.hpp"
#include "harness/workers/protocol.hpp"
#include "harness/workers/serving/held.hpp"
#include "harness/workers/serving/prepared.hpp"

namespace gla_bench {
namespace {

enum ExitCode { ended = 0, machine_failed = 1, bad_input = 2, device_lost = 70 };

/// Reports events to the parent. Before each step it waits for the parent's go, so that the parent
/// has written down what is about to be tried.
class Reporter final : public RunObserver {
 public:
  explicit Reporter(Channel& channel) : channel_(channel) {}

  void starting(RunStep step, std::optional<std::size_t> candidate) override {
    say(starting_message({step, candidate}));
    if (!channel_.receive(-1)) ::_exit(ended);
  }
  void verified(std::size_t candidate) override { say(verified_message(candidate)); }
  void timed(const Record& record, std::size_t candidate) override {
    say(record_message("timed", record, candidate));
  }
  void gone() override { ::_exit(device_lost); }
  void recorded(const Record& record, std::size_t candidate) override {
    say(record_message("record", record, candidate));
  }
  void lost(const Record& record, std::optional<std::size_t> candidate) override {
    say(record_message("crashed", record, candidate));
    ::_exit(device_lost);  // taking a broken context down may hang
  }

  void say(const Json& message) {
    if (!channel_.send(message)) ::_exit(ended);  // nobody listens any more
  }

 private:
  Channel& channel_;
};

/// What another version of the program has and this one lacks.
struct Unknown : InputError {
  using InputError::InputError;
};

class Server {
 public:
  Server(Channel& channel, const WorkerSetup& setup)
      : channel_(channel), setup_(setup), reporter_(channel) {}

  int run() {
    try {
      hello();
      while (const auto line = channel_.receive(-1)) answer(*line);
      return ended;
    } catch (const InputError& error) {
      reporter_.say(error_message(true, error.what()));
      return bad_input;
    } catch (const std::exception& error) {
      reporter_.say(error_message(false, error.what()));
      return machine_failed;
    }
  }

 private:
  void hello() {
    backend_ = setup_.open();
    plan_.place = setup_.place(*backend_);
    Hello hello;
    hello.program_version = program_version();
    hello.git_commit = git_commit();
    hello.backend = backend_->id();
    hello.can_run = backend_->can_run();
    hello.devices = cuda_device_count();
    hello.limits = backend_->limits();
    hello.environment = make_environment(*backend_, setup_.command_line, std::nullopt);
    if (setup_.facts)
      for (const auto& [key, text] : setup_.facts()) hello.environment[key] = text;
    reporter_.say(hello_message(hello));
  }

  void answer(const std::string& line) {
    const Json document = parse_json(line, "request");
    const JsonNode message(document, "request");
    const std::string kind = message_kind(message);
    if (kind == "configure")
      configure(read_settings(message));
    else if (kind == "ceilings")
      reporter_.say(ceilings_message(backend_->can_run() ? backend_->measure_ceilings()
                                                         : std::optional<Ceilings>{}));
    else if (kind == "counters")
      counters(read_counters_request(message));
    else if (kind == "ahead")
      ahead(read_ahead(message));
    else if (kind == "point")
      point(read_point(message));
    else if (kind == "prepare")
      prepare(read_point(message));
    else if (kind == "sample")
      sample(read_sample(message));
    else if (kind == "hold")
      hold(read_point(message));
    else if (kind == "release")
      held_.release(read_point(message).candidates);
    else if (kind == "check")
      check(read_check(message));
    else
      message.fail("a request that this program knows");
  }

  /// A metric that the chip lacks is an InputError, so that the parent reports it.
  void counters(const std::pair<CounterPolicy, std::string>& asked) {
    reporter_.say(counters_message(plan_counters(asked.first, *backend_, asked.second)));
  }

  void configure(const WorkSettings& settings) {
    prepared_.clear();
    held_.clear();
    staged_.clear();  // verdicts that are kept go by the tolerance
    plan_.measure = settings.measure;
    plan_.timing = settings.policy.timing;
    plan_.counters = settings.policy.counters;
    plan_.energy = settings.policy.energy;
    plan_.reference = settings.policy.verification.reference;
    plan_.tolerance = settings.policy.tolerance.empty() ? default_tolerance()
                                                        : load_tolerance(settings.policy.tolerance);
    plan_.place.verifier_hash = verifier_hashes(plan_.place.backend, plan_.tolerance);
    plan_.keep_wrong = settings.policy.keep_wrong;
    plan_.winner_launches = settings.policy.winner_launches;
    plan_.copy_gb_per_s = settings.copy_gb_per_s;
    plan_.last_level_cache = settings.last_level_cache;
    if (backend_->can_run()) open_device(*backend_);
  }

  Candidate find(const Problem& problem, const NamedCandidate& name) const {
    const Variant* variant =
        setup_.catalog.find_variant(problem.op, name.variant, backend_->id(), problem.direction);
    if (variant == nullptr)
      throw Unknown("this program has no variant " + name.variant + " of " + problem.op);
    return {variant, problem, name.tile};
  }

  Assignment assignment(const NamedPoint& point) const {
    Assignment work;
    work.op = setup_.catalog.find_operator(point.problem.op);
    if (work.op == nullptr) throw Unknown("this program has no operator " + point.problem.op);
    work.problem = point.problem;
    for (const NamedCandidate& name : point.candidates)
      work.accepted.push_back(find(point.problem, name));
    return work;
  }

  void ahead(const std::vector<NamedPoint>& points) {
    for (const NamedPoint& point : points) try {
        backend_->build_ahead(assignment(point).accepted);
      } catch (const BuildError&) {
        // The error is reported again, and recorded, when it is the candidate's turn.
      }
  }

  void point(const NamedPoint& point) {
    prepared_.clear();
    held_.clear();
    run_point(*backend_, assignment(point), plan_, reporter_, staged_);
    reporter_.say(done_message());
  }

  void prepare(const NamedPoint& point) {
    prepared_.clear();
    held_.clear();
    Record record;
    try {
      record = prepared_.make(*backend_, assignment(point), plan_, reporter_, staged_);
    } catch (const Unknown& unknown) {
      record.problem = point.problem;
      record.backend = backend_->id();
      if (!point.candidates.empty()) record.variant = point.candidates.front().variant;
      record.reason = unknown.what();  // `rejected`: another version of the program may lack it
    }
    reporter_.say(record_message("prepared", record, 0));
  }

  void hold(const NamedPoint& point) {
    prepared_.clear();
    const auto [candidate, record] =
        held_.hold(*backend_, assignment(point), plan_, reporter_, staged_);
    reporter_.say(record_message("held", record, candidate));
  }

  /// The requested candidate, ready for samples.
  Prepared& meant(const std::optional<NamedCandidate>& held) {
    return held ? held_.at(*held) : prepared_;
  }

  /// Runs an action on that candidate and sends the result.
  void use(Prepared& prepared, const std::function<Json()>& action) {
    try {
      reporter_.say(action());
    } catch (const DeviceLost& error) {
      reporter_.lost(prepared.failed(Status::crashed, error.what()), 0);
    } catch (const RunError& error) {
      reporter_.say(record_message("failed", prepared.failed(Status::run_failed, error.what()), 0));
    }
  }

  void sample(const SampleRequest& request) {
    Prepared& prepared = meant(request.held);
    use(prepared, [&] {
      if (request.held) held_.make_ready(prepared, *backend_);
      return samples_message(prepared.sample(*backend_, request));
    });
  }

  void check(const CheckRequest& request) {
    Prepared& prepared = meant(request.held);
    if (!request.held) {
      reporter_.say(record_message("checked", prepared.check(), std::nullopt));
      return;
    }
    use(prepared, [&] {
      held_.make_ready(prepared, *backend_);
      return record_message("checked", prepared.check_anew(request.seconds), std::nullopt);
    });
  }

  Channel& channel_;
  const WorkerSetup& setup_;
  Reporter reporter_;
  std::unique_ptr<Backend> backend_;
  RunRules plan_;
  Staged staged_;
  Prepared prepared_;  // refers to staged_: goes first
  Held held_;          // the same
};

}  // namespace

int serve(int descriptor, const WorkerSetup& setup) {
  ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  processor_ticks_per_second();  // before there is any code of others in this process
  Channel channel(descriptor);
  return Server(channel, setup).run();
}

}  // namespace gla_bench
