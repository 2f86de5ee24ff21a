#include "harness/workers/protocol.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/error.hpp"
#include "harness/workers/ahead.hpp"
#include "harness/workers/channel.hpp"
#include "harness/workers/process.hpp"
#include "tests/support/toy.hpp"

namespace gla_bench {
namespace {

/// What the other end reads of a message.
template <class Read>
auto through(const Json& message, Read read) {
  const Json document = parse_json(message.dump(), "message");
  return read(JsonNode(document, "message"));
}

TEST(Protocol, WhatAnotherVersionCallsItselfIsShownSafely) {
  Hello hello;
  hello.protocol = protocol_version + 1;
  hello.program_version = "9\b9\x1b[2J" + std::string(5000, 'x');
  hello.git_commit = "a\nb";
  try {
    through(hello_message(hello), read_hello);
    FAIL() << "another protocol was taken";
  } catch (const InputError& error) {
    const std::string text = error.what();
    EXPECT_EQ(text.find_first_of("\b\x1b\n"), std::string::npos) << text;
    EXPECT_NE(text.find("version 9?9?[2Jxxx"), std::string::npos) << text;
    EXPECT_LT(text.size(), 300u);
  }
}

TEST(Protocol, AHelloComesThroughWhole) {
  Hello hello;
  hello.program_version = "1.2";
  hello.git_commit = "abc";
  hello.backend = BackendId::cuda;
  hello.can_run = true;
  hello.devices = 8;
  hello.limits = {90, 232448, 150000000000, 132};
  hello.environment = {{"device", "H200"}, {"cores", 16.0}, {"git_dirty", true}};
  const Hello got = through(hello_message(hello), read_hello);
  EXPECT_EQ(got.program_version, "1.2");
  EXPECT_EQ(got.git_commit, "abc");
  EXPECT_EQ(got.backend, BackendId::cuda);
  EXPECT_TRUE(got.can_run);
  EXPECT_EQ(got.devices, 8);
  EXPECT_EQ(got.limits.memory_bytes, 150000000000u);
  EXPECT_EQ(got.limits.shared_per_block, 232448u);
  EXPECT_EQ(got.limits.multiprocessors, 132);
  EXPECT_EQ(got.environment, hello.environment);
}

TEST(Protocol, AnotherProtocolIsRefusedNamingBoth) {
  Hello hello;
  hello.protocol = protocol_version + 6;
  hello.program_version = "9.9";
  try {
    through(hello_message(hello), read_hello);
    FAIL();
  } catch (const InputError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("9.9"), std::string::npos) << text;
    EXPECT_NE(text.find("protocol 7, this program speaks 1"), std::string::npos) << text;
  }
}

TEST(Protocol, SettingsComeThroughWhole) {
  WorkSettings settings;
  settings.measure = false;
  settings.policy.timing.max_samples = 77;
  settings.policy.limits.build_seconds = 12;
  settings.policy.verification.reference = ReferencePlace::host;
  settings.copy_gb_per_s = 4280.125;
  const WorkSettings got = through(configure_message(settings), read_settings);
  EXPECT_FALSE(got.measure);
  EXPECT_EQ(got.policy.timing.max_samples, 77);
  EXPECT_EQ(got.policy.limits.build_seconds, 12);
  EXPECT_EQ(got.policy.verification.reference, ReferencePlace::host);
  EXPECT_EQ(got.copy_gb_per_s, 4280.125);
}

TEST(Protocol, PointsEventsAndSamplesComeThroughWhole) {
  const NamedPoint point{toy::problem(), {{"fast", {{"chunk", 32}}}, {"slow", {}}}};
  const NamedPoint got = through(point_message(point), read_point);
  EXPECT_EQ(got.problem, point.problem);
  ASSERT_EQ(got.candidates.size(), 2u);
  EXPECT_EQ(got.candidates[0].variant, "fast");
  EXPECT_EQ(got.candidates[0].tile, (Tile{{"chunk", 32}}));
  EXPECT_TRUE(got.candidates[1].tile.empty());
  EXPECT_EQ(through(ahead_message(std::vector{point, point}), read_ahead).size(), 2u);
  const StepEvent event = through(starting_message({RunStep::measure, 3}), read_starting);
  EXPECT_EQ(event.step, RunStep::measure);
  EXPECT_EQ(event.candidate, 3u);
  EXPECT_FALSE(through(starting_message({RunStep::reference, {}}), read_starting).candidate);
  const SampleRequest request = through(sample_message({CacheState::hot, 20, 5}), read_sample);
  EXPECT_EQ(request.cache, CacheState::hot);
  EXPECT_EQ(request.samples, 20);
  EXPECT_EQ(request.calls, 5);
  const Samples samples = through(samples_message({{1e-3, 1.25e-3}, 1980.0}), read_samples);
  EXPECT_EQ(samples.seconds, (std::vector{1e-3, 1.25e-3}));
  EXPECT_EQ(samples.clock_mhz, 1980.0);
  const auto ceilings = through(ceilings_message(Ceilings{4280, 790, "bf16", 2.5}), read_ceilings);
  ASSERT_TRUE(ceilings);
  EXPECT_EQ(ceilings->matrix, "bf16");
  EXPECT_EQ(ceilings->least_call_us, 2.5);
  EXPECT_FALSE(through(ceilings_message(std::nullopt), read_ceilings));
}

TEST(Protocol, WhatIsNoMessageIsRefused) {
  EXPECT_THROW(through(Json{{"x", 1}}, message_kind), InputError);
  EXPECT_THROW(through(Json{{"step", "dance"}, {"candidate", 0}}, read_starting), InputError);
  EXPECT_THROW(through(sample_message({CacheState::cold, 0, 1}), read_sample), InputError);
}

TEST(Channel, LinesComeWholeHoweverTheyAreCut) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
  Channel here(ends[0]);
  {
    Channel there(ends[1]);
    EXPECT_FALSE(here.receive(0));
    ASSERT_TRUE(there.send({{"event", "one"}}));
    ASSERT_TRUE(there.send({{"event", std::string(100, 'x')}}));
    ASSERT_EQ(::send(ends[1], "{\"half", 6, 0), 6);
    EXPECT_EQ(here.receive(5), R"({"event":"one"})");
    EXPECT_EQ(here.receive(5)->size(), 100u + 12u);
    EXPECT_FALSE(here.receive(0));
    EXPECT_FALSE(here.ended());
    ASSERT_EQ(::send(ends[1], "\"}\nrest", 7, 0), 7);
    EXPECT_EQ(here.receive(5), "{\"half\"}");
  }
  EXPECT_FALSE(here.receive(5)) << "what has no end of line is no message";
  EXPECT_TRUE(here.ended());
  EXPECT_FALSE(here.send({{"request", "go"}}));
}

