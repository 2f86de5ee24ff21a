#include "harness/workers/death_policy.hpp"

#include <gtest/gtest.h>

#include "tests/harness/workers/worker_ends.hpp"

namespace gla_bench {
namespace {

const StepEvent of_problem{RunStep::reference, std::nullopt};
const StepEvent verifying{RunStep::verify, 3};
const StepEvent counting{RunStep::counters, 3};

AfterDeath action(const WorkerDeath& death) {
  return after_death(death).action;
}

TEST(DeathPolicy, BetweenStepsNobodyIsToBlameUntilItIsTheThirdInARow) {
  EXPECT_EQ(action({crash, {}, 0, 0, false}), AfterDeath::go_on);
  EXPECT_EQ(action({hang, {}, 0, 1, false}), AfterDeath::go_on);
  EXPECT_EQ(after_death({crash, {}, 0, 2, false}).action, AfterDeath::stop);
  EXPECT_EQ(after_death({crash, {}, 0, 2, false}).reason,
            "3 workers ended one after the other before they began any work: SIGSEGV");
}

TEST(DeathPolicy, ACrashIsTriedOnceMore) {
  EXPECT_EQ(action({crash, verifying, 0, 2, false}), AfterDeath::try_again)
      << "what happened between steps does not count";
  const DeathDecision second = after_death({crash, verifying, 1, 0, false});
  EXPECT_EQ(second.action, AfterDeath::give_up);
  EXPECT_EQ(second.status, Status::crashed);
  EXPECT_EQ(second.reason, "verify: SIGSEGV, also when tried again alone");
}

TEST(DeathPolicy, AHangIsNotTriedAgain) {
  const DeathDecision decision = after_death({hang, verifying, 0, 0, false});
  EXPECT_EQ(decision.action, AfterDeath::give_up);
  EXPECT_EQ(decision.status, Status::timeout);
  EXPECT_EQ(decision.reason, "verify: it was not done after 30 s");
}

TEST(DeathPolicy, AStepOfTheProblemTakesAllItsCandidatesAlong) {
  EXPECT_EQ(action({crash, of_problem, 0, 0, false}), AfterDeath::try_again);
  const DeathDecision second = after_death({crash, of_problem, 1, 0, false});
  EXPECT_EQ(second.action, AfterDeath::give_up_problem);
  EXPECT_EQ(second.reason, "before any candidate ran: SIGSEGV, also when tried again alone");
  const DeathDecision late = after_death({hang, of_problem, 0, 0, false});
  EXPECT_EQ(late.action, AfterDeath::give_up_problem);
  EXPECT_EQ(late.status, Status::timeout);
}

TEST(DeathPolicy, TimesStandWhenWhatIsCountedAfterThemEndsTheWorker) {
  for (const WorkerEnd& end : {crash, hang})
    EXPECT_EQ(action({end, counting, 1, 0, true}), AfterDeath::keep_timing);
  EXPECT_EQ(action({crash, counting, 0, 0, false}), AfterDeath::try_again) << "there are no times";
  EXPECT_EQ(action({crash, verifying, 0, 0, true}), AfterDeath::try_again) << "nothing is counted";
}

TEST(DeathPolicy, PeopleAreToldWhatIsTriedAgain) {
  EXPECT_EQ(retry_text(crash, RunStep::reference, nullptr),
            "SIGSEGV, in the reference, which is tried again");
  EXPECT_EQ(replaced_text(crash), "SIGSEGV, with no step under way: a new process takes its place");
}

TEST(DeathPolicy, AWorkerMayHoldWhatIsThere) {
  EXPECT_EQ(memory_fault(100, 100), "");
  EXPECT_EQ(memory_fault(1e12, 0), "") << "any";
  EXPECT_NE(memory_fault(101, 100).find("out of host memory: it held"), std::string::npos);
}

}  // namespace
}  // namespace gla_bench
