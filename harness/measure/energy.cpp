#include "harness/measure/energy.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <thread>
#include <vector>

#include "harness/support/elapsed.hpp"

namespace gla_bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double batch_seconds = 5e-3;
constexpr double most_batch_calls = 10000;
constexpr std::chrono::milliseconds between_readings{1};

/// Keeps the readings at which the meter had moved since the one before.
std::vector<MeterReading> steps_of(std::span<const MeterReading> readings) {
  std::vector<MeterReading> steps;
  for (std::size_t i = 1; i < readings.size(); ++i)
    if (readings[i].joules > readings[i - 1].joules) steps.push_back(readings[i]);
  return steps;
}

Energy no_energy(std::string reason) {
  Energy energy;
  energy.reason = std::move(reason);
  return energy;
}

/// Reads the meter in a thread of its own until it has seen enough or is destroyed.
class Reader {
 public:
  Reader(Backend& backend, double seconds)
      : backend_(backend), window_(seconds), start_(Clock::now()), thread_([this] { read(); }) {}
  ~Reader() { stop(); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  bool done() const { return done_; }

  const std::vector<MeterReading>& stop() {
    done_ = true;
    if (thread_.joinable()) thread_.join();
    return readings_;
  }

 private:
  void read() {
    double first_step = -1;
    while (!done_) {
      const std::optional<double> joules = backend_.energy_joules();
      const double now = seconds_since(start_);
      if (!joules) break;
      const bool step = !readings_.empty() && *joules > readings_.back().joules;
      readings_.push_back({now, *joules});
      if (step && first_step < 0) first_step = now;
      if ((step && now - first_step >= window_) || now >= 2 * window_) break;
      std::this_thread::sleep_for(between_readings);
    }
    done_ = true;
  }

  Backend& backend_;
  double window_;
  Clock::time_point start_;
  std::vector<MeterReading> readings_;
  std::atomic<bool> done_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace

int calls_per_batch(double seconds_per_call) {
  if (!(seconds_per_call > 0)) return 1;
  return static_cast<int>(std::clamp(batch_seconds / seconds_per_call, 1.0, most_batch_calls));
}

Energy energy_of(std::span<const MeterReading> readings, double seconds_per_call) {
  if (readings.empty()) return no_energy("there is no energy meter that can be read here");
  const std::vector<MeterReading> steps = steps_of(readings);
  if (steps.size() < 3)
    return no_energy("the energy meter moved " + std::to_string(steps.size()) + " times in " +
                     std::to_string(readings.back().seconds) + " s, too few for a figure");
  Energy energy;
  energy.window_seconds = steps.back().seconds - steps.front().seconds;
  energy.watts = (steps.back().joules - steps.front().joules) / energy.window_seconds;
  energy.joules_per_call = energy.watts * seconds_per_call;
  energy.calls = std::max<std::int64_t>(1, std::llround(energy.window_seconds / seconds_per_call));
  return energy;
}

Energy measure_energy(Plan& plan, Backend& backend, double seconds_per_call,
                      const EnergyPolicy& policy) {
  if (!backend.energy_joules()) return energy_of({}, seconds_per_call);
  const int batch = calls_per_batch(seconds_per_call);
  std::int64_t calls = 0;
  Reader reader(backend, policy.seconds);
  const auto start = Clock::now();
  do {
    plan.repeat(batch);
    calls += batch;
  } while (!reader.done());
  const double seconds = seconds_since(start);
  return energy_of(reader.stop(), seconds / static_cast<double>(calls));
}

}  // namespace gla_bench
