#include "harness/backends/emulated/threads.hpp"

#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"

namespace gla_bench::emulated {
namespace {

constexpr std::size_t stack_bytes = std::size_t{256} << 10;
constexpr std::size_t lanes = 32, warpgroup = 128;
constexpr unsigned char poison = 0xff;

struct Copy {
  void* to;
  const void* from;
  int bytes, read;

  void run() const {
    std::memcpy(to, from, static_cast<std::size_t>(read));
    std::memset(static_cast<std::byte*>(to) + read, 0, static_cast<std::size_t>(bytes - read));
  }
};

/// What is put off, with a copy of its data.
struct Task {
  Work work;
  alignas(8) std::array<std::byte, most_work_bytes> data;

  Task(Work what, const void* from, std::size_t bytes) : work(what), data{} {
    if (bytes > data.size()) throw RunError("the emulator puts off too much data");
    std::memcpy(data.data(), from, bytes);
  }
  void run() const { work(data.data()); }
};

/// What a thread does later by groups, the last of which is still open.
template <class Item>
class Groups {
 public:
  Groups() : groups_(1) {}
  void add(Item item) { groups_.back().push_back(std::move(item)); }
  void commit() { groups_.emplace_back(); }
  /// Does all but the newest groups.
  void wait(int pending) {
    while (groups_.size() > static_cast<std::size_t>(pending) + 1) {
      for (const Item& item : groups_.front()) item.run();
      groups_.pop_front();
    }
  }
  void finish() {
    commit();
    wait(0);
  }

 private:
  std::deque<std::vector<Item>> groups_;
};

/// Memory for the stacks of a block, given back at the end of the grid.
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
  int named = 0;     // the number of the barrier that it waits at
  bool any = false;  // what that barrier answers
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

class Block {
 public:
  Block(const Grid& grid, Exchange& exchange, const std::function<void()>& kernel,
        const Stacks& stacks, std::mt19937_64& random)
      : grid_(grid),
        exchange_(exchange),
        kernel_(kernel),
        stacks_(stacks),
        random_(random),
        threads_(std::size_t{grid.threads.x} * grid.threads.y * grid.threads.z) {}

  void run(Index block);

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
  void later(Task task) { tasks_.push_back(std::move(task)); }
  Thread& current() { return threads_[current_]; }
  void fail(std::string reason) {
    error_ = std::move(reason);
    switch_back();
  }
  static Block* running;  // what the functions of the runtime act on

 private:
  static void start() {
    running->kernel_();
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
  bool do_a_task();
  std::vector<std::size_t> ready();
  std::string who_waits() const;

  const Grid& grid_;
  Exchange& exchange_;
  const std::function<void()>& kernel_;
  const Stacks& stacks_;
  std::mt19937_64& random_;
  std::vector<Thread> threads_;
  std::map<int, Named> named_;
  std::vector<Task> tasks_;
  ucontext_t scheduler_{};
  std::size_t current_ = 0;
  std::string error_;
};

Block* Block::running = nullptr;

/// Waits until all of these threads that still run, and that the mask names, are at the same
/// instruction; the last one acts for all.
void Block::meet(State state, std::size_t first, std::size_t count, void* mine, Act act,
                 const char* instruction) {
  Thread& last = current();
  last.state = state;
  last.mine = mine;
  last.act = act;
  last.instruction = instruction;
  std::vector<void*> all(count, nullptr);
  for (std::size_t i = 0; i < count && first + i < threads_.size(); ++i) {
    const Thread& other = threads_[first + i];
    if ((last.mask >> (i % lanes) & 1u) == 0 || other.state == State::ended) continue;
    if (other.state != state || other.act != act || other.mask != last.mask) {
      switch_back();
      return;
    }
    all[i] = other.mine;
  }
  act(all.data(), static_cast<int>(count));
  for (std::size_t i = 0; i < count; ++i)
    if (all[i] != nullptr) threads_[first + i].state = State::ready;
}

bool Block::meet_named(int number, int threads, bool waits, bool any, const char* instruction) {
  Named& barrier = named_[number];
  barrier.any = barrier.any || any;
  if (++barrier.arrived < threads) {
    if (!waits) return false;
    current().named = number;
    wait(State::at_named, instruction);
    return current().any;
  }
  for (Thread& thread : threads_)
    if (thread.state == State::at_named && thread.named == number) {
      thread.any = barrier.any;
      thread.state = State::ready;
    }
  return std::exchange(barrier, {}).any;
}

/// Does one of the tasks that were put off. Returns false where there is none.
bool Block::do_a_task() {
  if (tasks_.empty()) return false;
  const std::size_t i = grid_.order == 0   ? 0
                        : grid_.order == 1 ? tasks_.size() - 1
                                           : random_() % tasks_.size();
  const Task task = tasks_[i];
  tasks_.erase(tasks_.begin() + static_cast<std::ptrdiff_t>(i));
  task.run();
  return true;
}

void Block::resume(std::size_t i) {
  current_ = i;
  exchange_.place = &threads_[i].place;
  swapcontext(&scheduler_, &threads_[i].context);
}

std::vector<std::size_t> Block::ready() {
  std::vector<std::size_t> list;
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    Thread& thread = threads_[i];
    if (thread.state == State::until_over && thread.is_over(thread.data))
      thread.state = State::ready;
    if (thread.state == State::ready) list.push_back(i);
  }
  if (grid_.order == 1) std::reverse(list.begin(), list.end());
  if (grid_.order > 1) std::shuffle(list.begin(), list.end(), random_);
  return list;
}

/// "thread 3 waits at __syncthreads, thread 64 at mma.sync": one for each place where some wait.
std::string Block::who_waits() const {
  std::string text;
  std::vector<std::string> told;
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    const Thread& thread = threads_[i];
    if (thread.state == State::ended) continue;
    if (std::find(told.begin(), told.end(), thread.instruction) != told.end()) continue;
    told.emplace_back(thread.instruction);
    text += (text.empty() ? "thread " : ", thread ") + std::to_string(i) + " waits at " +
            thread.instruction;
  }
  return text;
}

void Block::run(Index block) {
  running = this;
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    Thread& thread = threads_[i];
    thread = {};
    const auto n = static_cast<unsigned>(i);
    const Index& t = grid_.threads;
    thread.place = {{n % t.x, n / t.x % t.y, n / (t.x * t.y)}, block, t, grid_.blocks};
    getcontext(&thread.context);
    thread.context.uc_stack.ss_sp = stacks_.at(i);
    thread.context.uc_stack.ss_size = stack_bytes;
    thread.context.uc_link = nullptr;
    makecontext(&thread.context, &Block::start, 0);
  }
  named_.clear();
  do {
    for (std::vector<std::size_t> list = ready(); !list.empty(); list = ready())
      for (const std::size_t i : list) {
        resume(i);
        if (!error_.empty()) throw RunError(error_);
      }
  } while (do_a_task());
  if (!error_.empty()) throw RunError(error_);
  if (const std::string text = who_waits(); !text.empty())
    throw RunError("threads of a block wait for each other for ever: " + text);
}