TEST(WorkerProcess, NamesSignalsAndExitCodes) {
  EXPECT_TRUE(signal_text(11).starts_with("SIGSEGV")) << signal_text(11);
  EXPECT_TRUE(signal_text(9).starts_with("SIGKILL"));
  WorkerProcess process({"/bin/sh", {"-c", "echo first; echo last >&2; kill -ABRT $$"}});
  const Death death = process.bury(30);
  EXPECT_TRUE(death.cause.starts_with("SIGABRT")) << death.cause;
  EXPECT_EQ(death.last_words, "first\nlast\n");
  WorkerProcess leaver({"/bin/sh", {"-c", "exit 7"}});
  EXPECT_EQ(leaver.bury(30).cause, "exit code 7");
}

TEST(WorkerProcess, OneThatDoesNotEndIsKilled) {
  WorkerProcess process({"/bin/sh", {"-c", "sleep 1000"}});
  const Death death = process.bury(0.05);
  EXPECT_TRUE(death.buried);
  EXPECT_TRUE(death.cause.starts_with("SIGKILL")) << death.cause;
}

TEST(Channel, AMessageWithoutAnEndIsRefusedBeforeItFillsTheMemory) {
  std::array<int, 2> sockets{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()), 0);
  Channel channel(sockets[0]);
  std::thread talker([other = sockets[1]] {
    const std::string piece(std::size_t{1} << 20, 'x');
    while (::send(other, piece.data(), piece.size(), MSG_NOSIGNAL) > 0) {
    }
    ::close(other);
  });
  try {
    channel.receive(60);
    ADD_FAILURE() << "it was taken";
  } catch (const WorkerError& error) {
    EXPECT_STREQ(error.what(),
                 "the other end sent more than 67108864 bytes without ending a message");
  }
  EXPECT_TRUE(channel.ended());
  EXPECT_FALSE(channel.receive(0));
  ::shutdown(channel.descriptor(), SHUT_RDWR);
  talker.join();
}

TEST(Channel, AsMuchInSeveralMessagesIsFine) {
  std::array<int, 2> sockets{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()), 0);
  Channel channel(sockets[0]), other(sockets[1]);
  const Json message{{"text", std::string(std::size_t{9} << 20, 'x')}};
  std::thread talker([&] {
    for (int i = 0; i < 8; ++i) other.send(message);
  });
  for (int i = 0; i < 8; ++i) {
    const auto line = channel.receive(60);
    ASSERT_TRUE(line);
    EXPECT_GT(line->size(), std::size_t{9} << 20);
  }
  talker.join();
}

std::vector<Assignment> three_points() {
  static const std::vector<Variant> variants = toy::make_variants();
  std::vector<Assignment> work(3);
  for (std::size_t p = 0; p < 3; ++p) {
    work[p].problem = toy::problem();
    work[p].problem.seed = p;
    for (int i = 0; i < 200; ++i)
      work[p].accepted.push_back({&variants[0], work[p].problem, {{"chunk", i}}});
  }
  return work;
}

std::size_t count(const std::vector<NamedPoint>& points) {
  std::size_t sum = 0;
  for (const NamedPoint& point : points) sum += point.candidates.size();
  return sum;
}

TEST(AheadWindow, TellsItsOwnProblemAndSomeBeyondOnce) {
  const auto work = three_points();
  const AheadWindow window(work);
  std::size_t until = 0;
  EXPECT_EQ(count(window.take(0, until, 0, 1)), 200 + AheadWindow::length);
  EXPECT_EQ(until, 200 + AheadWindow::length);
  EXPECT_EQ(count(window.take(1, until, 0, 1)), 600 - 200 - AheadWindow::length) << "the rest";
  EXPECT_EQ(until, 600u);
  EXPECT_TRUE(window.take(2, until, 0, 1).empty());
}

TEST(AheadWindow, WorkersShareWhatIsBeyondTheirOwn) {
  const auto work = three_points();
  const AheadWindow window(work);
  std::size_t first = 0, second = 0;
  EXPECT_EQ(count(window.take(0, first, 0, 2)), 200 + AheadWindow::length / 2);
  EXPECT_EQ(count(window.take(0, second, 1, 2)), 200 + AheadWindow::length / 2);
}

TEST(AheadWindow, WhatIsBarredIsNotToldAgain) {
  const auto work = three_points();
  AheadWindow window(work);
  window.bar(456);
  std::size_t until = 0;
  EXPECT_TRUE(window.take(0, until, 0, 1).empty());
  until = 0;
  EXPECT_EQ(count(window.take(1, until, 0, 1)), 600u - 456u);
}

}  // namespace
}  // namespace gla_bench
