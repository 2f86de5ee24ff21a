#include "harness/backends/emulated/threads.hpp"

#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "core/error.hpp"

namespace gla_bench::emulated {
namespace {

constexpr std::size_t stack_bytes = std::size_t{256} << 10;
constexpr int lanes = 32;
constexpr unsigned char poison = 0xff;

struct Copy {
  void* to;
  const void* from;
  int bytes, read;
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

enum class State { ready, at_lanes, at_block, ended };

struct Thread {
  ucontext_t context;
  Place place;
  State state = State::ready;
  unsigned mask = 0;  // of the lanes that it waits for
  void* mine = nullptr;
  Act act = nullptr;
  const char* instruction = "";
  std::deque<std::vector<Copy>> copies;  // the groups under way; the last one is still open
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
    wait(State::at_lanes, mask, mine, act, instruction);
  }
  void meet_block(void* mine, Act act, const char* instruction) {
    wait(State::at_block, 0, mine, act, instruction);
  }
  Thread& current() { return threads_[current_]; }
  void fail(std::string reason) {
    error_ = std::move(reason);
    switch_back();
  }
  static void finish(std::vector<Copy>& group) {
    for (const Copy& copy : group) {
      std::memcpy(copy.to, copy.from, static_cast<std::size_t>(copy.read));
      std::memset(static_cast<std::byte*>(copy.to) + copy.read, 0,
                  static_cast<std::size_t>(copy.bytes - copy.read));
    }
    group.clear();
  }

  static Block* running;  // what the functions of the runtime act on

 private:
  static void start() {
    running->kernel_();
    Thread& thread = running->current();
    // No thread waits for these any more: like those of the hardware, they happen all the same.
    for (auto& group : thread.copies) finish(group);
    thread.state = State::ended;
    running->switch_back();
  }

  void switch_back() { swapcontext(&current().context, &scheduler_); }

  void wait(State state, unsigned mask, void* mine, Act act, const char* instruction) {
    Thread& thread = current();
    thread.state = state;
    thread.mask = mask;
    thread.mine = mine;
    thread.act = act;
    thread.instruction = instruction;
    const bool all = state == State::at_lanes ? lanes_met(current_) : block_met();
    if (!all) switch_back();
  }

  bool lanes_met(std::size_t one);
  bool block_met();
  void resume(std::size_t i);
  std::vector<std::size_t> ready();
  std::string who_waits() const;

  const Grid& grid_;
  Exchange& exchange_;
  const std::function<void()>& kernel_;
  const Stacks& stacks_;
  std::mt19937_64& random_;
  std::vector<Thread> threads_;
  ucontext_t scheduler_{};
  std::size_t current_ = 0;
  std::string error_;
};

Block* Block::running = nullptr;

/// Whether all lanes that this one waits for have arrived; then they have met.
bool Block::lanes_met(std::size_t one) {
  const Thread& last = threads_[one];
  const std::size_t first = one / lanes * lanes;
  void* all[lanes] = {};
  for (std::size_t l = 0; l < lanes; ++l) {
    if ((last.mask >> l & 1u) == 0 || first + l >= threads_.size()) continue;
    const Thread& other = threads_[first + l];
    if (other.state == State::ended) continue;
    if (other.state != State::at_lanes || other.act != last.act || other.mask != last.mask)
      return false;
    all[l] = other.mine;
  }
  last.act(all, lanes);
  for (std::size_t l = 0; l < lanes; ++l)
    if (all[l] != nullptr) threads_[first + l].state = State::ready;
  return true;
}

bool Block::block_met() {
  std::vector<void*> all(threads_.size(), nullptr);
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    if (threads_[i].state == State::ended) continue;
    if (threads_[i].state != State::at_block || threads_[i].act != current().act) return false;
    all[i] = threads_[i].mine;
  }
  current().act(all.data(), static_cast<int>(all.size()));
  for (Thread& thread : threads_)
    if (thread.state == State::at_block) thread.state = State::ready;
  return true;
}

void Block::resume(std::size_t i) {
  current_ = i;
  exchange_.place = &threads_[i].place;
  swapcontext(&scheduler_, &threads_[i].context);
}

std::vector<std::size_t> Block::ready() {
  std::vector<std::size_t> list;
  for (std::size_t i = 0; i < threads_.size(); ++i)
    if (threads_[i].state == State::ready) list.push_back(i);
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
    thread.copies.emplace_back();
    getcontext(&thread.context);
    thread.context.uc_stack.ss_sp = stacks_.at(i);
    thread.context.uc_stack.ss_size = stack_bytes;
    thread.context.uc_link = nullptr;
    makecontext(&thread.context, &Block::start, 0);
  }
  for (std::vector<std::size_t> list = ready(); !list.empty(); list = ready())
    for (const std::size_t i : list) {
      resume(i);
      if (!error_.empty()) throw RunError(error_);
    }
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
      [](void* to, const void* from, int bytes, int read) {
        Block::running->current().copies.back().push_back({to, from, bytes, read});
      },
      [] { Block::running->current().copies.emplace_back(); },
      [](int pending) {
        auto& groups = Block::running->current().copies;
        while (groups.size() > static_cast<std::size_t>(pending) + 1) {
          Block::finish(groups.front());
          groups.pop_front();
        }
      },
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
