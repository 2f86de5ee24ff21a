#include "tests/harness/workers/planted_catalog.hpp"

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <thread>
#include <vector>

#include "tests/support/planted_variant.hpp"

namespace gla_bench {
namespace {

using Act = std::function<void()>;

void hang_for_good(const std::string& state) {
  std::ofstream(state) << ::getpid() << std::endl;
  while (true) std::this_thread::sleep_for(std::chrono::hours(1));
}

/// Slowly enough for the parent to see it, and not without an end should the parent fail.
void eat_memory() {
  constexpr std::size_t piece = std::size_t{16} << 20;
  std::vector<std::vector<char>> pieces;
  for (int i = 0; i < 200; ++i) {
    pieces.emplace_back(piece, 'x');
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  std::abort();
}

void print_garbage() {
  for (int i = 0; i < 2000; ++i)
    std::cout << "{\"event\":\"done\"}\n\x01\xff not a line of the protocol\n";
  std::cout << std::flush;
}

void be_moody(const std::string& state) {
  if (std::filesystem::exists(state)) return;
  std::ofstream(state) << "once" << std::endl;
  std::raise(SIGSEGV);
}

Variant variant(const std::string& name, Act act) {
  Variant made = planted_variant(Fault::none, name);
  const auto right = std::get<std::function<void(const HostCall&)>>(made.code);
  made.code = [right, act = std::move(act)](const HostCall& call) {
    act();
    right(call);
  };
  return made;
}

std::vector<Variant> make_variants(const std::string& state) {
  const auto calls = std::make_shared<int>(0);
  std::vector<Variant> list;
  list.push_back(variant("good", [] {}));
  list.push_back(variant("segfault", [] { std::raise(SIGSEGV); }));
  list.push_back(variant("abort", [] { std::abort(); }));
  list.push_back(variant("exit", [] { std::_Exit(3); }));
  list.push_back(variant("hang", [state] { hang_for_good(state); }));
  list.push_back(variant("greedy", eat_memory));
  list.push_back(variant("garbage", print_garbage));
  list.push_back(variant("late", [calls] {
    if (++*calls == 6) std::raise(SIGSEGV);
  }));
  list.push_back(variant("moody", [state] { be_moody(state); }));
  list.push_back(variant("also_good", [] {}));
  list.push_back(
      variant("slow", [] { std::this_thread::sleep_for(std::chrono::milliseconds(10)); }));
  list.push_back(planted_variant(Fault::off_by_little, "wrong"));
  return list;
}

}  // namespace

Catalog planted_catalog(const std::string& state) {
  static const std::vector<Variant> list = make_variants(state);
  return {operators(), list};
}

}  // namespace gla_bench
