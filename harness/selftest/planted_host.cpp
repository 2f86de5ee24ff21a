// The recurrence of gla in float32, column by column of a head's state, with one fault.

#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <string_view>
#include <thread>
#include <vector>

#include "harness/selftest/planted.hpp"
#include "harness/selftest/planted_variant.hpp"
#include "kernels/linear_recurrence/params.h"

namespace gla_bench::planted {
namespace {

using Params = LinearRecurrenceParams;
using std::chrono::steady_clock;

// What a variant keeps from call to call.
struct Answer {
  std::vector<float> outputs, states;
};
struct Memory {
  int calls = 0, poisoned_calls = 0;
  float leftover = 0;
  Answer first;
  std::map<std::uint64_t, Answer> by_content;
};

struct Call {
  const Params& p;
  Fault fault;
  long long chunk;
  Memory& memory;

  long long pairs() const { return p.batch * p.heads; }
  long long columns() const { return pairs() * p.value_dim; }
  long long whole() const { return p.seq / chunk * chunk; }
  float* o() const { return static_cast<float*>(p.o); }

  bool in_bfloat16() const { return fault == rounds || fault == truncates; }
  float load(const void* tensor, long long at) const {
    if (!in_bfloat16()) return static_cast<const float*>(tensor)[at];
    const std::uint32_t bits = static_cast<const std::uint16_t*>(tensor)[at];
    return std::bit_cast<float>(bits << 16);
  }
  void store_output(long long at, float value) const {
    if (!in_bfloat16()) {
      o()[at] = value;
      return;
    }
    const float kept = fault == truncates ? value : round_to(DType::bfloat16, value);
    static_cast<std::uint16_t*>(p.o)[at] =
        static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(kept) >> 16);
  }
};

long long row(const TokenStrides& strides, long long b, long long t, long long h) {
  return b * strides.batch + t * strides.seq + h * strides.heads;
}

class Column {
 public:
  Column(const Call& call, long long pair, long long j, bool late = false)
      : call_(call), p_(call.p), pair_(pair), j_(j), late_(late) {}

  void compute() {
    const long long end = call_.fault == last_chunk_missing ? call_.whole() : p_.seq;
    for (long long t = 0; t < end; ++t) {
      if (call_.fault == wrong_final_state && t + 1 == p_.seq) store_state();
      const float o = step(t);
      if (call_.fault == unwritten_output && pair_ == 1) continue;
      const bool adds = call_.fault == accumulates && !std::isnan(*output(t));
      call_.store_output(output_at(t), adds ? *output(t) + o : planted(t, o));
    }
    if (call_.fault != wrong_final_state) store_state();
    static_cast<float*>(p_.work[0])[pair_ * p_.value_dim + j_] = state_[0];
  }

  long long output_at(long long t) const {
    return row(p_.value_strides, pair_ / p_.heads, t, pair_ % p_.heads) + j_;
  }
  float* output(long long t) const { return call_.o() + output_at(t); }

  float step(long long t) {
    const Fault fault = call_.fault;
    const long long b = fault == wrong_batch ? 0 : pair_ / p_.heads;
    const long long h = fault == wrong_head ? 0 : pair_ % p_.heads;
    const long long key = row(p_.key_strides, b, t, h), gate = row(p_.gate_strides, b, t, h);
    const float v = call_.load(p_.v, row(p_.value_strides, b, t, h) + j_);
    const bool forgets = fault == off_by_one && (t + 1) % call_.chunk == 0;
    for (int i = 0; i < keys; ++i) {
      const float g = call_.load(p_.g, gate + i);
      const float decay = std::exp(fault == flipped_gate_sign ? -g : g);
      const float added = forgets ? 0.0f : call_.load(p_.k, key + i) * v;
      float& s = state_[static_cast<std::size_t>(i)];
      s = fault == inclusive_decay ? decay * (s + added) : decay * s + added;
      if (fault == bfloat16_accumulator) s = round_to(DType::bfloat16, s);
    }
    float sum = 0;
    for (int i = 0; i < keys; ++i) {
      const int at = late_ ? keys - 1 - i : i;
      sum += call_.load(p_.q, key + at) * state_[static_cast<std::size_t>(at)];
    }
    return (fault == ignored_scale ? 0.25f : p_.scale) * sum;
  }

 private:
  float planted(long long t, float o) const {
    const bool last = t + 1 == p_.seq && pair_ == 0 && j_ == 0;
    if (call_.fault == nan_output && last) return std::numeric_limits<float>::quiet_NaN();
    if (call_.fault == element_off && last) return o + element_offset;
    if (call_.fault == chunk_slightly_off && pair_ == 0 && t >= call_.whole())
      return o * chunk_factor;
    if (call_.fault == leftover_memory)
      return o * (1 + call_.memory.leftover * call_.memory.leftover);
    if (call_.fault == reads_behind)
      return o + 0.0f * static_cast<const float*>(p_.v)[p_.seq * call_.columns()];
    if (call_.fault == rare_race && last && call_.memory.poisoned_calls == racing_call)
      return o + 1;
    return o;
  }

  void store_state() const {
    const StateStrides& s = p_.state_strides;
    for (int i = 0; i < keys; ++i)
      p_.final_state[pair_ * s.sequence + i * s.key + j_ * s.value] =
          state_[static_cast<std::size_t>(i)];
  }

