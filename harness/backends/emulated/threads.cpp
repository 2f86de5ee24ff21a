#include "harness/backends/emulated/threads.hpp"

#include <memory>
#include <string>

#include "core/error.hpp"
#include "harness/backends/emulated/block.hpp"

namespace gla_bench::emulated {
namespace {

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
      [] { Block::running->arrive_cluster(); },
      [](const char* instruction) { Block::running->wait_cluster(instruction); },
      [](unsigned rank) { return Block::running->shared_of(rank); },
      [](const char* reason) { Block::running->fail(reason); }};
  return functions;
}

/// Shared memory of the blocks of a cluster after the first one.
struct alignas(1024) Room {
  unsigned char bytes[shared_room_bytes];
};

}  // namespace

void run_grid(const Grid& grid, Exchange& exchange, const std::function<void()>& kernel) {
  if (grid.cluster == 0 || grid.blocks.x % grid.cluster != 0)
    throw RunError("a grid of " + std::to_string(grid.blocks.x) + " blocks has no clusters of " +
                   std::to_string(grid.cluster));
  exchange.runtime = &runtime();
  const std::size_t threads = Block::threads_of(grid);
  const Stacks stacks(grid.cluster * threads);
  const auto more = std::make_unique<Room[]>(grid.cluster - 1);
  unsigned char* const shared = exchange.shared;
  Cluster cluster{grid, exchange, kernel};
  for (unsigned i = 0; i < grid.cluster; ++i)
    cluster.blocks.push_back(std::make_unique<Block>(
        cluster, i == 0 ? shared : more[i - 1].bytes + shared_begin, stacks, i * threads));
  const struct Restored {
    Exchange& exchange;
    unsigned char* first;
    ~Restored() { exchange.shared = first; }
  } restored{exchange, shared};
  for (unsigned z = 0; z < grid.blocks.z; ++z)
    for (unsigned y = 0; y < grid.blocks.y; ++y)
      for (unsigned x = 0; x < grid.blocks.x; x += grid.cluster) cluster.run({x, y, z});
}

}  // namespace gla_bench::emulated
