#pragma once
// Blocks of emulated threads, and clusters of blocks. Each thread is a context of its own.

#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "harness/backends/emulated/later.hpp"
#include "harness/backends/emulated/threads.hpp"

namespace gla_bench::emulated {

inline constexpr std::size_t stack_bytes = std::size_t{256} << 10;
inline constexpr std::size_t lanes = 32, warpgroup = 128;
inline constexpr unsigned char poison = 0xff;  // what shared memory begins with

/// Memory for the stacks of a cluster, given back at the end of the grid.
class Stacks {
 public:
  explicit Stacks(std::size_t count) : bytes_(count * stack_bytes) {
    memory_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory_ == MAP_FAILED) throw RunError("no memory for the stacks of an emulated block");
  }
  ~Stacks() { munmap(memory_, bytes_); }
  Stacks(const Stacks&) = delete;
  Stacks& operator=(const Stacks&) = delete;

  void* at(std::size_t i) const { return static_cast<std::byte*>(memory_) + i * stack_bytes; }

 private:
  std::size_t bytes_;
  void* memory_;
};

enum class State { ready, at_lanes, at_warpgroup, at_block, at_named, until_over, ended };

struct Thread {
  ucontext_t context;
  Place place;
  State state = State::ready;
  unsigned mask = 0;  // of the lanes that it waits for
  void* mine = nullptr;
  Act act = nullptr;
  const char* instruction = "";
  int named = 0;               // the number of the barrier that it waits at
  bool any = false;            // what that barrier answers
  unsigned cluster_phase = 0;  // of the cluster's barrier, when it arrived there
  bool (*is_over)(void*) = nullptr;
  void* data = nullptr;
  Groups<Copy> copies;
  Groups<Task> out;
};

/// Who has arrived at a barrier by its number.
struct Named {
  int arrived = 0;
  bool any = false;
};

class Block;

/// A bulk copy, or what else happens when no thread of a cluster can go on without it.
struct Pending {
  Block* block;  // in whose shared memory addresses are
  Task task;
};

/// What the blocks of a cluster have in common.
struct Cluster {
  const Grid& grid;
  Exchange& exchange;
  const std::function<void()>& kernel;
  std::mt19937_64 random{grid.order};
  std::vector<std::unique_ptr<Block>> blocks = {};
  std::vector<Pending> pending = {};
  std::size_t arrived = 0;  // threads at its barrier
  unsigned phase = 0;       // how often all have arrived there

  void run(Index first);
  template <class Item>
  void put_in_order(std::vector<Item>& list);
  bool do_a_task();
};

class Block {
 public:
  Block(Cluster& cluster, unsigned char* shared, const Stacks& stacks, std::size_t first_stack)
      : cluster_(cluster),
        grid_(cluster.grid),
        shared_(shared),
        stacks_(stacks),
        first_stack_(first_stack),
        threads_(threads_of(cluster.grid)) {}

  static std::size_t threads_of(const Grid& grid) {
    return std::size_t{grid.threads.x} * grid.threads.y * grid.threads.z;
  }

  void begin(Index block);
  /// Runs threads until all of them wait. @return whether any ran
  bool go_on();
  /// Its shared memory is the one that kernels see.
  void enter() {
    running = this;
    cluster_.exchange.shared = shared_;
  }
  void check_guards() const;
  std::string who_waits() const;
  bool has_ended() const {
    return std::all_of(threads_.begin(), threads_.end(),
                       [](const Thread& thread) { return thread.state == State::ended; });
  }

  void meet_lanes(unsigned mask, void* mine, Act act, const char* instruction) {
    current().mask = mask;
    meet(State::at_lanes, current_ / lanes * lanes, lanes, mine, act, instruction);
  }
  void meet_warpgroup(void* mine, Act act, const char* instruction) {
    current().mask = ~0u;
    meet(State::at_warpgroup, current_ / warpgroup * warpgroup, warpgroup, mine, act, instruction);
  }
  void meet_block(void* mine, Act act, const char* instruction) {
    current().mask = ~0u;
    meet(State::at_block, 0, threads_.size(), mine, act, instruction);
  }
  bool meet_named(int number, int threads, bool waits, bool any, const char* instruction);
  void wait_until(bool (*is_over)(void*), void* data, const char* instruction) {
    if (is_over(data)) return;
    Thread& thread = current();
    thread.is_over = is_over;
    thread.data = data;
    wait(State::until_over, instruction);
  }
  void later(Task task) { cluster_.pending.push_back({this, std::move(task)}); }
  void arrive_cluster() {
    current().cluster_phase = cluster_.phase;
    if (++cluster_.arrived < cluster_.blocks.size() * threads_.size()) return;
    cluster_.arrived = 0;
    ++cluster_.phase;
  }
  void wait_cluster(const char* instruction) {
    wait_until(
        [](void* thread) {
          return static_cast<Thread*>(thread)->cluster_phase != running->cluster_.phase;
        },
        &current(), instruction);
  }
  unsigned char* shared_of(unsigned rank) {
    if (rank < cluster_.blocks.size() && !cluster_.blocks[rank]->has_ended())
      return cluster_.blocks[rank]->shared_;
    fail("block " + std::to_string(rank) +
         " of the cluster is reached, which has ended or is not there");
    return shared_;
  }
  Thread& current() { return threads_[current_]; }
  /// Ends the thread that runs, or the work that is done for it later.
  void fail(std::string reason) {
    error_ = std::move(reason);
    if (!in_thread_) throw RunError(error_);
    switch_back();
  }
  static Block* running;  // what the functions of the runtime act on

 private:
  static void start() {
    running->cluster_.kernel();
    Thread& thread = running->current();
    // Nobody waits for these any more: like those of the hardware, they happen all the same.
    thread.copies.finish();
    thread.out.finish();
    thread.state = State::ended;
    running->switch_back();
  }

  void switch_back() { swapcontext(&current().context, &scheduler_); }

  void wait(State state, const char* instruction) {
    current().state = state;
    current().instruction = instruction;
    switch_back();
  }
  void meet(State state, std::size_t first, std::size_t count, void* mine, Act act,
            const char* instruction);
  void resume(std::size_t i);
  std::vector<std::size_t> ready();

  Cluster& cluster_;
  const Grid& grid_;
  unsigned char* const shared_;
  const Stacks& stacks_;
  const std::size_t first_stack_;
  std::vector<Thread> threads_;
  std::map<int, Named> named_;
  ucontext_t scheduler_{};
  std::size_t current_ = 0;
  bool in_thread_ = false;
  std::string error_;
};

}  // namespace gla_bench::emulated
