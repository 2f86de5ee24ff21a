#include "harness/emit/project.hpp"

#include "harness/backends/sources/architecture.hpp"
#include "harness/support/git_version.hpp"

namespace gla_bench {
namespace {

std::string cmake_text(const LauncherRequest& request) {
  const std::string& name = request.name;
  const std::string number = architecture_name(request.limits.arch).substr(3);  // sm_90a
  return "cmake_minimum_required(VERSION 3.20)\n"
         "# The kernel is written for this architecture alone.\n"
         "if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)\n  set(CMAKE_CUDA_ARCHITECTURES " +
         number +
         ")\nendif()\n"
         "if(NOT CMAKE_BUILD_TYPE)\n  set(CMAKE_BUILD_TYPE Release)\nendif()\n"
         "project(" +
         name +
         " LANGUAGES CUDA)\n\nset(CMAKE_CUDA_STANDARD 17)\n"
         "find_package(CUDAToolkit REQUIRED)\n\nadd_library(" +
         name + " STATIC " + name + ".cu)\ntarget_include_directories(" + name +
         " PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})\ntarget_link_libraries(" + name +
         " PUBLIC CUDA::cudart)\n\nenable_testing()\nadd_executable(test_" + name + " test_" +
         name + ".cu)\ntarget_compile_definitions(test_" + name +
         " PRIVATE GOLDEN_FOLDER=\"${CMAKE_CURRENT_SOURCE_DIR}/golden\")\n"
         "target_link_libraries(test_" +
         name + " PRIVATE " + name + ")\nadd_test(NAME " + name + " COMMAND test_" + name +
         ")\nset_tests_properties(" + name + " PROPERTIES SKIP_RETURN_CODE 77)\n";
}

std::string example_text(const Launcher& launcher) {
  const RunTimeCall& call = launcher.run_time;
  std::string text = "```c\n" + launcher.struct_name + " problem = {0};\n";
  for (const RunTimeExtent& extent : call.extents)
    text += "problem." + extent.name + " = " + std::to_string(extent.own) + ";\n";
  if (takes_scale(call.call)) text += "problem.scale = ...;\n";
  for (const auto& tensor : call.call.tensors)
    text += "problem." + member_name(tensor.like.name) + " = ...;\n";
  const std::string& name = launcher.name;
  return text + "size_t bytes = " + name +
         "_workspace_bytes(&problem);   /* cudaMalloc() that much */\ncudaError_t error = " + name +
         "(&problem, workspace, bytes, stream);\n```\n";
}

std::string readme_text(const LauncherRequest& request, const Launcher& launcher,
                        const std::string& origin) {
  const std::string& name = launcher.name;
  return "# " + name + "\n\n" + request.op.name + " " +
         std::string(gla_bench::name(request.candidate.problem.direction)) + " by the kernel `" +
         request.candidate.variant->name + "` with the tile `" + describe(request.candidate.tile) +
         "`.\nWritten by gla-bench " + std::string(git_commit().substr(0, 12)) + " from " + origin +
         ".\n\nThe problem it was chosen for: " + describe(request.candidate.problem) +
         ".\n\n| file | what it is |\n|---|---|\n| `" + name +
         ".h` | the launcher's C interface: what it takes, and for which sizes |\n| `" + name +
         ".cu` | the kernel and the launcher, in one file that needs the CUDA toolkit alone |\n"
         "| `test_" +
         name +
         ".cu`, `golden/` | a test against float64 outputs, at the bounds of gla-bench |\n"
         "\n## Build and test\n\n```sh\ncmake -S . -B build && cmake --build build && ctest "
         "--test-dir build\n```\n\nOr add `" +
         name + ".cu` to your own program: `nvcc -arch=" + architecture_name(request.limits.arch) +
         " -c " + name +
         ".cu`. The test is skipped without a GPU.\n"
         "`build/test_" +
         name +
         " --time batch=8 ...` times a call with cold caches, with other sizes where they are "
         "given.\n\n## Call\n\n" +
         example_text(launcher) +
         "\nThe tile was chosen for the problem above, and is not the "
         "fastest for all sizes that the launcher takes.\n";
}

}  // namespace

ProjectFiles project_files(const LauncherRequest& request, const std::string& origin,
                           double most_golden_bytes) {
  const Launcher launcher = launcher_of(request);
  ProjectFiles files{{launcher.name + ".cu", launcher.cuda},
                     {launcher.name + ".h", launcher.header},
                     {"CMakeLists.txt", cmake_text(request)},
                     {"README.md", readme_text(request, launcher, origin)},
                     {"test_" + launcher.name + ".cu", test_text(launcher)}};
  std::string cases;
  for (GoldenCase& golden :
       golden_cases(request.op, request.candidate, launcher.run_time, most_golden_bytes)) {
    cases += golden.lines;
    for (auto& [name, content] : golden.files)
      files.emplace_back("golden/" + name, std::move(content));
  }
  files.emplace_back("golden/cases.txt", cases);
  return files;
}

}  // namespace gla_bench
