#include "harness/support/system/task_place.hpp"

#include <charconv>
#include <cstdlib>
#include <utility>

#include "core/error.hpp"
#include "harness/support/printable.hpp"

namespace gla_bench {
namespace {

int read_number(const Variables& variables, const std::string& name, int least,
                std::optional<int> otherwise = std::nullopt) {
  constexpr int most = 100'000'000;
  const auto text = variables(name);
  if (!text && otherwise) return *otherwise;
  int value = 0;
  const bool read = text && [&] {
    const char* end = text->data() + text->size();
    const auto [rest, error] = std::from_chars(text->data(), end, value);
    return error == std::errc{} && rest == end;
  }();
  if (!read || value < least || value > most)
    throw InputError("--shard auto: " + name + ": found " +
                     (text ? "\"" + printable(*text, 40) + "\"" : "nothing") +
                     ", expected a number from " + std::to_string(least));
  return value;
}

TaskPlace among(const Variables& variables, const std::string& rank, const std::string& size) {
  TaskPlace place;
  place.index = read_number(variables, rank, 0);
  place.count = read_number(variables, size, 1);
  place.said_by =
      rank + "=" + std::to_string(place.index) + " of " + size + "=" + std::to_string(place.count);
  if (place.index >= place.count)
    throw InputError("--shard auto: " + rank + ": found " + std::to_string(place.index) +
                     ", expected a number below " + size + ", which is " +
                     std::to_string(place.count));
  return place;
}

/// Of ranks that were started together; nothing where there are none.
std::optional<TaskPlace> rank_place(const Variables& variables) {
  // mpirun inside a job of Slurm leaves Slurm's own variables as they are: its own come first.
  for (const auto& [rank, size] : {std::pair("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
                                   std::pair("PMI_RANK", "PMI_SIZE")})
    if (variables(rank)) return among(variables, rank, size);
  if (!variables("SLURM_PROCID")) return std::nullopt;
  return among(variables, "SLURM_PROCID", "SLURM_NTASKS");
}

std::optional<TaskPlace> array_place(const Variables& variables) {
  const std::string id = "SLURM_ARRAY_TASK_ID";
  if (!variables(id)) return std::nullopt;
  const int task = read_number(variables, id, 0);
  const int least = read_number(variables, "SLURM_ARRAY_TASK_MIN", 0);
  const int step = read_number(variables, "SLURM_ARRAY_TASK_STEP", 1, 1);
  TaskPlace place;
  place.count = read_number(variables, "SLURM_ARRAY_TASK_COUNT", 1);
  place.index = (task - least) / step;
  place.said_by = id + "=" + std::to_string(task) + " of " + std::to_string(place.count);
  if (task < least || (task - least) % step != 0 || place.index >= place.count)
    throw InputError("--shard auto: " + id + ": found " + std::to_string(task) +
                     ", expected one of " + std::to_string(place.count) + " numbers from " +
                     std::to_string(least) + " in steps of " + std::to_string(step) +
                     "; an array with gaps has no order");
  return place;
}

}  // namespace

std::optional<TaskPlace> task_place(const Variables& variables) {
  const auto array = array_place(variables);
  std::optional<TaskPlace> rank;
  // A batch script has SLURM_PROCID=0 as well, and is no task of its own job.
  const bool started_by_srun = variables("SLURM_STEP_ID").has_value();
  const bool by_mpi = variables("OMPI_COMM_WORLD_RANK") || variables("PMI_RANK");
  if (started_by_srun || by_mpi || !variables("SLURM_JOB_ID")) {
    rank = rank_place(variables);
  } else if (read_number(variables, "SLURM_NTASKS", 1, 1) > 1) {
    throw InputError(
        "--shard auto: the job has SLURM_NTASKS=" + *variables("SLURM_NTASKS") +
        " tasks and this is its batch script, expected to be started by srun or mpirun");
  }
  if (!array || !rank || rank->count == 1) return array ? array : rank;
  return TaskPlace{array->index * rank->count + rank->index, array->count * rank->count,
                   array->said_by + ", " + rank->said_by};
}

std::optional<TaskPlace> own_task_place() {
  return task_place([](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  });
}

}  // namespace gla_bench
