#include "harness/support/system/task_place.hpp"

#include <gtest/gtest.h>

#include <map>

#include "core/error.hpp"

namespace gla_bench {
namespace {

using Environment = std::map<std::string, std::string>;

std::string place_in(const Environment& environment) {
  try {
    const auto place = task_place([&](const std::string& name) -> std::optional<std::string> {
      const auto found = environment.find(name);
      return found == environment.end() ? std::nullopt : std::optional(found->second);
    });
    return place ? std::to_string(place->index) + " of " + std::to_string(place->count) : "none";
  } catch (const InputError& error) {
    return error.what();
  }
}

TEST(TaskPlace, IsNoneWhereNobodySaysOne) {
  EXPECT_EQ(place_in({}), "none");
  EXPECT_EQ(place_in({{"SLURM_JOB_ID", "7"}}), "none");
}

TEST(TaskPlace, IsTheRankOfMpi) {
  EXPECT_EQ(place_in({{"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "4"}}), "2 of 4");
  EXPECT_EQ(place_in({{"PMI_RANK", "0"}, {"PMI_SIZE", "3"}}), "0 of 3");
  // mpirun in a job of Slurm.
  EXPECT_EQ(place_in({{"OMPI_COMM_WORLD_RANK", "3"},
                      {"OMPI_COMM_WORLD_SIZE", "4"},
                      {"SLURM_JOB_ID", "7"},
                      {"SLURM_STEP_ID", "0"},
                      {"SLURM_PROCID", "0"},
                      {"SLURM_NTASKS", "2"}}),
            "3 of 4");
}

TEST(TaskPlace, IsTheTaskOfSrun) {
  EXPECT_EQ(place_in({{"SLURM_JOB_ID", "7"},
                      {"SLURM_STEP_ID", "0"},
                      {"SLURM_PROCID", "1"},
                      {"SLURM_NTASKS", "2"}}),
            "1 of 2");
}

TEST(TaskPlace, ABatchScriptIsNoTask) {
  Environment batch{{"SLURM_JOB_ID", "7"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}};
  EXPECT_EQ(place_in(batch), "none");
  batch["SLURM_NTASKS"] = "4";
  EXPECT_EQ(place_in(batch),
            "--shard auto: the job has SLURM_NTASKS=4 tasks and this is its batch script, expected "
            "to be started by srun or mpirun");
}

Environment array(const std::string& id, const std::string& least, const std::string& count) {
  return {{"SLURM_JOB_ID", "7"},
          {"SLURM_ARRAY_TASK_ID", id},
          {"SLURM_ARRAY_TASK_MIN", least},
          {"SLURM_ARRAY_TASK_COUNT", count}};
}

TEST(TaskPlace, IsTheElementOfAnArray) {
  EXPECT_EQ(place_in(array("1", "1", "8")), "0 of 8");
  EXPECT_EQ(place_in(array("8", "1", "8")), "7 of 8");
  EXPECT_EQ(place_in(array("0", "0", "8")), "0 of 8");
  Environment stepped = array("14", "10", "3");
  stepped["SLURM_ARRAY_TASK_STEP"] = "2";
  EXPECT_EQ(place_in(stepped), "2 of 3");
}

TEST(TaskPlace, TasksOfAnArraysElementsAreCountedThrough) {
  Environment both = array("3", "1", "4");
  both["SLURM_STEP_ID"] = "0";
  both["SLURM_PROCID"] = "1";
  both["SLURM_NTASKS"] = "2";
  EXPECT_EQ(place_in(both), "5 of 8");
  both["SLURM_NTASKS"] = "1";
  both["SLURM_PROCID"] = "0";
  EXPECT_EQ(place_in(both), "2 of 4");
}

TEST(TaskPlace, WhatCannotBeIsNamed) {
  EXPECT_EQ(place_in({{"OMPI_COMM_WORLD_RANK", "2"}}),
            "--shard auto: OMPI_COMM_WORLD_SIZE: found nothing, expected a number from 1");
  EXPECT_EQ(place_in({{"PMI_RANK", "x"}, {"PMI_SIZE", "3"}}),
            "--shard auto: PMI_RANK: found \"x\", expected a number from 0");
  EXPECT_EQ(place_in({{"PMI_RANK", "3"}, {"PMI_SIZE", "3"}}),
            "--shard auto: PMI_RANK: found 3, expected a number below PMI_SIZE, which is 3");
  EXPECT_EQ(place_in(array("7", "1", "3")),
            "--shard auto: SLURM_ARRAY_TASK_ID: found 7, expected one of 3 numbers from 1 in steps "
            "of 1; an array with gaps has no order");
  EXPECT_EQ(place_in(array("99999999999", "1", "3")),
            "--shard auto: SLURM_ARRAY_TASK_ID: found \"99999999999\", expected a number from 0");
}

}  // namespace
}  // namespace gla_bench
