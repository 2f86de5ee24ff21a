#include "harness/engine/bench.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string_view>

#include "core/error.hpp"
#include "core/extents.hpp"
#include "harness/measure/measure.hpp"
#include "harness/support/output_file.hpp"
#include "harness/tensors/tensor_file.hpp"

namespace gla_bench {
namespace {

// What is wrong with a verified candidate, in one line.
std::string complaint(const Verification& verification) {
  if (!verification.fault.empty()) return std::string("wrong: ").append(verification.fault);
  for (const auto& [tensor, verdict] : verification.tensors) {
    if (verdict.ok) continue;
    char text[160];
    std::snprintf(text, sizeof text, ": rel_l2 %.3g (bound %.3g), max_abs %.3g (bound %.3g)",
                  verdict.rel_l2, verdict.bound, verdict.max_abs, verdict.max_abs_bound);
    return std::string("wrong: ").append(tensor).append(text);
  }
  return "wrong";
}

double largest_error(const Verification& verification) {
  double largest = 0;
  for (const auto& [tensor, verdict] : verification.tensors)
    largest = std::max(largest, verdict.rel_l2);
  return largest;
}

// Keeps the present candidate staged, built and verified between the library's calls, which come
// once per trial length and repetition. Only one problem and one plan are alive at a time.
class Session {
 public:
  Session(Backend& backend, std::span<const Candidate> candidates, const BenchOptions& options)
      : backend_(backend), candidates_(candidates), options_(options) {}

  void run(benchmark::State& state, std::size_t index, CacheState cache) {
    const Candidate& candidate = candidates_[index];
    std::string fault = enter(index);
    if (fault.empty())
      fault = time(state, cache);
    else
      state.SkipWithError(fault.c_str());
    if (!fault.empty()) {
      failures_[benchmark_name(candidate, cache)] = fault;
      return;
    }
    count(state, candidate);
  }

  const std::map<std::string, std::string>& failures() const { return failures_; }

 private:
  // Makes a candidate the present one. Returns why it cannot be timed, or nothing.
  std::string enter(std::size_t index) {
    if (!lost_.empty()) return lost_;
    if (current_ == index) return fault_;
    current_ = index;
    fault_ = guarded([&] {
      plan_.reset();
      stage(candidates_[index]);
      plan_ = backend_.build(candidates_[index]);
      plan_->prepare(*workset_);
      const Candidate& candidate = candidates_[index];
      verification_ =
          verify_candidate(*workset_, *plan_, *truth_,
                           candidate.variant->arithmetic(candidate.problem, candidate.tile),
                           options_.tolerance, {.reproducible = candidate.variant->reproducible});
      return verification_.ok ? std::string() : complaint(verification_);
    });
    return fault_;
  }

  void stage(const Candidate& candidate) {
    if (truth_ && truth_->problem() == candidate.problem) return;
    workset_.reset();
    truth_.reset();
    const Operator* op = find_operator(candidate.problem.op);
    if (op == nullptr) throw InputError("unknown operator '" + candidate.problem.op + "'");
    truth_ = std::make_unique<ProblemTruth>(
        *op, candidate.problem, inputs_of(*op, candidate.problem), &backend_, options_.reference);
    workset_ = backend_.stage(*op, candidate.problem, truth_->inputs());
  }

  std::string time(benchmark::State& state, CacheState cache) {
    int calls = 1;
    std::string fault = guarded([&] {
      poison_before_timing(*workset_, *plan_);
      if (cache == CacheState::hot) calls = hot_calls(plan_->sample(CacheState::cold, 1));
      return std::string();
    });
    for (auto _ : state) {
      // The library aborts when a loop ends early for any reason but SkipWithError.
      if (fault.empty())
        fault = guarded([&] {
          state.SetIterationTime(plan_->sample(cache, calls));
          return std::string();
        });
      if (fault.empty()) continue;
      state.SkipWithError(fault.c_str());
      return fault;
    }
    fault = guarded([&] {
      verify_last_timed(*workset_, *plan_, *truth_, options_.tolerance, verification_);
      return verification_.ok ? std::string() : complaint(verification_);
    });
    if (!fault.empty()) state.SkipWithError(fault.c_str());
    return fault;
  }

  void count(benchmark::State& state, const Candidate& candidate) const {
    using benchmark::Counter;
    const Traffic traffic = candidate.variant->traffic(candidate.problem, candidate.tile);
    const double floor = truth_->op().work(candidate.problem).floor_bytes;
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(floor));
    state.counters["model_read_bytes"] = traffic.read_bytes;
    state.counters["model_write_bytes"] = traffic.write_bytes;
    state.counters["flops"] = Counter(candidate.variant->flops(candidate.problem, candidate.tile),
                                      Counter::kIsIterationInvariantRate);
    state.counters["rel_l2"] = largest_error(verification_);
  }

