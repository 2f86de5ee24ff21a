#pragma once
// What emulated threads put off: asynchronous copies, and work that is done later.

#include <array>
#include <cstddef>
#include <cstring>
#include <deque>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "harness/backends/emulated/device/interface.hpp"

namespace gla_bench::emulated {

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

}  // namespace gla_bench::emulated
