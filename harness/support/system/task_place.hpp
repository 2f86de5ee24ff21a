#pragma once
// Which of the tasks that were started together this process is, by what Slurm or MPI says in the
// environment.

#include <functional>
#include <optional>
#include <string>

namespace gla_bench {

struct TaskPlace {
  int index = 0;        ///< from 0
  int count = 1;        ///< of all tasks
  std::string said_by;  ///< "SLURM_ARRAY_TASK_ID=3", for people

  bool operator==(const TaskPlace&) const = default;
};

/// The value of a variable, or nothing.
using Variables = std::function<std::optional<std::string>(const std::string&)>;

/// The rank by OMPI_COMM_WORLD_RANK, PMI_RANK or SLURM_PROCID, the first that is there, with its
/// size; where the tasks are those of an array of Slurm, that many for each of its elements. An
/// element's place follows from SLURM_ARRAY_TASK_ID, _MIN, _STEP and _COUNT. Nothing where none is
/// there.
/// @throws InputError for a variable without its partner, for what is no number or out of range,
/// for an array with gaps, and for several tasks of Slurm of which this is not one (no srun)
std::optional<TaskPlace> task_place(const Variables& variables);

/// task_place() of this process.
std::optional<TaskPlace> own_task_place();

}  // namespace gla_bench
