# Writes the commit of the source tree, and whether it has changes, into a source file: at every
# build, touching the file only when it differs, so that records name what the program was made of.
if(NOT GLA_BENCH_GIT_SCRIPT)
  function(gla_bench_git_version target)
    set(output ${CMAKE_BINARY_DIR}/generated/git_version.cpp)
    add_custom_target(
      gla_bench_git_version
      COMMAND ${CMAKE_COMMAND} -DGLA_BENCH_GIT_SCRIPT=ON -DSOURCE_DIR=${CMAKE_SOURCE_DIR}
              -DOUTPUT=${output} -P ${CMAKE_SOURCE_DIR}/cmake/GitVersion.cmake
      BYPRODUCTS ${output}
      COMMENT "Reading the git commit")
    add_dependencies(${target} gla_bench_git_version)
    target_sources(${target} PRIVATE ${output})
  endfunction()
  return()
endif()

set(commit "")
set(dirty false)
execute_process(
  COMMAND git rev-parse HEAD
  WORKING_DIRECTORY ${SOURCE_DIR}
  OUTPUT_VARIABLE commit
  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(commit)
  execute_process(
    COMMAND git status --porcelain --untracked-files=all
    WORKING_DIRECTORY ${SOURCE_DIR}
    OUTPUT_VARIABLE changes
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  # Of records and documents no program is made: a run that follows another one has its records there.
  # But tables and models in results/tuned decide what auto takes.
  string(REPLACE "\n" ";" changes "${changes}")
  foreach(change IN LISTS changes)
    if(NOT change MATCHES "^.. (docs|results)/" OR change MATCHES "^.. results/tuned/")
      set(dirty true)
    endif()
  endforeach()
else()
  set(commit "unknown")
endif()
set(text
    "#include \"harness/support/git_version.hpp\"\n\nnamespace gla_bench {\n\nstd::string_view git_commit() { return \"${commit}\"; }\nbool git_dirty() { return ${dirty}; }\n\n}  // namespace gla_bench\n")
set(before "")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} before)
endif()
if(NOT text STREQUAL before)
  file(WRITE ${OUTPUT} "${text}")
endif()
