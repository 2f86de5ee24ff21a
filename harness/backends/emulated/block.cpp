#include "harness/backends/emulated/block.hpp"

#include <cstring>
#include <utility>

#include "core/error.hpp"

namespace gla_bench::emulated {
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

void Block::resume(std::size_t i) {
  current_ = i;
  cluster_.exchange.place = &threads_[i].place;
  in_thread_ = true;
  swapcontext(&scheduler_, &threads_[i].context);
  in_thread_ = false;
}

std::vector<std::size_t> Block::ready() {
  std::vector<std::size_t> list;
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    Thread& thread = threads_[i];
    if (thread.state == State::until_over && thread.is_over(thread.data))
      thread.state = State::ready;
    if (thread.state == State::ready) list.push_back(i);
  }
  cluster_.put_in_order(list);
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

void Block::begin(Index block) {
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    Thread& thread = threads_[i];
    thread = {};
    const auto n = static_cast<unsigned>(i);
    const Index& t = grid_.threads;
    thread.place = {{n % t.x, n / t.x % t.y, n / (t.x * t.y)}, block, t, grid_.blocks};
    getcontext(&thread.context);
    thread.context.uc_stack.ss_sp = stacks_.at(first_stack_ + i);
    thread.context.uc_stack.ss_size = stack_bytes;
    thread.context.uc_link = nullptr;
    makecontext(&thread.context, &Block::start, 0);
  }
  named_.clear();
  std::memset(shared_ - shared_begin, poison,
              shared_begin + grid_.shared_bytes + std::size_t{shared_guard_bytes});
}

bool Block::go_on() {
  enter();
  bool ran = false;
  for (std::vector<std::size_t> list = ready(); !list.empty(); list = ready())
    for (const std::size_t i : list) {
      resume(i);
      ran = true;
      if (!error_.empty()) throw RunError(error_);
    }
  return ran;
}

void Block::check_guards() const {
  const auto is_whole = [](const unsigned char* begin) {
    return std::all_of(begin, begin + shared_guard_bytes,
                       [](unsigned char byte) { return byte == poison; });
  };
  if (!is_whole(shared_ - shared_guard_bytes) || !is_whole(shared_ + grid_.shared_bytes))
    throw RunError("a block wrote outside of its shared memory");
}

/// Right kernels leave the same whatever the order.
template <class Item>
void Cluster::put_in_order(std::vector<Item>& list) {
  if (grid.order == 1) std::reverse(list.begin(), list.end());
  if (grid.order > 1) std::shuffle(list.begin(), list.end(), random);
}

/// Does one of the tasks that were put off. Returns false where there is none.
bool Cluster::do_a_task() {
  if (pending.empty()) return false;
  const std::size_t i = grid.order == 0   ? 0
                        : grid.order == 1 ? pending.size() - 1
                                          : random() % pending.size();
  const Pending next = pending[i];
  pending.erase(pending.begin() + static_cast<std::ptrdiff_t>(i));
  next.block->enter();
  next.task.run();
  return true;
}

void Cluster::run(Index first) {
  for (unsigned i = 0; i < blocks.size(); ++i) blocks[i]->begin({first.x + i, first.y, first.z});
  do {
    for (bool ran = true; ran;) {
      ran = false;
      std::vector<Block*> order;
      for (const auto& block : blocks) order.push_back(block.get());
      put_in_order(order);
      for (Block* const block : order) ran = block->go_on() || ran;
    }
  } while (do_a_task());
  std::string waits;
  for (const auto& block : blocks) waits += (waits.empty() ? "" : "; ") + block->who_waits();
  if (waits.find_first_not_of("; ") != std::string::npos)
    throw RunError("threads of a block wait for each other for ever: " + waits);
  for (const auto& block : blocks) block->check_guards();
}

}  // namespace gla_bench::emulated