  // Exceptions must not pass through the library. A lost device fails everything that follows.
  template <class Work>
  std::string guarded(Work work) {
    try {
      return work();
    } catch (const DeviceLost& error) {
      lost_ = std::string("device lost: ") + error.what();
      return lost_;
    } catch (const std::exception& error) {
      return error.what();
    }
  }

  Backend& backend_;
  std::span<const Candidate> candidates_;
  const BenchOptions& options_;
  std::map<std::string, std::string> failures_;
  std::string lost_;
  std::optional<std::size_t> current_;
  std::string fault_;
  std::unique_ptr<ProblemTruth> truth_;
  std::unique_ptr<Workset> workset_;
  std::unique_ptr<Plan> plan_;
  Verification verification_;
};

// Otherwise the library would end the program by itself, with the status of a failed check.
void check_output_path(const std::string& argument) {
  constexpr std::string_view flag = "--benchmark_out=";
  if (argument.rfind(flag, 0) != 0) return;
  const std::string path = argument.substr(flag.size());
  make_folder_of(path);
  if (!std::ofstream(path, std::ios::app))
    throw OutputError(path + ": cannot be written: " + std::strerror(errno));
}

void initialize(const BenchOptions& options) {
  for (const std::string& argument : options.arguments) check_output_path(argument);
  static char program[] = "gla-bench";  // the library keeps the pointer
  std::vector<std::string> arguments = options.arguments;
  std::vector<char*> pointers{program};
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  int count = static_cast<int>(pointers.size());
  pointers.push_back(nullptr);
  benchmark::Initialize(&count, pointers.data());
  if (count > 1)
    throw InputError(std::string("'") + pointers[1] +
                     "' is no argument of Google Benchmark; see --help for those that it takes");
  for (const auto& [key, value] : options.context) benchmark::AddCustomContext(key, value);
}

void register_all(Session& session, std::span<const Candidate> candidates, bool hot) {
  for (std::size_t index = 0; index < candidates.size(); ++index)
    for (const CacheState cache : {CacheState::cold, CacheState::hot}) {
      if (cache == CacheState::hot && !hot) continue;
      benchmark::RegisterBenchmark(
          benchmark_name(candidates[index], cache).c_str(),
          [&session, index, cache](benchmark::State& state) { session.run(state, index, cache); })
          ->UseManualTime()
          ->Unit(benchmark::kMillisecond);
    }
}

}  // namespace

std::string benchmark_name(const Candidate& candidate, CacheState cache) {
  const Problem& problem = candidate.problem;
  std::string text = problem.op;
  text.append("/").append(name(problem.direction)).append("/").append(name(problem.dtype));
  text.append("/").append(candidate.variant->name).append(extents_text(problem.shape, "/", ":"));
  text.append("/gate:").append(problem.gate);
  for (const auto& [option, value] : problem.options)
    text.append("/").append(option).append(":").append(value);
  if (problem.layout != Layout::seq_first) text.append("/layout:").append(name(problem.layout));
  if (problem.initial_state) text += "/initial_state";
  if (!problem.final_state) text += "/no_final_state";
  if (problem.scale) {
    char scale[32];
    std::snprintf(scale, sizeof scale, "/scale:%.9g", *problem.scale);
    text += scale;
  }
  if (problem.seed != 1) text += "/seed:" + std::to_string(problem.seed);
  if (!problem.tensors.empty())
    text += "/file:" + std::filesystem::path(problem.tensors).filename().string();
  if (!candidate.tile.empty()) text.append("/").append(describe(candidate.tile));
  if (cache == CacheState::hot) text += "/hot";
  return text;
}

BenchOutcome bench(Backend& backend, std::span<const Candidate> candidates,
                   const BenchOptions& options) {
  if (!backend.can_run())
    throw InputError("nothing can be timed on " + std::string(name(backend.id())) +
                     " here: no device was found");
  initialize(options);
  benchmark::ClearRegisteredBenchmarks();
  Session session(backend, candidates, options);
  register_all(session, candidates, options.hot);
  BenchOutcome outcome;
  outcome.selected = options.display == nullptr
                         ? benchmark::RunSpecifiedBenchmarks()
                         : benchmark::RunSpecifiedBenchmarks(options.display);
  benchmark::ClearRegisteredBenchmarks();
  if (outcome.selected == 0)
    throw InputError("no benchmark matches the filter among " + std::to_string(candidates.size()) +
                     " candidates; --benchmark_list_tests lists them");
  outcome.failures = session.failures();
  return outcome;
}

}  // namespace gla_bench
