# The unit tests as entries of ctest: one for each room's folder of tests, since a process for each
# case would take longer to start than to run. Each entry has one of the labels `fast` and `slow`.

# The rooms whose tests take long: how many entries share them, and the seconds of one entry, by
# which ctest starts the longest first.
set(GLA_BENCH_SLOW_harness_backends 2 40)
set(GLA_BENCH_SLOW_harness_commands 3 60)
set(GLA_BENCH_SLOW_harness_duel 1 30)
set(GLA_BENCH_SLOW_harness_engine 1 20)
set(GLA_BENCH_SLOW_harness_search 1 20)
set(GLA_BENCH_SLOW_harness_selftest 1 20)
set(GLA_BENCH_SLOW_harness_tuned_table 1 50)
set(GLA_BENCH_SLOW_harness_workers 1 25)
set(GLA_BENCH_SLOW_kernels 2 20)
# Seconds of the longest of the others, so that none of them starts last.
set(GLA_BENCH_SECONDS_harness_config 65)
set(GLA_BENCH_SECONDS_harness_cost_model 25)
set(GLA_BENCH_SECONDS_reference 30)

set(GLA_BENCH_RUN_TESTS python3 ${CMAKE_CURRENT_SOURCE_DIR}/support/run_tests.py)

# One entry; `arguments` say which cases it runs.
function(gla_bench_unit_test_entry name labels)
  add_test(NAME ${name} COMMAND ${GLA_BENCH_RUN_TESTS} $<TARGET_FILE:unit_tests> ${ARGN})
  set_tests_properties(${name} PROPERTIES LABELS "${labels}" SKIP_RETURN_CODE 77 TIMEOUT 1200)
endfunction()

function(gla_bench_unit_test_entries sources)
  set(rooms "")
  foreach(source IN LISTS sources)
    file(RELATIVE_PATH path ${CMAKE_CURRENT_SOURCE_DIR} ${source})
    if(path MATCHES "^(harness/[^/]+|[^/]+)/.*_test\\.cpp$")
      list(APPEND rooms ${CMAKE_MATCH_1})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES rooms)
  foreach(room IN LISTS rooms)
    string(REPLACE "/" "_" key ${room})
    if(NOT DEFINED GLA_BENCH_SLOW_${key})
      gla_bench_unit_test_entry(Unit.${room} fast ${room})
      if(DEFINED GLA_BENCH_SECONDS_${key})
        set_tests_properties(Unit.${room} PROPERTIES COST ${GLA_BENCH_SECONDS_${key}})
      endif()
      continue()
    endif()
    list(GET GLA_BENCH_SLOW_${key} 0 parts)
    list(GET GLA_BENCH_SLOW_${key} 1 seconds)
    foreach(part RANGE 1 ${parts})
      set(name Unit.${room}.${part}of${parts})
      gla_bench_unit_test_entry(${name} slow ${room} --shard ${part}/${parts})
      set_tests_properties(${name} PROPERTIES COST ${seconds})
    endforeach()
  endforeach()
  # What needs a GPU is in a suite named Gpu..., and skips by name without one. It times, so it has
  # the GPU to itself.
  gla_bench_unit_test_entry(Unit.Gpu "gpu;slow" --gpu)
  set_tests_properties(Unit.Gpu PROPERTIES RESOURCE_LOCK gpu TIMEOUT 3600)
endfunction()

# What all entries of this folder have. To be called last. What has no label yet is fast. Entries that
# run side by side share the cores, so a thread with nothing to do sleeps: by default it would spin for
# a while, which takes a third of the time of tests whose problems are small. And a host is
# measured roughly (harness/backends/host/machine.hpp): in full its ceilings take some two seconds of
# processor time of each program that times something, of which tests start many.
function(gla_bench_complete_entries)
  get_property(entries DIRECTORY PROPERTY TESTS)
  foreach(entry IN LISTS entries)
    get_test_property(${entry} RUN_SERIAL alone)
    if(NOT alone)
      set_property(TEST ${entry} APPEND PROPERTY ENVIRONMENT OMP_WAIT_POLICY=passive
                                                 GLA_BENCH_ROUGH=1)
    endif()
    get_test_property(${entry} LABELS labels)
    if(NOT labels)
      set_tests_properties(${entry} PROPERTIES LABELS fast)
    endif()
  endforeach()
endfunction()