const Runtime& runtime() {
  static const Runtime functions{
      [](unsigned mask, void* mine, Act act, const char* instruction) {
        Block::running->meet_lanes(mask, mine, act, instruction);
      },
      [](void* mine, Act act, const char* instruction) {
        Block::running->meet_block(mine, act, instruction);
      },
      [](void* mine, Act act, const char* instruction) {
        Block::running->meet_warpgroup(mine, act, instruction);
      },
      [](int number, int threads, bool waits, bool any, const char* instruction) {
        return Block::running->meet_named(number, threads, waits, any, instruction);
      },
      [](bool (*is_over)(void*), void* data, const char* instruction) {
        Block::running->wait_until(is_over, data, instruction);
      },
      [](Work work, const void* data, unsigned long bytes) {
        Block::running->later({work, data, bytes});
      },
      [](Work work, const void* data, unsigned long bytes) {
        Block::running->current().out.add({work, data, bytes});
      },
      [] { Block::running->current().out.commit(); },
      [](int pending) { Block::running->current().out.wait(pending); },
      [](void* to, const void* from, int bytes, int read) {
        Block::running->current().copies.add({to, from, bytes, read});
      },
      [] { Block::running->current().copies.commit(); },
      [](int pending) { Block::running->current().copies.wait(pending); },
      [](const char* reason) { Block::running->fail(reason); }};
  return functions;
}

bool is_poison(const unsigned char* begin, const unsigned char* end) {
  return std::all_of(begin, end, [](unsigned char byte) { return byte == poison; });
}

}  // namespace

void run_grid(const Grid& grid, Exchange& exchange, const std::function<void()>& kernel) {
  exchange.runtime = &runtime();
  const Stacks stacks(std::size_t{grid.threads.x} * grid.threads.y * grid.threads.z);
  std::mt19937_64 random(grid.order);
  Block block(grid, exchange, kernel, stacks, random);
  unsigned char* const shared = exchange.shared;
  unsigned char* const end = shared + grid.shared_bytes;
  for (unsigned z = 0; z < grid.blocks.z; ++z)
    for (unsigned y = 0; y < grid.blocks.y; ++y)
      for (unsigned x = 0; x < grid.blocks.x; ++x) {
        std::memset(shared - shared_guard_bytes, poison,
                    grid.shared_bytes + 2 * std::size_t{shared_guard_bytes});
        block.run({x, y, z});
        if (!is_poison(shared - shared_guard_bytes, shared) ||
            !is_poison(end, end + shared_guard_bytes))
          throw RunError("a block wrote outside of its shared memory");
      }
}

}  // namespace gla_bench::emulated
