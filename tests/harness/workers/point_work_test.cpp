#include "harness/workers/point_work.hpp"

#include <gtest/gtest.h>

#include "core/error.hpp"
#include "tests/harness/workers/worker_ends.hpp"

namespace gla_bench {
namespace {

using Indices = std::vector<std::size_t>;

void record(PointWork& work, std::size_t place) {
  work.starting({RunStep::verify, place});
  work.recorded(place);
}

TEST(PointWork, AsksForAllAndEndsWhenAllAreRecorded) {
  PointWork work(3);
  EXPECT_EQ(work.next().candidates, (Indices{0, 1, 2}));
  EXPECT_FALSE(work.next().alone);
  for (const std::size_t place : {0, 1, 2}) record(work, place);
  work.done();
  EXPECT_TRUE(work.next().candidates.empty());
  EXPECT_FALSE(work.acquitted());
}

TEST(PointWork, ASuspectIsTriedAloneAndThenGivenUp) {
  PointWork work(3);
  work.next();
  record(work, 0);
  work.starting({RunStep::verify, 1});
  PointDeath death = work.died(crash);
  EXPECT_EQ(death.decision.action, AfterDeath::try_again);
  EXPECT_TRUE(death.closed.empty());
  EXPECT_EQ(work.next().candidates, (Indices{1}));
  EXPECT_TRUE(work.next().alone);
  work.starting({RunStep::measure, 0});
  EXPECT_EQ(work.in_hand()->candidate, 1u) << "named by its place in the point";
  death = work.died(crash);
  EXPECT_EQ(death.closed, (Indices{1}));
  EXPECT_EQ(death.decision.status, Status::crashed);
  EXPECT_EQ(death.decision.reason, "measure: SIGSEGV, also when tried again alone");
  EXPECT_EQ(work.next().candidates, (Indices{2}));
  EXPECT_FALSE(work.next().alone);
}

TEST(PointWork, ASuspectThatGoesThroughIsAcquittedOnce) {
  PointWork work(2);
  work.next();
  work.starting({RunStep::verify, 0});
  work.died(crash);
  work.next();
  record(work, 0);
  work.done();
  EXPECT_TRUE(work.acquitted());
  EXPECT_FALSE(work.acquitted());
  EXPECT_EQ(work.next().candidates, (Indices{1}));
}

TEST(PointWork, AHangIsNotTriedAgain) {
  PointWork work(2);
  work.next();
  work.starting({RunStep::verify, 0});
  const PointDeath death = work.died(hang);
  EXPECT_EQ(death.closed, (Indices{0}));
  EXPECT_EQ(death.decision.status, Status::timeout);
  EXPECT_EQ(death.decision.reason, "verify: it was not done after 30 s");
  EXPECT_EQ(work.next().candidates, (Indices{1}));
}

TEST(PointWork, WhatWasVerifiedAndNotMeasuredIsAskedForAgain) {
  PointWork work(3);
  work.next();
  for (const std::size_t place : {0, 1, 2}) work.starting({RunStep::verify, place});
  work.starting({RunStep::measure, 0});
  work.recorded(0);
  work.starting({RunStep::measure, 1});
  work.died(hang);
  EXPECT_EQ(work.next().candidates, (Indices{2}));
}

TEST(PointWork, AProblemThatKillsTwiceEndsAllItsCandidates) {
  PointWork work(2);
  work.next();
  work.starting({RunStep::reference, std::nullopt});
  PointDeath death = work.died(crash);
  EXPECT_EQ(death.decision.action, AfterDeath::try_again);
  EXPECT_TRUE(death.closed.empty());
  EXPECT_EQ(work.next().candidates, (Indices{0, 1}));
  work.starting({RunStep::reference, std::nullopt});
  death = work.died(crash);
  EXPECT_EQ(death.closed, (Indices{0, 1}));
  EXPECT_TRUE(death.decision.reason.starts_with("before any candidate ran: SIGSEGV"));
  EXPECT_TRUE(work.next().candidates.empty());
}

TEST(PointWork, BetweenStepsNobodyIsToBlame) {
  PointWork work(2);
  work.next();
  EXPECT_EQ(work.died(crash).decision.action, AfterDeath::go_on);
  record(work, 0);
  EXPECT_EQ(work.died(crash).decision.action, AfterDeath::go_on)
      << "after its record, before the next step";
  EXPECT_EQ(work.next().candidates, (Indices{1}));
}

TEST(PointWork, NonsenseOfAWorkerIsItsFault) {
  PointWork work(1);
  work.next();
  EXPECT_THROW(work.starting({RunStep::verify, 1}), WorkerError);
  EXPECT_THROW(work.recorded(7), WorkerError);
  EXPECT_THROW(work.done(), WorkerError) << "an order without a record would be given for ever";
}

}  // namespace
}  // namespace gla_bench