  const Call& call_;
  const Params& p_;
  long long pair_, j_;
  bool late_;  // adds the other way round
  std::array<float, keys> state_{};
};

// Two writers of the first tokens of a head, whose sums differ in the last bits. Which of them
// comes last at a token is drawn in each call. Two threads would leave that to the scheduler, which
// on a busy machine may order them alike in both calls, so that there is no fault to see.
void run_race(const Call& call) {
  constexpr long long tokens = 24;
  std::mt19937 random{std::random_device{}()};
  std::array<std::vector<Column>, 2> writers;
  for (const bool late : {false, true})
    for (long long j = 0; j < call.p.value_dim; ++j) writers[late].emplace_back(call, 0, j, late);
  for (long long t = 0; t < tokens; ++t) {
    const bool last = random() % 2 == 1;
    for (const bool writer : {!last, last})
      for (Column& column : writers[writer]) {
        const float o = column.step(t);
        *column.output(t) = o;
      }
  }
}

void answer_with(const Call& call, const Answer& answer) {
  std::copy(answer.outputs.begin(), answer.outputs.end(), call.o());
  std::copy(answer.states.begin(), answer.states.end(), call.p.final_state);
}

Answer answer_of(const Call& call) {
  return {{call.o(), call.o() + call.p.seq * call.columns()},
          {call.p.final_state, call.p.final_state + keys * call.columns()}};
}

std::uint64_t content_of(const Call& call) {
  const auto count = static_cast<std::size_t>(call.p.seq * call.pairs());
  const auto bytes = [&](const void* tensor, long long columns) {
    return std::string_view(static_cast<const char*>(tensor),
                            count * static_cast<std::size_t>(columns) * sizeof(float));
  };
  const std::hash<std::string_view> hash;
  return hash(bytes(call.p.q, keys)) ^ 3 * hash(bytes(call.p.k, keys)) ^
         5 * hash(bytes(call.p.v, call.p.value_dim)) ^ 7 * hash(bytes(call.p.g, keys));
}

// Memory that no call wrote, large enough to come from the system each time.
float left_in_memory() {
  const std::unique_ptr<float[]> memory(new float[std::size_t{1} << 24]);
  asm volatile("" : : "r"(memory.get()) : "memory");  // might be written, for all that is known
  return memory[12345];
}

void damage(const Call& call) {
  auto* scratch = static_cast<float*>(call.p.work[0]);
  if (call.fault == write_behind_output) call.o()[call.p.seq * call.columns() + 3] = 1;
  if (call.fault == write_before_output) call.p.final_state[-1] = 1;
  if (call.fault == write_behind_workspace) scratch[call.columns()] = 1;
  if (call.fault == write_before_workspace) scratch[-2] = 1;
  if (call.fault == changed_input)
    const_cast<float*>(static_cast<const float*>(call.p.v))[call.p.seq * call.columns() - 1] += 1;
}

// Keeps the processor busy for three milliseconds, as real work would.
void be_busy() {
  const auto start = steady_clock::now();
  while (steady_clock::now() - start < std::chrono::milliseconds(3)) {
  }
}

void write_to_nowhere() {
  volatile std::uintptr_t nowhere = 16;  // the compiler knows better than to let this through
  *reinterpret_cast<volatile int*>(nowhere) = 1;
}

// Allocates slowly, so that a watcher can end it long before the machine is short of memory.
void hoard() {
  std::vector<std::vector<char>> hoard;
  while (true) {
    hoard.emplace_back(std::size_t{16} << 20, 'x');
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

void compute(const Call& call) {
  for (long long pair = 0; pair < call.pairs(); ++pair)
    for (long long j = 0; j < call.p.value_dim; ++j) Column(call, pair, j).compute();
}

void run(const Call& call) {
  Memory& memory = call.memory;
  const int number = ++memory.calls;
  if (std::isnan(*call.o())) ++memory.poisoned_calls;
  if (call.fault == crash) write_to_nowhere();
  if (call.fault == hoarding) hoard();
  while (call.fault == hang) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  if (call.fault == slow || call.fault == cheating_timer || call.fault == side_stream) be_busy();
  if (call.fault == stale_output && number > 1) return;
  if (call.fault == stale_when_timed && number > honest_calls) return;
  if ((call.fault == cached_answer && number > 1) ||
      (call.fault == cached_when_timed && number > honest_calls))
    return answer_with(call, memory.first);
  if (call.fault == answer_by_content) {
    const auto [answer, unseen] = memory.by_content.try_emplace(content_of(call));
    if (!unseen) return answer_with(call, answer->second);
    be_busy();
    compute(call);
    answer->second = answer_of(call);
    return;
  }
  if (call.fault == leftover_memory) memory.leftover = left_in_memory();
  compute(call);
  if (call.fault == race) run_race(call);
  if (number == 1 && !call.in_bfloat16()) memory.first = answer_of(call);
  if (call.fault == cached_state)
    std::copy(memory.first.states.begin(), memory.first.states.end(), call.p.final_state);
  damage(call);
}

}  // namespace

Variant host_variant(Fault fault, std::string_view name) {
  Variant variant = common_variant(fault, name);
  variant.backend = BackendId::host;
  variant.sources = {"harness/selftest/planted_faults.h"};
  // This state lives as long as a plan, as a loaded module's memory does on the GPU.
  const auto memory = std::make_shared<Memory>();
  variant.bind = [bind = variant.bind, memory](const Problem& problem, const Tile& tile,
                                               const Address& address) {
    *memory = {};
    return bind(problem, tile, address);
  };
  variant.code = [fault, memory](const HostCall& host_call) {
    Params params;
    std::memcpy(&params, host_call.params.data(), sizeof params);
    run({params, fault, host_call.tile.at("chunk"), *memory});
  };
  return variant;
}

}  // namespace gla_bench::planted
